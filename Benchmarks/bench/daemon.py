"""Drives dld for the benchmarks: starts it on its own folder, calls it, measures it and ends it."""
import contextlib
import mmap
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from bench import children
from bench.measure import Failed, ProcessMeter
from bench.rpc import Connection, Endings, Refused

START_LIMIT = 120.0


class Daemon:
    #: The log level.
    level = "error"

    def __init__(self, program, folder, settings=None, environment=None, state=None, starts=True,
                 wrapper=()):
        """`settings` are written to the configuration file, and `environment` is added to this process's environment.
        `state` is a state folder outside `folder`. `wrapper` is a command that runs the daemon, such as a profiler."""
        self.program, self.wrapper = str(program), list(wrapper)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state = pathlib.Path(state or self.folder / "state")
        # The path of a socket has at most 107 bytes, and the path of the checkout may be longer.
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="dld-bench-"))
        self.path = str(self.runtime / "s")
        self.settings = settings or {}
        self.environment = environment or {}
        self.process = None
        self.ready_after = 0.0
        if starts:
            self.start()

    def start(self):
        """Returns when the daemon says READY. `ready_after` is the time that this took."""
        configuration = self.folder / "dld.yaml"
        configuration.write_text("".join(f"{name}: {value}\n" for name, value in self.settings.items()))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            address = str(self.runtime / "notify")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(address)
            notices.bind(address)
            notices.settimeout(0.1)
            begun = time.monotonic()
            with open(self.folder / "log", "ab") as log:
                self.process = children.start(
                    [*self.wrapper, self.program, "--config", str(configuration), "--state-dir", str(self.state),
                     "--socket", self.path, "--log-level", self.level], stdout=log, stderr=log,
                    env={**os.environ, **self.environment, "NOTIFY_SOCKET": address})
            self.await_ready(notices, begun + START_LIMIT)
            self.ready_after = time.monotonic() - begun
        self.connection = Connection(self.path)

    def await_ready(self, notices, deadline):
        while True:
            with contextlib.suppress(TimeoutError):
                if b"READY=1" in notices.recv(4096):
                    return
            if self.process.poll() is not None:
                raise Failed(f"{self.program} ended before it was ready: {self.log()}")
            if time.monotonic() > deadline:
                self.end()
                raise Failed(f"{self.program} does not become ready: {self.log()}")

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-1000:]

    @property
    def pid(self):
        return self.process.pid

    def call(self, method, **parameters):
        return self.connection.call(method, **parameters)

    def connect(self):
        return Connection(self.path)

    def endings(self, **more):
        return Endings(self.path, **more)

    def meter(self):
        return ProcessMeter(self.pid)

    def has(self, feature):
        return any(feature in name for name in self.call("daemon.info")["features"])

    def accepts(self, **members):
        """Returns whether this build accepts a member of a TaskSpec. Tries it with a task, which is then removed."""
        try:
            task = self.call("task.add", tasks=[{
                "url": "http://127.0.0.1:9/", "destination": {"path": str(self.folder / "probe")}, "startPaused": True,
                **members}])["tasks"][0]["id"]
        except Refused as refusal:
            if refusal.code == "request.unsupported":
                return False
            raise
        self.call("task.cancel", ids=[task])
        self.call("task.remove", ids=[task])
        return True

    def stop(self):
        """Ends the daemon with SIGTERM. The state folder stays. The connection is open until then: closed before, its
        volatile sessions would end or not, as it happens, and with them what a profiler counts."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.connection.close()

    def end(self):
        """Ends the daemon and removes its folders."""
        if self.process and self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()


class SyncCounters:
    """Counts the flushes of a daemon that was started with `environment` (Benchmarks/native/slowsync.c)."""

    NAMES = ["file", "folder", "commit", "database", "range", "file system"]

    def __init__(self, native, folder, milliseconds=0):
        self.path = folder / "flushes"
        self.path.write_bytes(bytes(8 * len(self.NAMES)))
        self.environment = {"LD_PRELOAD": native("slowsync"), "SLOWSYNC_COUNTERS": str(self.path),
                            "SLOWSYNC_MICROSECONDS": str(int(milliseconds * 1000))}

    def read(self):
        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as place:
            return dict(zip(self.NAMES, struct.unpack(f"{len(self.NAMES)}Q", place[:])))
