"""The command line of Benchmarks/run."""
import argparse
import pathlib
import shlex
import signal
import sys
import tempfile

from bench.context import Build, Context
from bench.facts import facts
from bench.measure import Failed
from bench.race import say
from bench.workloads import ALL

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = CHECKOUT / "Benchmarks" / "RESULTS.md"


def options():
    parser = argparse.ArgumentParser(
        prog="Benchmarks/run",
        description="Measures dld against its peers in one run and prints the bars it is held to.")
    parser.add_argument("--dld", type=pathlib.Path, default=CHECKOUT / ".build" / "release", metavar="DIR",
                        help="folder of dld and dlctl; .build/release")
    parser.add_argument("--against", type=pathlib.Path, metavar="DIR", help="another build's folder, as a column")
    parser.add_argument("--rounds", type=int, default=3, help="number of interleaved rounds of each workload; 3")
    parser.add_argument("--only", nargs="+", choices=ALL, metavar="NAME", help=f"of {', '.join(ALL)}")
    parser.add_argument("--peers", nargs="*", metavar="NAME", help="only these peers; without a name, none")
    parser.add_argument("--small", action="store_true", help="small sizes, to try out the harness: the figures mean little")
    parser.add_argument("--write", action="store_true", help="write Benchmarks/RESULTS.md; only if everything is measured in full")
    parser.add_argument("--work", type=pathlib.Path, default=CHECKOUT / ".build-bench", metavar="DIR",
                        help="folder for files, on a real disk; .build-bench in the checkout")
    chosen = parser.parse_args()
    left_out = [f"--{name}" for name in ("only", "peers", "small") if getattr(chosen, name) not in (None, False)]
    if chosen.write and left_out:
        parser.error(f"--write replaces all of RESULTS.md, so it needs every row: leave out {' and '.join(left_out)}")
    return chosen


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    chosen = options()
    for folder in filter(None, [chosen.dld, chosen.against]):
        if not (folder / "dld").exists():
            raise SystemExit(f"there is no dld in {folder}: run `make build`, or name another folder")
    builds = [Build("", chosen.dld)] + ([Build(" before", chosen.against)] if chosen.against else [])
    signal.signal(signal.SIGTERM, interrupt)
    chosen.work.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=chosen.work.resolve()))
    context = Context(work, builds, chosen.rounds, chosen.small,
                      ["none"] if chosen.peers == [] else chosen.peers)
    try:
        for name in chosen.only or ALL:
            say(f"\n== {name}")
            try:
                ALL[name].run(context)
            except (Failed, OSError) as failure:
                context.report.failure("dld", name, failure)
        text = context.report.markdown(facts(context), shlex.join(["Benchmarks/run", *sys.argv[1:]]))
    finally:
        print(context.report.text())
        context.end()
    if chosen.write:
        RESULTS.write_text(text)
    return 1 if context.report.failed else 0
