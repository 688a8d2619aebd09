"""Fails if one more small download costs more instructions than the reference allows: see Benchmarks/guard."""
import argparse
import pathlib
import signal
import tempfile

from bench.cli import CHECKOUT, interrupt
from bench.context import Build, Context
from bench.workloads import instructions

REFERENCE = CHECKOUT / "Benchmarks" / "instructions.reference"
#: The share by which a run may exceed the reference. Two runs of one build differ by a few percent.
SLACK = 0.10
FEW, MANY = 300, 900
#: The number of runs. The best one counts, so that a busy machine alone does not cause a failure.
RUNS = 2
RENEWAL = "Benchmarks/guard --renew"


def options():
    parser = argparse.ArgumentParser(
        prog="Benchmarks/guard",
        description="Counts the instructions of one more small download and compares them with the reference.")
    parser.add_argument("--dld", type=pathlib.Path, default=CHECKOUT / ".build" / "release", metavar="DIR",
                        help="folder of an optimized dld; .build/release")
    parser.add_argument("--renew", action="store_true", help=f"write the counted figure to {REFERENCE.name}")
    return parser.parse_args()


def reference():
    """Returns the figure in the last line of the file. The other lines explain it."""
    return int(REFERENCE.read_text().split()[-1].replace(",", ""))


def count(build):
    folder = CHECKOUT / ".build-bench"
    folder.mkdir(exist_ok=True)
    context = Context(pathlib.Path(tempfile.mkdtemp(prefix="guard-", dir=folder.resolve())), [build], 1, False, ["none"])
    try:
        return round(instructions.of_daemon(context, FEW, MANY))
    finally:
        context.end()


def main():
    chosen = options()
    if not (chosen.dld / "dld").exists():
        raise SystemExit(f"error: there is no dld in {chosen.dld}: run `make build`, or name another folder")
    signal.signal(signal.SIGTERM, interrupt)
    build = Build("", chosen.dld)
    if chosen.renew:
        return renew(min(count(build) for _ in range(RUNS)))
    limit, best = round(reference() * (1 + SLACK)), None
    for _ in range(RUNS):
        found = count(build)
        best = min(found, best or found)
        print(f"{found:,} instructions for one more small download; {limit:,} are allowed", flush=True)
        if best <= limit:
            break
    else:
        print(f"error: one more small download costs {best:,} instructions, {best / reference() - 1:.0%} more than "
              f"the reference of {reference():,}. Reduce the cost. If it is justified, run `{RENEWAL}` and say why in "
              "the commit message.", flush=True)
        return 1
    if best < reference() * (1 - SLACK):
        print(f"That is {1 - best / reference():.0%} less than the reference: run `{RENEWAL}` to guard this improvement.")
    return 0


def renew(found):
    lines = REFERENCE.read_text().splitlines()
    REFERENCE.write_text("\n".join([*lines[:-1], f"{found:,}"]) + "\n")
    print(f"{REFERENCE.name}: {lines[-1]} -> {found:,}")
    return 0
