"""How closely rate limits hold: bytes that arrive in 5 s against what the limit allows, also where it is changed while
transfers run."""
import itertools
import time

WINDOW = 5.0
SIZE = 4 << 30
WORK = "rate limits"


def run(context):
    # Holes cost no disk; nobody reads it to its end.
    with open(context.work / "www" / "endless", "wb") as file:
        file.truncate(SIZE)
    url = context.nginx.origin("http") + "/endless"
    found = context.each_build(lambda daemon: one(daemon, url))
    for what in found["dld"]:
        context.report.figure(WORK, what, {name: values[what] for name, values in found.items()}, "% off")


def one(daemon, url):
    names, found = itertools.count(), {}

    def add(count, session=None, **more):
        specs = [{"url": url, "destination": {"path": str(daemon.folder / f"f{next(names)}")}, **more}
                 for _ in range(count)]
        return [task["id"] for task in daemon.call(
            "task.add", tasks=specs, **({"session": session} if session else {}))["tasks"]]

    def measure(what, tasks, limit):
        found[f"{what}, {limit / 1e6:g} MB/s"] = deviation(daemon, tasks, limit)

    tasks = add(1, rateLimit=2_000_000)
    measure("one task", tasks, 2_000_000)
    daemon.call("task.update", id=tasks[0], rateLimit=20_000_000)
    measure("one task, raised while running", tasks, 20_000_000)
    daemon.call("task.cancel", all=True)
    daemon.call("session.open", id="s", configuration={"downloadRateLimit": 8_000_000})
    tasks = add(3, session="s")
    measure("a session of 3 tasks", tasks, 8_000_000)
    daemon.call("session.open", id="s", configuration={"downloadRateLimit": 3_000_000})
    measure("a session, lowered while running", tasks, 3_000_000)
    daemon.call("task.cancel", all=True)
    daemon.call("settings.set", downloadRateLimit=10_000_000)
    measure("everything, 5 tasks", add(5), 10_000_000)
    daemon.call("task.cancel", all=True)
    return found


def deviation(daemon, tasks, limit):
    # The bucket's burst and the old limit's bytes in flight are over after this.
    time.sleep(1)
    before, start = received(daemon, tasks), time.monotonic()
    time.sleep(WINDOW)
    after, end = received(daemon, tasks), time.monotonic()
    return 100 * ((after - before) / (end - start) / limit - 1)


def received(daemon, tasks):
    return sum(daemon.call("task.get", id=task)["bytesReceived"] for task in tasks)
