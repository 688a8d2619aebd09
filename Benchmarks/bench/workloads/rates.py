"""Measures how closely rate limits hold: the bytes of 5 s compared with the limit, also if the limit is changed while transfers
run. The daemon counts downloads, and the server counts uploads."""
import itertools
import time

from bench.sink import Sink

WINDOW = 5.0
SIZE = 4 << 30


def run(context):
    # A file of holes takes no disk space. Nothing reads it to its end.
    endless = context.work / "www" / "endless"
    with open(endless, "wb") as file:
        file.truncate(SIZE)
    url = context.nginx.origin("http") + "/endless"
    report(context, "download limits", context.each_build(lambda daemon: downloads(daemon, url)))
    report(context, "upload limits", context.each_build(lambda daemon: uploads(daemon, endless)))


def report(context, work, found):
    for what in found["dld"]:
        context.report.figure(work, what, {name: values[what] for name, values in found.items()}, "% off")


def downloads(daemon, url):
    names = itertools.count()
    return limits(
        daemon, "downloadRateLimit",
        lambda: {"url": url, "destination": {"path": str(daemon.folder / f"f{next(names)}")}},
        lambda tasks: sum(daemon.call("task.get", id=task)["bytesReceived"] for task in tasks))


def uploads(daemon, source):
    with Sink() as sink:
        return limits(
            daemon, "uploadRateLimit",
            lambda: {"kind": "upload", "url": sink.url, "source": {"path": str(source)}, "uploadProtocol": "put"},
            lambda tasks: sink.received)


def limits(daemon, name, spec, moved):
    """Returns the deviation in each window. `moved` returns the bytes that tasks have transferred so far."""
    found = {}

    def add(count, session=None, **more):
        return [task["id"] for task in daemon.call(
            "task.add", tasks=[{**spec(), **more} for _ in range(count)],
            **({"session": session} if session else {}))["tasks"]]

    def measure(what, tasks, limit):
        found[f"{what}, {limit / 1e6:g} MB/s"] = deviation(lambda: moved(tasks), limit)

    tasks = add(1, rateLimit=2_000_000)
    measure("one task", tasks, 2_000_000)
    daemon.call("task.update", id=tasks[0], rateLimit=20_000_000)
    measure("one task, raised while running", tasks, 20_000_000)
    daemon.call("task.cancel", all=True)
    daemon.call("session.open", id="s", configuration={name: 8_000_000})
    tasks = add(3, session="s")
    measure("a session of 3 tasks", tasks, 8_000_000)
    daemon.call("session.open", id="s", configuration={name: 3_000_000})
    measure("a session, lowered while running", tasks, 3_000_000)
    daemon.call("task.cancel", all=True)
    daemon.call("settings.set", **{name: 10_000_000})
    measure("everything, 5 tasks", add(5), 10_000_000)
    daemon.call("task.cancel", all=True)
    return found


def deviation(moved, limit):
    # After this time, the bucket's burst and the bytes in flight under the old limit are over.
    time.sleep(1)
    before, start = moved(), time.monotonic()
    time.sleep(WINDOW)
    after, end = moved(), time.monotonic()
    return 100 * ((after - before) / (end - start) / limit - 1)
