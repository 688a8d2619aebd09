"""Sends one file of 2 GB with PUT."""
import statistics

from bench import bars, flushes
from bench.content import make_file
from bench.dld import Dld
from bench.jobs import Job
from bench.race import Race

GIGABYTE = 10**9


def run(context):
    source, arrived = context.work / "source", context.work / "uploads" / "arrived"
    make_file(source, context.size(2 * GIGABYTE, GIGABYTE // 4))

    def make_job(_):
        arrived.unlink(missing_ok=True)
        return Job(source=source, upload_url=context.nginx.origin("put") + "/arrived")

    def check(_):
        context.expected.check(source, arrived)

    daemons = [context.start(build) for build in context.builds]
    own = [Dld(build.name, daemon) for build, daemon in zip(context.builds, daemons)]
    race = Race(context, "upload 2 GB", make_job, check).run([*own, *context.peers])
    for daemon in daemons:
        daemon.end()
    context.report.compare(race, "cpu", "curl", bars.UPLOAD_CURL)
    context.report.compare(race, "cpu", "floor")
    context.report.compare(race, "wall", "curl", bars.UPLOAD_WALL)
    context.report.compare(race, "peak", "curl")
    curl = race.values("curl", "wall")
    flushes.count(context, "upload 2 GB", make_job, check, None, None, statistics.median(curl) if curl else None)
    arrived.unlink(missing_ok=True)
    source.unlink()
