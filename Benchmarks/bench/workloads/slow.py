"""Runs 1,000 and 5,000 transfers at a time, each of which gets a small piece now and then, at its own moments; and 1,000 files
of 400 KB from nginx, at 20 KB per second each."""
import os

from bench import bars
from bench.content import make_file
from bench.dld import Dld
from bench.jobs import downloads
from bench.race import Race
from bench.servers import SlowServer

PIECE = 1024
#: (transfers, milliseconds between two pieces of one transfer): 5,000 pieces per second in total.
WORKS = [(1_000, 200), (5_000, 1_000)]
SECONDS = 30
#: For nginx: the number of files, the bytes of each, and the rate of its "slow" port.
FILES, LENGTH, RATE = 1_000, 400_000, 20_000


def run(context):
    for index, (count, milliseconds) in enumerate(WORKS):
        one_count(context, count, milliseconds, bounded=index == 0)
    from_nginx(context)


def from_nginx(context):
    """Fetches one file under many names. Each response starts with a burst and then keeps its rate."""
    count = context.size(FILES, FILES // 5)
    source = context.work / "www" / "slow" / "source"
    source.parent.mkdir(parents=True, exist_ok=True)
    length = context.size(LENGTH, LENGTH // 4)
    make_file(source, length)
    names = [f"slow/{index:05d}" for index in range(count)]
    for name in names:
        link = context.work / "www" / name
        link.unlink(missing_ok=True)
        os.link(source, link)

    def check(job):
        for _, path in job.pairs:
            context.expected.check(source, path)

    seconds = length / RATE
    daemons = [context.start(build, count) for build in context.builds]
    own = [Dld(build.name, daemon) for build, daemon in zip(context.builds, daemons)]
    race = Race(context, f"{FILES:,} files at 20 KB/s",
                lambda out: downloads(context.nginx.origin("slow"), names, out, parallel=count), check,
                window=(seconds * 0.3, seconds * 0.8))
    race.run([*own, *context.peers])
    for daemon in daemons:
        daemon.end()
    report(context, race, f"{FILES:,} files at 20 KB/s", bars.SLOW_NGINX_ARIA2, bars.SLOW_NGINX_MEMORY)


def report(context, race, work, processor, memory):
    context.report.compare(race, "cpu", "aria2c", processor)
    for figure in ("share", "wall", "peak"):
        context.report.compare(race, figure, "aria2c")
    values = {build.name: max(race.values(build.name, "peak"), default=0) / 1e6 for build in context.builds}
    context.report.figure(work, "peak memory", values, "MB", memory)


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
    report(context, race, work, bars.SLOW_ARIA2 if bounded else None, bars.SLOW_MEMORY if bounded else None)
