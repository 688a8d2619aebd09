"""Measures the daemon's cost of 9,000 data tasks of one client in a volatile session, whose store is in memory."""
from bench import bars
from bench.content import make_file
from bench.rpc import line

TASKS = 9_000
#: The number of tasks that one call adds.
CALL = 1_000


def run(context):
    make_file(context.work / "www" / "answer", 512)
    url = context.nginx.origin("http") + "/answer"
    found = context.each_build(lambda daemon: one(context, daemon, url))
    tasks = context.size(TASKS, 900)
    for index, (what, unit, bar) in enumerate([
            ("processor time", "s", bars.VOLATILE_PROCESSOR), ("wall time", "s", None)]):
        context.report.figure(f"{tasks:,} data tasks, ephemeral", what,
                              {name: values[index] for name, values in found.items()}, unit, bar)


def one(context, daemon, url):
    """Returns (processor, wall) in seconds, from the first add to the last end."""
    tasks = context.size(TASKS, 900)
    connection = daemon.connection
    connection.call("session.open", id="bench", kind="ephemeral")
    connection.call("events.subscribe", after="now", progressInterval=0)
    batches = [min(CALL, tasks - first) for first in range(0, tasks, CALL)]
    meter = daemon.meter()
    for count in batches:
        connection.send(line("task.add", {"session": "bench", "tasks": [{"kind": "data", "url": url}] * count}))
    connection.await_completed(tasks)
    sample = meter.end()
    return sample.cpu, sample.wall
