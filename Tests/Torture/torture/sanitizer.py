"""Daemons that were built with a sanitizer. Every report is a failure, whatever the result of the case."""
import os
import pathlib

from torture.client import Gone
from torture.problem import Problem, unique
from torture.stage import Result, Stage

SUPPRESSIONS = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "thread-sanitizer.suppressions"
#: Sanitizer -> the variable of its options, and the options. Reports go to files, because the processes are killed.
OPTIONS = {"thread": ("TSAN_OPTIONS", f"exitcode=66:suppressions={SUPPRESSIONS}"),
           "address": ("ASAN_OPTIONS", "detect_leaks=0")}
#: The number of characters of the first report that are printed.
SHOWN = 6000


class Sanitizer:
    """Created before the attacks, so that all their daemons inherit its options. `name` is a key of OPTIONS."""

    def __init__(self, name, setup, native):
        self.name, self.setup, self.native = name, setup, native
        self.folder = setup.work / "reports"
        self.folder.mkdir()
        variable, options = OPTIONS[name]
        os.environ[variable] = f"{options}:log_path={self.folder / 'report'}"

    def planted(self):
        """The problems of a daemon with a preloaded race and a preloaded use of freed memory. Deletes its reports."""
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
        """One case: all daemons so far, and one problem for each report."""
        summaries = [line for text in self.texts() for line in text.splitlines() if line.startswith("SUMMARY: ")]
        if not summaries and self.texts():
            summaries = ["a report without a summary"]
        return Result(f"--sanitizer {self.name}", unique(Problem(0, line) for line in summaries))

    def first(self):
        """The start of the first report, for the developer who fixes it."""
        return next((text[:SHOWN] for text in self.texts()), "")
