"""1,000 and 5,000 transfers at one time that get a piece now and then, none of them at the moment of another."""
from bench import bars
from bench.content import make_file
from bench.dld import Dld
from bench.jobs import downloads
from bench.race import Race
from bench.servers import SlowServer

PIECE = 1024
#: Transfers, and the milliseconds between two pieces of one: 5,000 arrivals a second in all.
WORKS = [(1_000, 200), (5_000, 1_000)]
SECONDS = 30


def run(context):
    for index, (count, milliseconds) in enumerate(WORKS):
        one_count(context, count, milliseconds, bounded=index == 0)


def one_count(context, count, milliseconds, bounded):
    work = f"{count:,} slow"
    count = context.size(count, count // 5)
    source = context.work / "slow"
    seconds = context.size(SECONDS, 6)
    make_file(source, PIECE * seconds * 1000 // milliseconds)
    names = [f"{index:05d}" for index in range(count)]

    def check(job):
        for _, path in job.pairs:
            context.expected.check(source, path)

    with SlowServer(context.native, source, PIECE, milliseconds) as server:
        daemons = [context.start(build, count) for build in context.builds]
        own = [Dld(build.name, daemon) for build, daemon in zip(context.builds, daemons)]
        race = Race(context, work, lambda out: downloads(server.origin, names, out, parallel=count), check,
                    window=(seconds * 0.3, seconds * 0.8))
        race.run([*own, *context.peers])
        for daemon in daemons:
            daemon.end()
    context.expected.known.pop(source)
    context.report.compare(race, "cpu", "aria2c", bars.SLOW_ARIA2 if bounded else None)
    context.report.compare(race, "share", "aria2c")
    context.report.compare(race, "wall", "aria2c")
    context.report.compare(race, "peak", "aria2c")
    values = {build.name: max(race.values(build.name, "peak"), default=0) / 1e6 for build in context.builds}
    context.report.figure(work, "peak memory", values, "MB", bars.SLOW_MEMORY if bounded else None)
