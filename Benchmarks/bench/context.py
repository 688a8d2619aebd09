"""The state that all workloads of one run share."""
import dataclasses
import pathlib
import shutil
import subprocess
import time

from bench.content import Expected
from bench.daemon import Daemon
from bench.native import Native
from bench.peers import all_peers
from bench.report import Report
from bench.servers import Nginx


@dataclasses.dataclass
class Build:
    """A folder with dld and dlctl. `suffix` distinguishes its contenders from those of the other build."""

    suffix: str
    folder: pathlib.Path

    @property
    def name(self):
        return "dld" + self.suffix


class Context:
    #: The rate, in bytes per second, of each connection to nginx's limited port.
    LIMIT = 2 << 20

    def __init__(self, work, builds, rounds, small, peers):
        self.work, self.builds, self.rounds, self.small = work, builds, rounds, small
        for name in ("www", "uploads", "out", "peer"):
            (work / name).mkdir(parents=True, exist_ok=True)
        spread(work / "out")
        self.native = Native(work / "native")
        self.peers, self.missing = all_peers(self.native, work / "peer", peers)
        self.expected = Expected()
        self.report = Report([peer.name for peer in self.peers], len(builds) > 1)
        self.nginx = Nginx(work / "nginx", work / "www", work / "uploads", limit=str(self.LIMIT))
        self.folders, self.daemons = 0, []

    def size(self, full, small):
        return small if self.small else full

    def scratch(self, name, under="daemons"):
        """Makes a folder on the measured disk."""
        self.folders += 1
        folder = self.work / under / f"{self.folders}-{name.replace(' ', '-')}"
        folder.mkdir(parents=True)
        return folder

    def out(self):
        """Makes a folder to deliver to. Each run has its own folder, and nothing in it is removed before the end. Whenever
        ext4 creates a file, it checks every recently removed inode of the block group. After a removal of thousands of
        files, this would make the next contender many times slower."""
        return self.scratch("files", "out")

    def start(self, build, tasks=None, environment=None, wrapper=(), **settings):
        """Makes a daemon of one build on a new state folder, with slots for that many tasks."""
        if tasks:
            settings.update(maximumConcurrentTasks=tasks, maximumConcurrentTasksPerHost=tasks)
        daemon = Daemon(build.folder / "dld", self.scratch(build.name), settings, environment, wrapper=wrapper)
        self.daemons.append(daemon)
        return daemon

    def each_build(self, measure, *arguments, **more):
        """Calls `measure(daemon)` with a new daemon of each build, and returns the results by name of the build."""
        values = {}
        for build in self.builds:
            with self.start(build, *arguments, **more) as daemon:
                values[build.name] = measure(daemon)
        return values

    def end(self):
        """Ends servers and removes everything."""
        for daemon in self.daemons:
            daemon.end()
        self.nginx.end()
        for _ in range(20):
            shutil.rmtree(self.work, ignore_errors=True)
            if not self.work.exists():
                return
            time.sleep(0.1)


def spread(folder):
    """Lets ext4 put each folder in this one into its own block group. Other file systems may refuse."""
    if shutil.which("chattr"):
        subprocess.run(["chattr", "+T", str(folder)], check=False, stderr=subprocess.DEVNULL)
