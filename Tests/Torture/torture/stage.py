"""What one case of an attack uses: its own folders, a server, a daemon, a ledger."""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import sqlite3
import tempfile
import time
import uuid

from bench.rpc import Refused
from torture import schemes
from torture.checker import Checker
from torture.client import Gone
from torture.ledger import Ledger
from torture.problem import Problem, Violation
from torture.scenario import HELPER, PIECES, Scenario, prepare
from torture.servers import Server
from torture.victim import Victim

#: Whether the folder of a failed case is kept for inspection.
KEEPS_FAILURES = "DLD_KEEP_FOLDERS" in os.environ


@dataclasses.dataclass
class Result:
    """How a case ended. `reached` says whether the attack happened at all."""

    name: str
    problems: list
    reached: bool = True
    note: str = ""
    seconds: float = 0.0
    #: The number of cases in it.
    count: int = 1


@dataclasses.dataclass(frozen=True)
class Setup:
    """What all cases of a run share."""

    program: str
    preload: str
    work: pathlib.Path


#: Process -> its server, because threads do not exist in a forked process.
SERVERS = {}


def server(work):
    """The server of this process, reset. Its certificates are below `work`."""
    if os.getpid() not in SERVERS:
        SERVERS[os.getpid()] = Server(work)
    SERVERS[os.getpid()].reset()
    return SERVERS[os.getpid()]


#: A file system that most machines have besides that of their temporary files.
MEMORY = pathlib.Path("/dev/shm")


def elsewhere(folder):
    """A new folder on another file system than `folder`, if there is one."""
    is_other = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and MEMORY.stat().st_dev != folder.stat().st_dev
    return pathlib.Path(tempfile.mkdtemp(prefix="dld-far-", dir=MEMORY if is_other else folder))


class Stage:
    """`disk`: a folder for state and destination, outside the folder of the case."""

    def __init__(self, setup, disk=None, settings=None, mark=lambda: 0, pieces=PIECES):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="case-", dir=setup.work))
        self.disk = disk or self.folder
        self.out, self.state, self.sources = self.disk / "out", self.disk / "state", self.folder / "sources"
        self.far = self.disk / "far" if disk else elsewhere(self.folder)
        self.server, self.ledger = server(setup.work), Ledger(mark)
        self.pieces = pieces
        prepare(self.out, self.sources, self.server, self.pieces, self.far)
        helper = self.folder / "helper"
        helper.write_text(HELPER)
        helper.chmod(0o700)
        self.victim = Victim(setup.program, self.folder / "daemon", self.state, setup.preload,
                             {"credentialHelper": str(helper), **(settings or {})})
        schemes.install(self.folder / "home")
        self.victim.more["HOME"] = str(self.folder / "home")
        self.problems = []

    def move(self, state=None, out=None):
        """Uses another state or destination folder. Must be called before the daemon is started."""
        self.state, self.out = state or self.state, out or self.out
        prepare(self.out, self.sources, self.server, self.pieces, self.far)
        self.victim.state = self.state
        self.control.environment["TORTURE_STATE"] = str(self.state)

    @property
    def control(self):
        return self.victim.control

    def scenario(self):
        return Scenario(self.server, self.out, self.sources, self.ledger, self.pieces, self.far)

    def checker(self, **more):
        return Checker(self.state, self.out, self.server, self.pieces, log=self.victim.folder / "log", far=self.far, **more)

    def live(self, attacked=True, boot=None):
        """Starts the daemon, runs the whole scenario, and ends the daemon. Returns false if it died on the way."""
        try:
            self.victim.start(attacked, boot)
            self.scenario().run(self.victim.path)
            return self.victim.stop() == 0
        except Gone as gone:
            if not self.victim.await_death():
                self.report(f"it lives and does not answer: {gone}")
            return False

    def recover(self, boots=False):
        """Completes the scenario with a daemon that is not attacked. `boots`: the machine has rebooted in between."""
        boot = None
        if boots:
            # The cache is not synced, so removed answers may exist again.
            self.ledger.unstored = 0
            boot = self.new_boot()
            self.control.disarm()
        if not self.live(attacked=False, boot=boot):
            self.report(f"it ended with {self.victim.process.returncode}: {self.victim.log()[-300:]}")

    def new_boot(self):
        """A file with another boot id than that of this boot."""
        boot = self.folder / "boot"
        boot.write_text(f"{uuid.uuid4()}\n")
        return boot

    @contextlib.contextmanager
    def judged(self):
        """Collects the problems that occur inside."""
        try:
            yield
        except Violation as violation:
            self.problems.append(violation.problem)
        except Refused as refusal:
            self.report(f"an answer that nobody expected: {refusal}", 7)
        except Gone as gone:
            self.report(f"it is gone: {gone}")
        except (OSError, KeyError, sqlite3.Error) as error:
            self.report(f"{type(error).__name__}: {error}")

    def report(self, text, promise=0):
        self.problems.append(Problem(promise, text))

    def end(self, keep=False):
        self.victim.end()
        self.server.reset()
        if not keep and not (self.problems and KEEPS_FAILURES):
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.rmtree(self.far, ignore_errors=True)


def timed(case):
    """Runs `case()`, which returns a Result, and records how long it took."""
    begun = time.monotonic()
    result = case()
    result.seconds = time.monotonic() - begun
    return result
