"""Fetches one file of 2 GB over one connection, with http and https."""
import os
import statistics
import threading
import time

from bench import bars, flushes
from bench.content import make_file
from bench.dld import Dld
from bench.jobs import downloads
from bench.race import Race, release

GIGABYTE = 10**9


def flushed(job, sample):
    """Returns the wall time including `sync -d FILE`, which costs nothing if the contender has flushed the file itself."""
    start = time.monotonic()
    descriptor = os.open(job.pairs[0][1], os.O_RDONLY)
    os.fdatasync(descriptor)
    os.close(descriptor)
    sample.more["flushed"] = sample.wall + time.monotonic() - start


def run(context):
    source = context.work / "www" / "large"
    make_file(source, context.size(2 * GIGABYTE, GIGABYTE // 4))
    for work, kind in (("2 GB http", "http"), ("2 GB https", "https1")):
        one_scheme(context, work, context.nginx.origin(kind), source)
    answers_under_load(context, source)
    source.unlink()


def one_scheme(context, work, origin, source):
    authority = context.nginx.authority if origin.startswith("https") else ""

    def make_job(folder):
        return downloads(origin, ["large"], folder, authority=authority)

    def check(job):
        context.expected.check(source, job.pairs[0][1])

    daemons = [context.start(build) for build in context.builds]
    session = {"caFile": authority} if authority else None
    own = [Dld(build.name, daemon, "large", session) for build, daemon in zip(context.builds, daemons)]
    race = Race(context, work, make_job, check, flushed).run([*own, *context.peers])
    for daemon in daemons:
        daemon.end()
    compare = context.report.compare
    if authority:
        compare(race, "cpu", "curl", bars.LARGE_HTTPS_CURL)
    else:
        compare(race, "cpu", "curl", bars.LARGE_HTTP_CURL)
        compare(race, "cpu", "aria2c", bars.LARGE_HTTP_ARIA2)
        compare(race, "cpu", "floor")
    compare(race, "flushed", "curl", None if authority else bars.LARGE_HTTP_WALL)
    compare(race, "peak", "curl")
    if not authority:
        curl = race.values("curl", "flushed")
        flushes.count(context, work, make_job, check, None, session, statistics.median(curl) if curl else None)


def answers_under_load(context, source):
    """Measures how long `daemon.info` takes while one transfer runs at full speed."""

    def measure(daemon):
        job = downloads(context.nginx.origin("http"), ["large"], context.out())
        times, over = [], threading.Event()
        thread = threading.Thread(target=ask, args=(daemon, times, over))
        thread.start()
        Dld("dld", daemon).run(job)
        over.set()
        thread.join()
        context.expected.check(source, job.pairs[0][1])
        release(job)
        return statistics.median(times) * 1000

    context.report.figure("2 GB http", "daemon.info meanwhile, median", context.each_build(measure), "ms",
                          bars.ANSWER_UNDER_LOAD)


def ask(daemon, times, over):
    connection = daemon.connect()
    while not over.wait(0.01):
        start = time.monotonic()
        connection.call("daemon.info")
        times.append(time.monotonic() - start)
    connection.close()
