"""The daemon under attack: it dies as often as it is made to, and starts again with what it left."""
import signal
import subprocess

from bench.daemon import Daemon
from bench.measure import Failed
from torture.client import Gone
from torture.control import Control

SETTINGS = {"maximumConcurrentTasks": 32, "maximumConcurrentTasksPerHost": 32, "diskPollInterval": "100ms"}
DEATH_LIMIT = 20.0


class Victim(Daemon):
    """Creating it does not start it. `state` may be on its own disk, but the log is not."""

    level = "notice"

    def __init__(self, program, folder, state=None, preload=None, settings=None):
        super().__init__(program, folder, {**SETTINGS, **(settings or {})}, state=state, starts=False)
        #: More environment variables.
        self.more = {}
        self.control = Control(preload, self.folder / "control", self.state) if preload else None

    def start(self, attacked=True, boot=None):
        """Raises `Gone` if the daemon dies before it is ready or during the greeting. `boot` is a file that the
        daemon must take for the kernel's boot id."""
        preload = self.control.environment if (attacked or boot) and self.control else {}
        self.environment = {**preload, **({"TORTURE_BOOT": str(boot)} if boot else {}), **self.more}
        try:
            super().start()
        except (Failed, OSError) as failure:
            raise Gone(f"not started: {failure}") from None

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def await_death(self):
        """Returns false if the daemon does not die."""
        try:
            self.process.wait(timeout=DEATH_LIMIT)
            return True
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        if self.is_running:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self):
        """Sends SIGTERM and returns the exit status, which may be that of a death on the way."""
        if hasattr(self, "connection"):
            self.connection.close()
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
            if not self.await_death():
                self.kill()
                raise Gone("SIGTERM does not end it")
        return self.process.returncode

    def end(self):
        self.kill()
        if self.control:
            self.control.close()
            self.control = None
        super().end()
