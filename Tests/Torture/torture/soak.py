"""A long day in a short time: mixed work on one daemon, whose use of the machine's resources must not grow."""
import os
import random
import statistics
import threading
import time

from bench.rpc import Refused
from torture import answers
from torture.client import Client, Gone
from torture.content import content, digest, file_digest
from torture.origin import Origin
from torture.problem import Problem, unique
from torture.scenario import KIB, RETRY
from torture.stage import Result, Stage

#: Seconds between two samples, and seconds of a run with a planted leak.
EACH, PLANTED_SECONDS = 0.5, 30
#: The share of the run that is warm-up: pools fill, caches are created, the log reaches its usual size.
WARM_UP = 0.35
#: The planted defects, see native/faults.c.
PLANTS = ["leaked-memory", "leaked-descriptors"]
#: Resource -> (its allowed growth in an hour of this work, in its own unit, and the least allowance of a run). New
#: threads start when many calls wait together for the first time, and stay. This happens late, but never beyond the
#: width of the pools.
LIMITS = {"memory KiB": (40_000, 4_000), "descriptors": (60, 8), "threads": (30, 16), "database KiB": (24_000, 3_000),
          "log KiB": (24_000, 6_000)}
WORKERS = 5
#: Seconds for which a task of a failing host is watched.
PATIENCE = 2.0
HISTORY = "20s"
SIZES = [1, 3 * KIB, 60 * KIB, 400 * KIB, 3000 * KIB, 12_000 * KIB]
ENDED = {"completed", "failed", "cancelled"}


class Gauges:
    """Measures the resources of the daemon."""

    def __init__(self, stage):
        self.pid, self.state = stage.victim.pid, stage.state
        self.samples = []

    def read(self):
        status = dict(line.split(":", 1) for line in open(f"/proc/{self.pid}/status"))
        files = {name: (self.state / name).stat().st_size // KIB for name in ("dld.sqlite", "dld.sqlite-wal")}
        self.samples.append({
            "time": time.monotonic(), "memory KiB": int(status["RssAnon"].split()[0]), "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")), "database KiB": files["dld.sqlite"],
            "log KiB": files["dld.sqlite-wal"]})

    def verdicts(self):
        """(name, median at the start, at the end, slope per hour, whether that is too much) of all resources after
        the warm-up."""
        warm = self.samples[int(len(self.samples) * WARM_UP):]
        seconds = max(1.0, warm[-1]["time"] - warm[0]["time"])
        for name, (hourly, least) in LIMITS.items():
            values = [(sample["time"], sample[name]) for sample in warm]
            slope = theil_sen(values)
            third = max(1, len(values) // 5)
            start = statistics.median(value for _, value in values[:third])
            end = statistics.median(value for _, value in values[-third:])
            grown = slope * seconds
            yield name, start, end, slope * 3600, grown > max(least, hourly * seconds / 3600) and end > start


def theil_sen(points, most=300):
    """The median of the slopes between all pairs, per second. A few peaks do not change it."""
    step = max(1, len(points) // most)
    points = points[::step]
    slopes = [(value - before) / (at - then) for index, (at, value) in enumerate(points)
              for then, before in points[:index] if at > then]
    return statistics.median(slopes) if slopes else 0.0


class Worker(threading.Thread):
    """Does one thing after another, as the seed says, and removes what it created."""

    def __init__(self, soak, number):
        super().__init__(daemon=True)
        self.soak, self.number = soak, number
        self.random = random.Random(f"soak {soak.seed} {number}")
        self.count, self.problems = 0, []

    def run(self):
        client = Client(self.soak.stage.victim.path)
        kinds = [self.download, self.download, self.segmented, self.upload, self.pause, self.cancel, self.subscribe, self.listing,
                 self.failing, self.data]
        while not self.soak.is_over.is_set() and not self.problems:
            try:
                self.random.choice(kinds)(client)
                self.count += 1
            except Gone as gone:
                self.problems.append(Problem(0, f"it died or does not answer: {gone}"))
            except Refused as refusal:
                self.problems.append(Problem(7, f"refused: {refusal}"))
        client.close()

    # Small parts

    def add(self, client, url, **more):
        self.name = f"{self.number}-{self.count}"
        spec = {"url": url, "timeoutIntervalForRequest": 10, **more}
        if spec.get("kind", "download") == "download":
            spec["destination"] = {"path": str(self.soak.stage.out / self.name)}
        return client.call("task.add", session="firm", tasks=[spec])["tasks"][0]["id"]

    def file(self):
        """An address and its content."""
        size = self.random.choice(SIZES)
        return f"{self.soak.stage.server.url}/d/{self.soak.file(size)}", self.soak.file(size), size

    def wait(self, client, number, states=ENDED, seconds=120):
        deadline = time.monotonic() + seconds
        while (task := client.call("task.get", id=number))["state"] not in states:
            if time.monotonic() > deadline:
                self.problems.append(Problem(7, f"task {number} stays {task['state']}: {task.get('error')}"))
                return task
            if self.soak.is_over.wait(0.02) and time.monotonic() > self.soak.ends + 60:
                return task
        return task

    def clear(self, client, number, **more):
        client.call("task.remove", ids=[number], **more)

    def complete(self, client, number, wanted):
        task = self.wait(client, number)
        if task["state"] != "completed":
            return self.problems.append(Problem(7, f"task {number} is {task['state']}: {task.get('error')}"))
        file = self.soak.stage.out / self.name
        if file_digest(file) != wanted:
            self.problems.append(Problem(2, f"{self.name} has wrong bytes"))
        if self.random.random() < 0.5:
            return self.clear(client, number, deleteFile=True)
        # Left to the history, whose retention removes it.
        file.unlink()

    # What is done

    def download(self, client):
        url, name, size = self.file()
        self.complete(client, self.add(client, url, connections=1), digest(content(name, size)))

    def segmented(self, client):
        url, name, size = self.file()
        self.complete(client, self.add(client, url, connections=4), digest(content(name, size)))

    def upload(self, client):
        size = self.random.choice(SIZES[:5])
        name = self.soak.file(size)
        source = self.soak.stage.sources / name
        protocol = self.random.choice(["put", "tus"])
        number = self.add(client, f"{self.soak.stage.server.url}/{protocol}/{name}", kind="upload", uploadProtocol=protocol,
                          source={"path": str(source)})
        task = self.wait(client, number)
        if task["state"] != "completed":
            self.problems.append(Problem(7, f"upload {number} is {task['state']}: {task.get('error')}"))
        self.soak.forget_bodies()
        self.clear(client, number)

    def pause(self, client):
        url, name, size = self.file()
        number = self.add(client, url)
        for _ in range(self.random.randrange(1, 4)):
            client.call("task.pause", ids=[number])
            client.call("task.resume", ids=[number])
        self.complete(client, number, digest(content(name, size)))

    def cancel(self, client):
        url, *_ = self.file()
        number = self.add(client, url)
        client.call("task.cancel", ids=[number])
        self.wait(client, number)
        self.clear(client, number, deleteFile=True)

    def subscribe(self, client):
        """Another connection, which follows for a while and then closes."""
        other = Client(self.soak.stage.victim.path)
        name = f"reader-{self.random.randrange(4)}"
        other.call("events.subscribe", subscriber=name)
        events = [event for event in other.drain(0.2) if event.get("sequence")]
        if events:
            other.call("events.ack", subscriber=name, sequence=events[-1]["sequence"])
        other.close()

    def listing(self, client):
        client.call("task.list", limit=200)
        client.call("events.list", after=0, limit=200)
        client.call("daemon.stats")
        client.call("session.list")

    def failing(self, client):
        """A host that refuses, resets or has no file."""
        url = self.random.choice(self.soak.bad)
        number = self.add(client, url, retry={"attempts": 3, "firstDelay": 0.02, "longestDelay": 0.05})
        deadline = time.monotonic() + PATIENCE
        while (state := client.call("task.get", id=number)["state"]) not in ENDED and time.monotonic() < deadline:
            self.soak.is_over.wait(0.05)
        if state == "completed":
            self.problems.append(Problem(2, f"task {number} is completed although its host fails"))
        # Tasks of a failing host are delayed. Later ones wait for their turn, up to minutes.
        client.call("task.cancel", ids=[number])
        self.clear(client, number)

    def data(self, client):
        number = self.add(client, f"{self.soak.stage.server.url}/d/{self.soak.file(KIB)}", kind="data")
        if self.wait(client, number)["state"] == "completed":
            client.call("task.body", id=number)
        self.clear(client, number)


class Soak:
    def __init__(self, setup, seed, seconds, plant=None):
        self.seed, self.seconds, self.is_over = seed, seconds, threading.Event()
        # `historyRetention` keeps the database from growing. It is short, so that it has work to do.
        self.stage = Stage(setup, pieces=[], settings={"historyRetention": HISTORY, "eventRetention": HISTORY})
        if plant:
            self.stage.control.plant(plant)
        self.ends = time.monotonic() + seconds
        self.bad = []
        for size in (*SIZES, KIB):
            self.stage.server.sizes[self.file(size)] = size
            (self.stage.sources / self.file(size)).write_bytes(content(self.file(size), size))

    def file(self, size):
        return f"file-{size}"

    def forget_bodies(self):
        self.stage.server.bodies.clear()
        if len(self.stage.server.uploads) > 200:
            for number in list(self.stage.server.uploads)[:100]:
                self.stage.server.uploads.pop(number, None)

    def hosts(self):
        """Servers that fail in different ways. One of them comes and goes."""
        scripts = [[answers.reset], [answers.raw(b"")], [lambda reply: reply.answer(404)], [lambda reply: reply.answer(500)]]
        origins = [Origin(script) for script in scripts]
        gone = Origin([answers.reset])
        gone.end()
        self.bad = [origin.url for origin in [*origins, gone]]
        return origins

    def run(self):
        origins = self.hosts()
        problems = []
        self.stage.victim.start(attacked=True)
        client = Client(self.stage.victim.path)
        client.call("session.open", id="firm", configuration={"retry": RETRY})
        gauges = Gauges(self.stage)
        workers = [Worker(self, number) for number in range(WORKERS)]
        for worker in workers:
            worker.start()
        while time.monotonic() < self.ends and not any(worker.problems for worker in workers):
            time.sleep(EACH)
            gauges.read()
            if len(gauges.samples) % 40 == 0:
                self.restart_servers(origins)
        self.is_over.set()
        for worker in workers:
            worker.join(150)
            problems += worker.problems
        for origin in origins:
            origin.end()
        client.close()
        if self.stage.victim.stop() != 0:
            problems.append(Problem(0, f"it ended with {self.stage.victim.process.returncode}: {self.stage.victim.log()}"))
        return gauges, problems, sum(worker.count for worker in workers)

    def restart_servers(self, origins):
        """One of the failing hosts stops, and starts again at the same port."""
        origin = origins.pop(0)
        origin.end()
        origins.append(Origin(origin.script, port=origin.port))


def run(setup, seed, seconds, plant=None):
    """A Result whose note is the table."""
    soak = Soak(setup, seed, seconds, plant)
    problems, note, count = [], "", 0
    try:
        with soak.stage.judged():
            gauges, problems, count = soak.run()
            rows = list(gauges.verdicts())
            note = "\n".join(["", f"{count} pieces of work in {seconds:.0f} s", "", "| figure | start | end | an hour |",
                              "|---|---|---|---|", *(f"| {name} | {start:,.0f} | {end:,.0f} | {hourly:+,.0f} |"
                                                     for name, start, end, hourly, _ in rows), ""])
            problems += [Problem(8, f"{name} grows: {start:,.0f} to {end:,.0f}, {hourly:+,.0f} an hour")
                         for name, start, end, hourly, is_too_much in rows if is_too_much]
    finally:
        soak.is_over.set()
        soak.stage.end()
    return Result(f"--only soak --seconds {seconds:.0f}", unique(problems + soak.stage.problems), True, note)
