"""Fetches 10,000 files of 4 KB, 64 at a time: http, https with HTTP/1.1, https with HTTP/2."""
import statistics

from bench import bars, flushes
from bench.content import make_small_files
from bench.dld import Dld
from bench.jobs import downloads
from bench.race import Race

FILE_BYTES = 4096
PARALLEL = 64
DURABILITIES = ["full", "relaxed"]


def run(context):
    folder = context.work / "www" / "small"
    names = make_small_files(folder, context.size(10_000, 2_000), FILE_BYTES)
    for work, kind in (("small http", "http"), ("small https/1.1", "https1"), ("small https/h2", "https2")):
        one_scheme(context, work, kind, names, folder)


def contenders(context, authority):
    """Makes sessions of both durabilities on one daemon of each build; `relaxed` only if the build has it."""
    daemons, own = [], []
    for build in context.builds:
        daemon = context.start(build, PARALLEL)
        daemons.append(daemon)
        for durability in DURABILITIES:
            if durability == "full" or daemon.has("relaxed"):
                trust = {"caFile": authority} if authority else {}
                own.append(Dld(f"dld {durability}{build.suffix}", daemon, durability,
                               {"durability": durability, **trust}))
    return daemons, own


def one_scheme(context, work, kind, names, folder):
    authority = context.nginx.authority if kind != "http" else ""
    origin = context.nginx.origin(kind) + "/small"

    def make_job(out):
        return downloads(origin, names, out, parallel=PARALLEL, authority=authority)

    def check(job):
        for name, (_, path) in zip(names, job.pairs):
            context.expected.check(folder / name, path)

    daemons, own = contenders(context, authority)
    race = Race(context, work, make_job, check).run([*own, *context.peers])
    for daemon in daemons:
        daemon.end()
    for durability in DURABILITIES:
        report(context, race, kind, durability)
    if kind != "http":
        return
    curl = race.values("curl", "wall")
    for durability in DURABILITIES:
        if f"dld {durability}" in race.samples:
            flushes.count(context, f"{work}, {durability}", make_job, check, PARALLEL, {"durability": durability},
                          statistics.median(curl) if curl else None)


def report(context, race, kind, durability):
    own = f"dld {durability}"
    if own not in race.samples and own not in race.left_out:
        context.report.note(f"`durability: {durability}` is not among the features of this build: left out.")
        return
    bar = bars.SMALL_WALL[durability] if kind == "http" else None
    if kind == "https2" and durability == "relaxed":
        bar = bars.SMALL_H2_WALL
    label = f"{race.work}, {durability}"
    context.report.compare(race, "wall", "curl", bar, dld=own, label=label)
    context.report.compare(race, "wall", "aria2c", dld=own, label=label)
    context.report.compare(race, "cpu", "curl", dld=own, label=label)
    context.report.compare(race, "peak", "curl", dld=own, label=label)
