"""Starts the processes that a run needs beside those it measures; none outlives the run, however that ends."""
import ctypes
import signal
import subprocess

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def start(command, **more):
    """Popen of a child that is ended with us, also where we are killed."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent, **more)


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
