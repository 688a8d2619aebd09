"""Instructions for one more data task that a stored answer serves, against one that is fetched."""
import json
import os
import pathlib

from bench import bars
from bench.content import make_file
from bench.measure import Failed
from bench.rpc import line
from bench.workloads.instructions import COUNTED, callgrind, readable

BYTES = 4096
CALL = 1_000


def run(context):
    few, many = context.size(1_000, 100), context.size(3_000, 300)
    make_file(context.work / "www" / "stored", BYTES)
    # Nobody says for how long it is fresh: a tenth of the time for which it has not changed, a day at most.
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


def count(context, build, url, policy, tasks):
    out = context.scratch("count") / "out"
    with context.start(readable(context, build), 64, wrapper=callgrind(out)) as daemon:
        connection = daemon.connection
        connection.call("session.open", id="bench", kind="ephemeral")
        connection.call("events.subscribe", after="now", progressInterval=0)
        fetch(connection, url, "useProtocolCachePolicy", 1)
        fetch(connection, url, policy, tasks)
    counted = COUNTED.search(pathlib.Path(out).read_text())
    if not counted:
        raise Failed(f"callgrind wrote no total to {out}")
    return int(counted[1])


def fetch(connection, url, policy, tasks):
    """Adds the tasks and waits for their ends."""
    for first in range(0, tasks, CALL):
        specs = [{"kind": "data", "url": url, "requestCachePolicy": policy}] * min(CALL, tasks - first)
        connection.send(line("task.add", {"session": "bench", "tasks": specs}))
    completed = 0
    while completed < tasks:
        for text in connection.lines():
            message = json.loads(text)
            if "error" in message:
                raise Failed(message["error"]["message"])
            kind = message.get("params", {}).get("type")
            if kind in ("task.failed", "task.cancelled"):
                raise Failed(text.decode())
            completed += kind == "task.completed"
