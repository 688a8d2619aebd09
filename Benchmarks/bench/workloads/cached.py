"""Counts the instructions for one more data task that is answered from the cache, compared with one that is fetched. Measures
the cost of such an answer in a full cache, compared with a nearly empty one."""
import contextlib
import os
import pathlib
import sqlite3
import statistics

from bench import bars
from bench.content import make_file
from bench.measure import Failed
from bench.rpc import line
from bench.workloads.instructions import COUNTED, callgrind, readable

BYTES = 4096
CALL = 1_000
#: The number of entries of a full cache, and of answers that are requested.
FULL = 1_000_000
ASKED = 2_000


def run(context):
    few, many = context.size(1_000, 100), context.size(3_000, 300)
    make_file(context.work / "www" / "stored", BYTES)
    # The server does not say how long the answer is fresh. The estimate is a tenth of its age, a day at most.
    os.utime(context.work / "www" / "stored", (1_000_000_000, 1_000_000_000))
    url = context.nginx.origin("http") + "/stored"
    for build in context.builds:
        costs = {}
        for what, policy in [("hit", "useProtocolCachePolicy"), ("fetch", "reloadIgnoringLocalCacheData")]:
            counts = [count(context, build, url, policy, tasks) for tasks in (few, many)]
            costs[what] = (counts[1] - counts[0]) / (many - few)
            context.report.figure(f"one more data task, {what}", "instructions", {build.name: costs[what]}, "")
        context.report.figure("a fresh hit against a fetch", "instructions",
                              {build.name: costs["hit"] / costs["fetch"]}, "", bars.CACHED_INSTRUCTIONS)
    for build in context.builds:
        crowded(context, build)


def count(context, build, url, policy, tasks):
    out = context.scratch("count") / "out"
    with context.start(readable(context, build), 64, wrapper=callgrind(out)) as daemon:
        connection = daemon.connection
        connection.call("session.open", id="bench", kind="ephemeral")
        connection.call("events.subscribe", after="now", progressInterval=0)
        fetch(connection, [url], "useProtocolCachePolicy")
        fetch(connection, [url] * tasks, policy)
    counted = COUNTED.search(pathlib.Path(out).read_text())
    if not counted:
        raise Failed(f"callgrind wrote no total to {out}")
    return int(counted[1])


def crowded(context, build):
    """Measures answers from the cache on disk, each for another URL, in a nearly empty cache and in a full one."""
    url = context.nginx.origin("http") + "/stored"
    urls = [f"{url}?{number}" for number in range(context.size(ASKED, 200))]
    entries = context.size(FULL, 20_000)
    with context.start(build, 64) as daemon:
        small = hits(daemon, urls, context.rounds, fills=True)
        daemon.stop()
        fill(daemon.state / "cache" / "cache.sqlite", entries - len(urls))
        daemon.start()
        full = hits(daemon, urls, context.rounds)
    for what, unit, index in [("processor time", "ms", 0), ("wall time", "ms", 1)]:
        context.report.figure(f"one hit of the disk, {len(urls):,} entries", what, {build.name: small[index]}, unit)
        context.report.figure(f"one hit of the disk, {entries:,} entries", what, {build.name: full[index]}, unit)
    context.report.figure("a hit in the full cache against one in the small", "processor time",
                          {build.name: full[0] / small[0]}, "", bars.CACHED_FULL)


def hits(daemon, urls, rounds, fills=False):
    """Returns the medians of (processor, wall) in milliseconds for one answer from the cache."""
    connection = daemon.connection
    # The session keeps nothing in memory.
    connection.call("session.open", id="bench", kind="default",
                    configuration={"urlCache": {"memoryCapacity": 0, "diskCapacity": 1 << 30}})
    connection.call("events.subscribe", after="now", progressInterval=0)
    if fills:
        fetch(connection, urls, "useProtocolCachePolicy")
    # Not measured: opens the cache, and checks that all entries are there.
    fetch(connection, urls, "returnCacheDataDontLoad")
    found = []
    for _ in range(rounds):
        meter = daemon.meter()
        fetch(connection, urls, "returnCacheDataDontLoad")
        sample = meter.end()
        found.append((sample.cpu, sample.wall))
    return [statistics.median(values) * 1000 / len(urls) for values in zip(*found)]


def fill(path, count):
    """Adds entries that are older than the existing ones."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(
            "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?) "
            "INSERT INTO entry (owner, storage, url, selection, head, asked, answered, length, size, crc, used, body) "
            "SELECT ?, 'bench', 'http://filling.example/' || n, '', '{}', 0, 0, 0, 600, 0, 0, x'' FROM number", (count, os.getuid()))
        database.commit()


def fetch(connection, urls, policy):
    """Adds the tasks and waits for their ends."""
    tasks = len(urls)
    for first in range(0, tasks, CALL):
        specs = [{"kind": "data", "url": url, "requestCachePolicy": policy} for url in urls[first:first + CALL]]
        connection.send(line("task.add", {"session": "bench", "tasks": specs}))
    connection.await_completed(tasks)
