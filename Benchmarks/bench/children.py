"""Starts the processes that a run needs in addition to those it measures. None outlives the run, however the run ends."""
import ctypes
import signal
import subprocess

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def start(command, **more):
    """Starts a child that ends with this process, even if this process is killed."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent, **more)


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
