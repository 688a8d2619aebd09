"""Measures a queue of a million tasks: adding, listing, claiming, finishing, starting the daemon, removing, and memory."""
import statistics
import threading
import time

from bench import bars
from bench.content import make_file
from bench.daemon import SyncCounters
from bench.dld import BATCH
from bench.flushes import FLUSH_MILLISECONDS, add_row
from bench.measure import Failed, memory
from bench.queue_filling import Filling, alone, blocked, released
from bench.rpc import line
from bench.servers import GENERATED, SlowServer

#: The number of calls of `BATCH` tasks that are unanswered at a time.
IN_FLIGHT = 8
WORK = "1,000,000 queued"


def run(context):
    trickle = context.work / "trickle"
    make_file(trickle, 1 << 20)
    count = context.size(1_000_000, 100_000)
    with SlowServer(context.native, trickle, 1, 1000) as server:
        found = {build.name: one_build(context, build, server, count) for build in context.builds}
        for what, unit, bar in ROWS:
            values = {name: figures[what] for name, figures in found.items() if what in figures}
            if "dld" in values:
                context.report.figure(WORK, what, values, unit, bar)
        flushes(context, server)


#: The measurements, in the order of the table.
ROWS = [
    ("task.add, calls of 1,000 in flight", "tasks/s", bars.QUEUE_ADD_IN_FLIGHT),
    ("the same, the last tenth", "tasks/s", None),
    ("task.add, one call of 1,000 at a time", "tasks/s", bars.QUEUE_ADD_ONE_CALL),
    ("task.add of one task, 64 calls in flight", "tasks/s", None),
    ("task.add of one task, median", "ms", None),
    ("processor for each task added", "µs", None),
    ("resident memory more than empty", "MB", bars.QUEUE_MEMORY),
    ("the same after a restart", "MB", bars.QUEUE_MEMORY),
    ("task.list, first page, median", "ms", bars.QUEUE_LIST),
    ("task.list, pages by cursor, median", "ms", bars.QUEUE_LIST),
    ("task.list, queued, page of 1,000, median", "ms", None),
    ("claim: from one end to the next start, median", "ms", bars.QUEUE_CLAIM),
    ("the same with 1,000 queued", "ms", None),
    ("finishing, 63 at a time", "tasks/s", None),
    ("the same with an else empty queue", "tasks/s", None),
    ("start-up to READY", "s", bars.QUEUE_READY),
    ("task.cancel of all", "s", None),
    ("task.remove of all", "s", None),
    ("longest daemon.info meanwhile", "ms", None),
    ("database, full", "MB", None),
    ("database, 5 s after removing all", "MB", None),
]


def one_build(context, build, server, count):
    figures = {}
    finishing = context.size(5_000, 1_000)
    with context.start(build, 1) as daemon:
        filling = Filling(daemon, context.nginx.origin("http"), context.out())
        time.sleep(1)
        empty = memory(daemon.pid)
        blocked(daemon, server)
        claim(figures, "the same with 1,000 queued", daemon, filling, server, extra=1_000)
        finish(figures, "the same with an else empty queue", daemon, filling, finishing, extra=finishing)
        add(figures, daemon, filling, count)
        time.sleep(3)
        figures["resident memory more than empty"] = (memory(daemon.pid) - empty) / 1e6
        list_pages(figures, daemon)
        claim(figures, "claim: from one end to the next start, median", daemon, filling, server)
        finish(figures, "finishing, 63 at a time", daemon, filling, finishing)
        restart(figures, daemon, empty)
        remove_all(figures, daemon)
    return figures


def add(figures, daemon, filling, count):
    tenth = count // 10
    meter = daemon.meter()
    # The lines of each tenth are prepared before its clock starts.
    seconds = [daemon.connection.pipeline(filling.calls(tenth), IN_FLIGHT) for _ in range(10)]
    figures["processor for each task added"] = meter.end().cpu / count * 1e6
    figures["task.add, calls of 1,000 in flight"] = count / sum(seconds)
    figures["the same, the last tenth"] = tenth / seconds[-1]
    figures["task.add, one call of 1,000 at a time"] = tenth / daemon.connection.pipeline(filling.calls(tenth), 1)
    figures["task.add of one task, 64 calls in flight"] = 5_000 / daemon.connection.pipeline(
        filling.calls(5_000, batch=1), 64)
    figures["task.add of one task, median"] = 1000 * median_time(
        daemon.connection, filling.calls(300, batch=1))


def median_time(connection, requests):
    times = []
    for request in requests:
        start = time.monotonic()
        connection.send(request)
        connection.answer()
        times.append(time.monotonic() - start)
    return statistics.median(times)


def list_pages(figures, daemon):
    figures["task.list, first page, median"] = 1000 * median_time(
        daemon.connection, [line("task.list", {})] * 50)
    figures["task.list, queued, page of 1,000, median"] = 1000 * median_time(
        daemon.connection, [line("task.list", {"states": ["queued"], "limit": 1000})] * 20)
    times, cursor = [], None
    for _ in range(50):
        start = time.monotonic()
        page = daemon.call("task.list", **({"cursor": cursor} if cursor else {}))
        times.append(time.monotonic() - start)
        cursor = page["nextCursor"]
    figures["task.list, pages by cursor, median"] = 1000 * statistics.median(times)


def claim(figures, name, daemon, filling, server, extra=0, count=200):
    """Lets `count` tasks run one after another."""
    if extra:
        daemon.connection.pipeline(filling.calls(extra), 1)
    gaps, ended = [], None
    endings = daemon.endings(types=["task.completed", "task.started", "task.failed"])
    released(daemon)
    while len(gaps) < count:
        for event in endings.connection.lines():
            if b'"task.completed"' in event:
                ended = time.monotonic()
            elif b'"task.started"' in event and ended:
                gaps.append(time.monotonic() - ended)
                ended = None
            elif b'"task.failed"' in event:
                raise Failed(event[:500].decode())
    blocked(daemon, server)
    endings.close()
    figures[name] = 1000 * statistics.median(gaps)


def finish(figures, name, daemon, filling, count, extra=0):
    """Lets `count` tasks run, 63 at a time, next to the one that holds a slot. Compares the delivered files."""
    if extra:
        daemon.connection.pipeline(filling.calls(extra), 1)
    endings = daemon.endings(types=["task.completed", "task.failed"])
    limits = {"maximumConcurrentTasks": 64, "maximumConcurrentTasksPerHost": 64}
    start = time.monotonic()
    daemon.call("settings.set", **limits)
    ended = endings.wait(count)
    daemon.call("settings.set", **dict.fromkeys(limits, 1))
    endings.close()
    figures[name] = count / (ended - start)
    alone(daemon)
    delivered = [path for path in filling.folder.iterdir() if not path.name.startswith(".")]
    if len(delivered) < count or any(path.read_text() != GENERATED for path in delivered[:count]):
        raise Failed(f"only {len(delivered)} of {count} files are right")


def restart(figures, daemon, empty):
    daemon.stop()
    daemon.start()
    figures["start-up to READY"] = daemon.ready_after
    time.sleep(2)
    figures["the same after a restart"] = (memory(daemon.pid) - empty) / 1e6


def remove_all(figures, daemon):
    times, over = [], threading.Event()
    size = lambda: sum(path.stat().st_size for path in daemon.state.glob("*.sqlite*")) / 1e6
    figures["database, full"] = size()
    thread = threading.Thread(target=ask, args=(daemon, times, over))
    thread.start()
    try:
        for method in ("task.cancel", "task.remove"):
            start = time.monotonic()
            whole(daemon, method)
            figures[f"{method} of all"] = time.monotonic() - start
        time.sleep(5)
    finally:
        over.set()
        thread.join()
    figures["longest daemon.info meanwhile"] = 1000 * max(times)
    figures["database, 5 s after removing all"] = size()


def whole(daemon, method):
    """Makes a call whose answer names every task. The answer is too long to be decoded here."""
    connection = daemon.connect()
    connection.send(line(method, {"all": True}))
    begin = connection.lines()[0][:200]
    connection.close()
    if b'"error"' in begin:
        raise Failed(begin.decode())


def ask(daemon, times, over):
    connection = daemon.connect()
    while not over.wait(0.02):
        start = time.monotonic()
        connection.call("daemon.info")
        times.append(time.monotonic() - start)
    connection.close()


def flushes(context, server):
    """Measures durable adding: the flushes of 100 calls with 1,000 tasks each, and the time with slow flushes."""
    walls, counts = [], []
    count = context.size(100_000, 20_000)
    for milliseconds in (0, FLUSH_MILLISECONDS):
        counters = SyncCounters(context.native, context.scratch("flushes"), milliseconds)
        with context.start(context.builds[0], 1, counters.environment) as daemon:
            blocked(daemon, server)
            filling = Filling(daemon, context.nginx.origin("http"), context.out())
            before = counters.read()
            walls.append(daemon.connection.pipeline(filling.calls(count), IN_FLIGHT))
            counts.append({name: value - before[name] for name, value in counters.read().items()})
    add_row(context, f"{count // BATCH} task.add of 1,000", counts[0], walls[0], counts[1], walls[1])
