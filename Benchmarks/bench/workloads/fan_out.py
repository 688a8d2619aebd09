"""Sends 10,000 stored events per second to 10 subscribers. Measures the cost of the subscribers, and the cost of all of it."""
import subprocess
import time

from bench import bars
from bench.content import make_file
from bench.dld import add_lines
from bench.measure import median
from bench.queue_filling import blocked
from bench.race import say
from bench.rpc import line
from bench.servers import SlowServer

SUBSCRIBERS = 10
#: The number of tasks that one call pauses or resumes, and of calls per second.
TASKS, CALLS = 1_000, 10
TYPES = ["task.paused", "task.queued"]
WORK = "10,000 events/s"
#: The number of pairs of measurements, one with and one without subscribers.
PAIRS = 5


def run(context):
    trickle = context.work / "trickle"
    make_file(trickle, 1 << 20)
    with SlowServer(context.native, trickle, 1, 1000) as server:
        found = context.each_build(lambda daemon: pairs(context, daemon, server), 1)
    for index, (what, bar) in enumerate([("what 10 subscribers add", bars.FAN_OUT),
                                         ("making and storing them, and 10 subscribers", None)]):
        values = {name: median([pair[index] for pair in measured]) for name, measured in found.items()}
        context.report.figure(WORK, what, values, "% of a core", bar)


def pairs(context, daemon, server):
    """Returns (the cost that subscribers add, the whole cost) for each pair of measurements."""
    blocked(daemon, server)
    specs = [{"url": "http://127.0.0.1:9/", "destination": {"path": str(daemon.folder / f"t{index}")}}
             for index in range(TASKS)]
    daemon.connection.pipeline(add_lines(specs), 1)
    ids = [task["id"] for task in daemon.call("task.list", states=["queued"], limit=TASKS)["tasks"]]
    found = []
    for _ in range(context.size(PAIRS, 2)):
        alone = stretch(context, daemon, ids, 0)
        heard = stretch(context, daemon, ids, SUBSCRIBERS)
        say(f"{WORK}: {alone:.1f} % of a core, with {SUBSCRIBERS} subscribers {heard:.1f} %")
        found.append((heard - alone, heard))
    return found


def stretch(context, daemon, ids, subscribers):
    """Returns the daemon's share of a core while it makes the events and sends them to that many subscribers."""
    turns = context.size(5, 3) * CALLS
    drain = subscribers and subprocess.Popen(
        [context.native("load"), "drain", daemon.path, str(subscribers), str(turns * TASKS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if drain:
        drain.stdin.write(line("events.subscribe", {"after": "now", "types": TYPES}))
        drain.stdin.close()
        drain.stdout.readline()
    meter = daemon.meter()
    produce(daemon, ids, turns)
    if drain:
        # It ends when every subscriber has had every event.
        drain.wait(timeout=120)
        drain.stdout.close()
    elapsed = time.monotonic() - meter.start
    return 100 * meter.end().cpu / max(turns / CALLS, elapsed)


def produce(daemon, ids, turns):
    start = time.monotonic()
    for turn in range(turns):
        time.sleep(max(0.0, start + turn / CALLS - time.monotonic()))
        daemon.call("task.resume" if turn % 2 else "task.pause", ids=ids)
