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
from torture import blocks, disks, filesystem, kill, power, real, soak, tampering
from torture.stage import Setup, Stage, timed

HERE = pathlib.Path(__file__).resolve().parents[1]
CHECKOUT = HERE.parents[1]
ATTACKS = ["kill", "soak", "power", "blocks", "disks", "real"]
#: What needs neither root nor much time.
SHORT = ["kill", "soak"]


def options():
    parser = argparse.ArgumentParser(prog="Tests/Torture/run", description="Tries to break the daemon's promises.")
    parser.add_argument("--dld", type=pathlib.Path, default=CHECKOUT / ".build" / "release" / "dld", metavar="FILE")
    parser.add_argument("--only", nargs="+", choices=ATTACKS, metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--seed", type=int, help="of what is chosen at random; printed")
    parser.add_argument("--case", help="one case, as a failure prints it")
    parser.add_argument("--cases", type=int, metavar="N", help="at most so many cases of an attack, chosen by the seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--calls", type=int, nargs=2, metavar=("FIRST", "LAST"), help="only deaths at these calls")
    parser.add_argument("--seconds", type=float, help="of the soak; 120")
    parser.add_argument("--short", action="store_true", help="a sample of what needs no root's rights, under a minute")
    parser.add_argument("--work", type=pathlib.Path, default=CHECKOUT / ".build-torture", metavar="DIR",
                        help="where files go, on a real disk")
    return parser.parse_args()


def say(text):
    print(text, flush=True)


class Run:
    """One run: its options, its tally."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.seed = chosen.seed if chosen.seed is not None else random.SystemRandom().randrange(1 << 31)
        chosen.work.mkdir(parents=True, exist_ok=True)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=chosen.work.resolve()))
        native = Native(self.work / "native", HERE / "native")
        self.setup = Setup(str(chosen.dld.resolve()), native("faults"), self.work)
        self.native = native
        self.rows, self.failed = [], 0

    def each(self, work, cases):
        """Results of work(case) for all cases, in several processes."""
        with multiprocessing.get_context("fork").Pool(self.chosen.workers) as pool:
            yield from pool.imap_unordered(work, cases, chunksize=1)

    def tally(self, promise, results):
        """Prints failures as they come; a row of the table in the end."""
        begun, cases, reached, failures = time.monotonic(), 0, 0, 0
        for result in results:
            cases, reached = cases + 1, reached + result.reached
            if result.problems:
                failures += 1
                say(f"FAILED {result.name} --seed {self.seed}  ({result.note})")
                for problem in result.problems[:6]:
                    say(f"    {problem[:400]}")
            elif cases % 200 == 0:
                say(f"    {cases} cases, {failures} failures, {time.monotonic() - begun:.0f} s")
        self.failed += failures
        self.rows.append((promise, cases, reached, failures, time.monotonic() - begun))

    def control(self, name, caught):
        """A planted defect that goes unnoticed is a failure of the harness."""
        say(f"planted {name}: {'caught: ' + caught[0][:200] if caught else 'NOT CAUGHT'}")
        self.failed += not caught
        self.rows.append((f"planted: {name}", 1, 1, 0 if caught else 1, 0.0))

    def report(self):
        say(f"\nseed {self.seed}\n\n| attack | cases | attacked | failures | seconds |\n|---|---|---|---|---|")
        for row in self.rows:
            say("| {} | {} | {} | {} | {:.0f} |".format(*row))
        return 1 if self.failed else 0


SETUP = RECORDER = None


def kill_case(pair):
    return timed(lambda: kill.case(SETUP, *pair))


def run_kill(run):
    if run.chosen.case:
        call, how = run.chosen.case.split(":")
        return run.tally("kill", [kill.case(run.setup, int(call), how)])
    calls, notes, problems = kill.clean(run.setup)
    say(f"a run that nobody attacks: {calls} calls")
    if problems:
        raise SystemExit(f"it goes wrong without an attack: {problems}")
    run_checker(run)
    for plant, shares in kill.CONTROLS.items():
        caught = []
        for share in shares:
            caught = caught or kill.case(run.setup, int(calls * share), "before", [plant]).problems
        run.control(plant, caught)
    limit = run.chosen.cases or (24 if run.chosen.short else None)
    cases = kill.cases(notes, run.seed, run.chosen.calls, limit)
    run.tally("kill", run.each(kill_case, cases))


def run_checker(run):
    """The checker's own test: it has to see every damage to what a good run left."""
    stage = Stage(run.setup)
    stage.live()
    unseen = tampering.unseen(stage)
    count = len(tampering.SQL) + len(tampering.FILES)
    stage.end()
    run.rows.append(("planted: damages that the checker has to see", count, count, len(unseen), 0.0))
    run.failed += len(unseen)
    say(f"damages: {count}, unseen: {unseen or 'none'}")


def run_soak(run):
    seconds = run.chosen.seconds or (8 if run.chosen.short else 120)
    result, kills, count = timed_soak(run, seconds)
    run.tally(f"soak: {kills} kills under {soak.CLIENTS} clients, {count} tasks", [result])


def timed_soak(run, seconds):
    return soak.run(run.setup, run.seed, seconds)


def power_case(pair):
    return timed(lambda: power.case(SETUP, *pair))


def run_power(run):
    if run.chosen.case:
        kind, call = run.chosen.case.split(":")
        return run.tally(f"power: {kind}", [power.case(run.setup, kind, int(call))])
    kinds = [kind for kind in ("ext4", "xfs") if filesystem.available(kind)]
    if not kinds:
        return say("left out: mounting needs root and mkfs")
    calls = kill.clean(run.setup)[0]
    for plant in ("no-sync", "no-log-sync"):
        caught = []
        for share in (0.9, 0.8, 0.7, 0.6, 0.5, 0.95):
            caught = caught or power.case(run.setup, kinds[0], int(calls * share), [plant]).problems
        run.control(f"{plant}, power cut", caught)
    for kind in kinds:
        cases = power.cases([kind], calls, run.seed, run.chosen.cases or 100)
        run.tally(f"power cut on {kind}", run.each(power_case, cases))


def blocks_case(triple):
    return blocks.case(SETUP, RECORDER, *triple)


def run_blocks(run):
    global RECORDER
    kinds = [kind for kind in ("ext4", "xfs") if filesystem.available(kind)]
    if not kinds:
        return say("left out: mounting needs root and mkfs")
    RECORDER = run.native("blocklog")
    if run.chosen.case:
        kind, seed, count = run.chosen.case.split(":")
        return run.tally(f"blocks: {kind}", blocks_case((kind, int(seed), int(count))))
    for plant in ("no-sync", "no-log-sync"):
        results = blocks.case(run.setup, RECORDER, kinds[0], run.seed, 12, [plant])
        run.control(f"{plant}, images", [problem for result in results for problem in result.problems])
    for kind in kinds:
        cases = blocks.cases([kind], run.seed, run.chosen.cases or 160, 20)
        results = (result for results in run.each(blocks_case, cases) for result in results)
        run.tally(f"images of {kind} at any write", results)


def disks_case(case):
    return timed(lambda: disks.case(SETUP, *case))


def run_disks(run):
    if run.chosen.case:
        fault, error, length, call = run.chosen.case.split(":")
        return run.tally("disks", [disks.case(run.setup, fault, error, length, int(call))])
    found = disks.counts(run.setup)
    say(f"calls that can fail: {found}")
    run.control("hidden-failure", disks.case(run.setup, "delivery", "EIO", "some", 1, ["hidden-failure"]).problems)
    cases = disks.cases(found, run.seed, run.chosen.cases or 400)
    for fault in disks.FAULTS:
        run.tally(f"failing calls: {fault}", run.each(disks_case, [case for case in cases if case[0] == fault]))


def real_case(name):
    return timed(lambda: real.case(SETUP, name))


def run_real(run):
    if run.chosen.case:
        return run.tally("real", [real.case(run.setup, run.chosen.case)])
    mounts = filesystem.available("ext4")
    names = [name for name, (_, megabytes, _) in real.CASES.items() if mounts or not megabytes]
    run.tally(f"disks that fail for real: {', '.join(names)}", run.each(real_case, names))


def main():
    global SETUP
    chosen = options()
    if not chosen.dld.exists():
        raise SystemExit(f"there is no {chosen.dld}: run `make torture`, or name another with --dld")
    run = Run(chosen)
    SETUP = run.setup
    say(f"seed {run.seed}")
    try:
        for name in chosen.only or (SHORT if chosen.short else ATTACKS):
            say(f"\n== {name}")
            {"kill": run_kill, "soak": run_soak, "power": run_power, "blocks": run_blocks, "disks": run_disks, "real": run_real}[name](run)
    finally:
        shutil.rmtree(run.work, ignore_errors=True)
    return run.report()
