"""Daemons that were built with a sanitizer: whatever one reports is a failure, whatever became of the case."""
import os

from torture.client import Gone
from torture.problem import Problem, unique
from torture.stage import Result, Stage

#: Sanitizer -> the variable of its options, and the options. Reports go into files: the processes that make them are killed.
OPTIONS = {"thread": ("TSAN_OPTIONS", "exitcode=66"), "address": ("ASAN_OPTIONS", "detect_leaks=0")}
#: Characters of the first report that are printed.
SHOWN = 6000


class Sanitizer:
    """Made before the attacks, so that all their daemons inherit its options. `name` is a key of OPTIONS."""

    def __init__(self, name, setup, native):
        self.name, self.setup, self.native = name, setup, native
        self.folder = setup.work / "reports"
        self.folder.mkdir()
        variable, options = OPTIONS[name]
        os.environ[variable] = f"{options}:log_path={self.folder / 'report'}"

    def planted(self):
        """Problems that a daemon shows into which a race and a use of freed memory were preloaded; forgets its reports."""
        stage = Stage(self.setup, pieces=[])
        stage.victim.more = {"LD_PRELOAD": self.native("misdeeds")}
        try:
            stage.victim.start(attacked=False)
            stage.victim.stop()
        except Gone:
            pass
        found = self.result().problems
        stage.end()
        for file in self.folder.iterdir():
            file.unlink()
        return found

    def texts(self):
        return [file.read_text(errors="replace") for file in sorted(self.folder.iterdir())]

    def result(self):
        """One case: all daemons so far, and a problem for each thing that was reported."""
        summaries = [line for text in self.texts() for line in text.splitlines() if line.startswith("SUMMARY: ")]
        if not summaries and self.texts():
            summaries = ["a report without a summary"]
        return Result(f"--sanitizer {self.name}", unique(Problem(0, line) for line in summaries))

    def first(self):
        """The beginning of a report, for whoever has to mend it."""
        return next((text[:SHOWN] for text in self.texts()), "")
