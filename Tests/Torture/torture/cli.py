"""The command line of Tests/Torture/run."""
import argparse
import multiprocessing
import os
import pathlib
import random
import shutil
import tempfile
import time

from bench.native import Native
from torture import attacks
from torture.sanitizer import OPTIONS, Sanitizer
from torture.stage import KEEPS_FAILURES, Result, Setup
from torture.tables import Tally, by_attack, by_promise

HERE = pathlib.Path(__file__).resolve().parents[1]
CHECKOUT = HERE.parents[1]
#: The attacks that need neither root nor much time.
SHORT = ["kill", "storm", "networks"]
#: A case mostly waits: for flushes, for the other side, or for the end of a process.
WORKERS_PER_PROCESSOR = 3


def options():
    parser = argparse.ArgumentParser(prog="Tests/Torture/run", description="Tries to break the daemon's promises.")
    parser.add_argument("--dld", type=pathlib.Path, default=CHECKOUT / ".build" / "release" / "dld", metavar="FILE")
    parser.add_argument("--only", nargs="+", choices=attacks.RUNS, metavar="ATTACK", help=", ".join(attacks.RUNS))
    parser.add_argument("--seed", type=int, help="of what is chosen at random; printed")
    parser.add_argument("--case", help="one case, as a failure prints it")
    parser.add_argument("--cases", type=int, metavar="N", help="at most so many cases of an attack, chosen by the seed")
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 1) * WORKERS_PER_PROCESSOR)
    parser.add_argument("--calls", type=int, nargs=2, metavar=("FIRST", "LAST"), help="only deaths at these calls")
    parser.add_argument("--seconds", type=float, help="of storm (45) and soak (60)")
    parser.add_argument("--short", action="store_true", help="a sample of what needs no root's rights, about a minute")
    parser.add_argument("--sanitizer", choices=OPTIONS, help="what the daemon was built with: its reports are failures")
    parser.add_argument("--work", type=pathlib.Path, default=CHECKOUT / ".build-torture", metavar="DIR",
                        help="where files go, on a real disk")
    return parser.parse_args()


class Run:
    """One run: its options and its tallies."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.seed = chosen.seed if chosen.seed is not None else random.SystemRandom().randrange(1 << 31)
        chosen.work.mkdir(parents=True, exist_ok=True)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=chosen.work.resolve()))
        self.native = Native(self.work / "native", HERE / "native")
        self.setup = Setup(str(chosen.dld.resolve()), self.native("faults"), self.work)
        self.tallies, self.begun = [], time.monotonic()

    def say(self, text):
        print(text, flush=True)

    def each(self, work, cases):
        """The results of work(case) for all cases, in several processes."""
        with multiprocessing.get_context("fork").Pool(self.chosen.workers) as pool:
            yield from pool.imap_unordered(work, cases, chunksize=1)

    def tally(self, attack, title, results):
        """Prints failures as they come. Adds a row to the table at the end."""
        begun, tally = time.monotonic(), Tally(attack, title)
        self.tallies.append(tally)
        for number, result in enumerate(results, 1):
            tally.add(result)
            if result.problems:
                self.say(f"FAILED {result.name} --seed {self.seed}  ({result.note})")
                for problem in result.problems[:6]:
                    self.say(f"    {str(problem)[:400]}")
            elif number % 200 == 0:
                self.say(f"    {number} cases, {tally.failures} failures, {time.monotonic() - begun:.0f} s")
        tally.seconds = time.monotonic() - begun
        self.say(f"{title}: {tally.cases:,} cases, {tally.failures} failures, {tally.seconds:.0f} s")

    def control(self, attack, name, caught):
        """A planted defect that is not noticed is a failure of the harness."""
        self.say(f"planted {name}: {'caught: ' + str(caught[0])[:200] if caught else 'NOT CAUGHT'}")
        tally = Tally(attack, f"{attack}, planted: {name}", is_planted=True)
        tally.add(Result(name, []))
        tally.failures = 0 if caught else 1
        self.tallies.append(tally)

    def sanitizer(self):
        """Prepares the named sanitizer, and proves that its reports arrive. Returns it, or None."""
        if not self.chosen.sanitizer:
            return None
        sanitizer = Sanitizer(self.chosen.sanitizer, self.setup, self.native)
        self.control("sanitizer", "a race, a use of freed memory", sanitizer.planted())
        return sanitizer

    def report(self):
        self.say(f"\nseed {self.seed}, {time.monotonic() - self.begun:.0f} s, {self.chosen.workers} workers\n")
        for line in by_attack(self.tallies):
            self.say(line)
        self.say("\nCases judged by a promise / cases that broke it:\n")
        for line in by_promise(self.tallies):
            self.say(line)
        return 1 if any(tally.failures for tally in self.tallies) else 0


def main():
    chosen = options()
    if not chosen.dld.exists():
        raise SystemExit(f"there is no {chosen.dld}: run `make torture`, or name another with --dld")
    run = Run(chosen)
    attacks.SETUP = run.setup
    run.say(f"seed {run.seed}")
    names = chosen.only or (SHORT if chosen.short else list(attacks.RUNS))
    try:
        sanitizer = run.sanitizer()
        for name in names:
            run.say(f"\n== {name}")
            attacks.RUNS[name](run)
        if sanitizer:
            run.say(f"\n== reports\n{sanitizer.first()}")
            run.tally("sanitizer", f"reports of the {sanitizer.name} sanitizer", [sanitizer.result()])
    finally:
        if KEEPS_FAILURES and any(tally.failures for tally in run.tallies):
            run.say(f"\nThe folders of the cases that failed stay in {run.work}")
        else:
            shutil.rmtree(run.work, ignore_errors=True)
    return run.report()
