"""kill -9 at random moments, while clients add, pause, resume, cancel and wait at the same time."""
import random
import threading
import time

from bench.rpc import Refused
from torture.client import Client, Gone
from torture.problem import Problem, Violation, unique
from torture.scenario import KIB, RETRY, Piece
from torture.stage import Result, Stage

CLIENTS = 4
SIZES = [3 * KIB, 40 * KIB, 200 * KIB, 1300 * KIB]


class User(threading.Thread):
    """An independent client. It shares the ledger of the stage, but uses only its own names in it."""

    def __init__(self, stage, number, seed):
        super().__init__(daemon=True)
        self.stage, self.number = stage, number
        self.random = random.Random(f"{seed} {number}")
        self.is_over, self.count, self.mine, self.problems = threading.Event(), 0, [], []

    def run(self):
        while not self.is_over.is_set():
            try:
                client = Client(self.stage.victim.path)
                try:
                    while not self.is_over.is_set():
                        self.act(client)
                finally:
                    client.close()
            except Gone:
                self.is_over.wait(0.01)
            except Violation as violation:
                return self.problems.append(violation.problem)
            except Refused as refusal:
                return self.problems.append(Problem(7, f"client {self.number}: {refusal}"))

    def act(self, client):
        choice = self.random.random()
        if choice < 0.4 or not self.mine:
            return self.add(client)
        name = self.random.choice(self.mine[-12:])
        if choice < 0.55:
            self.change(client, "task.pause", "paused", name)
        elif choice < 0.8:
            self.change(client, "task.resume", "resumed", name)
        elif choice < 0.88:
            self.change(client, "task.cancel", "cancelled", name)
        else:
            state = client.call("task.get", id=self.stage.ledger.ids[name])["state"]
            if self.stage.ledger.has("cancelled", name) and state != "cancelled":
                raise Violation(f"{name} was cancelled and is {state}", 1)

    def add(self, client):
        ledger = self.stage.ledger
        name = f"{self.number}-{self.count}"
        if name not in self.stage.server.sizes:
            size = self.random.choice(SIZES) + self.random.randrange(1000)
            piece = Piece(name, size, session=self.random.choice(["firm", "loose"]), end="completed|cancelled")
            self.stage.server.sizes[name] = size
            self.stage.pieces.append(piece)
            self.piece = piece
        ledger.asks("added", name)
        answer = client.call("task.add", session=self.piece.session, tasks=[{
            "description": name, "clientToken": name, "url": f"{self.stage.server.url}/d/{name}", "connections": 1,
            "destination": {"path": str(self.stage.out / name)}}])
        ledger.ids[name] = answer["tasks"][0]["id"]
        ledger.told("added", name)
        self.mine.append(name)
        self.count += 1

    def change(self, client, method, fact, name):
        """Only the changes that the answer lists count as told."""
        self.stage.ledger.asks(fact, name)
        number = self.stage.ledger.ids[name]
        if number in client.call(method, ids=[number])["changed"] and fact == "cancelled":
            self.stage.ledger.told(fact, name)


def run(setup, seed, seconds):
    chance = random.Random(seed)
    stage = Stage(setup, pieces=[])
    victim, kills = stage.victim, 0
    users = [User(stage, number, seed) for number in range(CLIENTS)]
    deadline = time.monotonic() + seconds
    with stage.judged():
        stage.server.pause = 0.002
        opened = False
        while time.monotonic() < deadline:
            victim.start(attacked=False)
            if not opened:
                open_sessions(stage)
                for user in users:
                    user.start()
                opened = True
            watch(stage, chance.uniform(0.02, 0.7))
            if not victim.is_running:
                stage.report(f"it died by itself: {victim.log()}")
            victim.kill()
            kills += 1
            if kills % 5 == 0:
                stage.problems += stage.checker().after_death(quiet(stage, users))
        for user in users:
            user.is_over.set()
        for user in users:
            user.join(30)
            stage.problems += user.problems
        finish(stage)
        stage.problems += stage.checker().at_the_end(stage.ledger)
    count = len(stage.ledger.ids)
    stage.end()
    return Result(f"--only storm --seconds {seconds}", unique(stage.problems), True, f"{kills} kills, {count} tasks", count=kills)


def quiet(stage, users):
    """The ledger at a moment when nobody writes to it: the daemon is dead, so there are no more answers."""
    time.sleep(0.05)
    return stage.ledger


def open_sessions(stage):
    client = Client(stage.victim.path)
    for session, durability in (("firm", "full"), ("loose", "relaxed")):
        client.call("session.open", id=session, configuration={"durability": durability, "retry": RETRY})
    client.close()


def watch(stage, seconds):
    """Follows the event log from the last number, as one subscriber that names this number."""
    last = max(stage.ledger.seen, default=0)
    watcher = Client(stage.victim.path)
    try:
        watcher.call("events.subscribe", after=last if last else "start")
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for event in watcher.drain(min(left, 0.05)):
                number = event.get("sequence")
                if number is None:
                    continue
                if number != last + 1:
                    raise Violation(f"event {number} came after {last}", 5)
                last = number
                wrong = stage.ledger.see(event)
                if wrong:
                    raise Violation(wrong, 5)
    finally:
        watcher.close()


def finish(stage):
    stage.server.pause = 0
    stage.victim.start(attacked=False)
    client = Client(stage.victim.path)
    while True:
        client.call("task.resume", all=True)
        states = client.call("daemon.stats")["tasks"]
        if not sum(states[state] for state in ("queued", "running", "waiting", "paused")):
            break
        if states["failed"]:
            raise Violation(f"tasks failed: {states}", 7)
        watch(stage, 0.2)
    watch(stage, 0.3)
    # A task that was added without an answer exists too.
    cursor = {}
    while cursor is not None:
        page = client.call("task.list", limit=1000, **cursor)
        for task in page["tasks"]:
            if stage.ledger.has_tried("added", task["description"]):
                stage.ledger.ids.setdefault(task["description"], task["id"])
        cursor = {"cursor": page["nextCursor"]} if page.get("nextCursor") else None
    client.close()
    if stage.victim.stop() != 0:
        stage.report(f"it ended with {stage.victim.process.returncode}: {stage.victim.log()}")
