"""What a case of the attack on networks uses: a daemon, one task after another, and all events that arrive."""
import time

from torture.client import Client
from torture.origin import Origin, Resource
from torture.problem import Violation
from torture.scenario import KIB, RETRY, SECRET, Piece
from torture.stage import Stage

WAIT = 60.0
#: Seconds of silence after which a task's attempt ends, for a silent server and for all others. A busy machine is
#: silent for a while too.
SILENCE, PATIENCE = 2, 30
SIZE = 700 * KIB + 11
NAME = "file"


class Scene:
    """`more` are members of every task."""

    #: Everything that the running case created. It is ended in any case.
    made = []

    def __init__(self, setup, pieces, program=None, **more):
        self.stage = Stage(setup, pieces=pieces)
        if program:
            self.stage.victim.program = program
        self.more, self.origins, self.events = more, [], []
        self.client = self.watcher = None
        Scene.made.append(self)

    # The other side

    def origin(self, *script, kind=Origin, **more):
        self.origins.append(kind(script, **more))
        return self.origins[-1]

    # The daemon

    def start(self):
        self.stage.victim.start(attacked=False)
        self.client, self.watcher = Client(self.stage.victim.path), Client(self.stage.victim.path)
        self.client.call("session.open", id="firm", configuration={"durability": "full", "retry": RETRY})
        after = max(self.stage.ledger.seen, default=0)
        self.watcher.call("events.subscribe", after=after or "start")

    def restart(self):
        """kill -9, and a new daemon."""
        self.stage.victim.kill()
        self.stage.problems += self.stage.checker().after_death(self.stage.ledger)
        self.client.close()
        self.watcher.close()
        self.start()

    def end(self):
        for origin in self.origins:
            origin.end()
        for connection in (self.client, self.watcher):
            if connection:
                connection.close()
        self.stage.end()

    # Tasks

    def add(self, url, name=NAME, **more):
        ledger, piece = self.stage.ledger, next(piece for piece in self.stage.pieces if piece.name == name)
        spec = {"url": url, "description": name, "clientToken": name, "headers": [["X-Api-Key", SECRET]],
                "timeoutIntervalForRequest": PATIENCE, **self.more, **more}
        if piece.kind == "upload":
            spec |= {"kind": "upload", "source": {"path": str(self.stage.sources / name)}}
        else:
            spec["destination"] = {"path": str(self.stage.out / name)}
        ledger.asks("added", name)
        ledger.ids[name] = self.client.call("task.add", session="firm", tasks=[spec])["tasks"][0]["id"]
        ledger.told("added", name)

    def look(self, seconds=0.02):
        for event in self.watcher.drain(seconds):
            number = event.get("sequence")
            if number is None:
                continue
            expected = max(self.stage.ledger.seen, default=0) + 1
            if number != expected:
                raise Violation(f"event {number} came where {expected} was due", 5)
            wrong = self.stage.ledger.see(event)
            if wrong:
                raise Violation(wrong, 5)
            if SECRET in str(event):
                raise Violation(f"event {number} tells a secret", 6)
            self.events.append(event)

    def task(self, name=NAME):
        task = self.client.call("task.get", id=self.stage.ledger.ids[name])
        if SECRET in str(task):
            raise Violation("task.get tells a secret", 6)
        return task

    def await_state(self, *states, name=NAME, code=None, reason=None, seconds=WAIT):
        """Returns the task when it is in one of these states. Checks its `code` and `reason` if they are given."""
        deadline = time.monotonic() + seconds
        while (task := self.task(name))["state"] not in states:
            self.look()
            if task["state"] in ("failed", "completed", "cancelled") or time.monotonic() > deadline:
                said = task.get("error", {}).get("message"), task.get("reason")
                raise Violation(f"{name} is {task['state']} {said}, not {'|'.join(states)}", 7)
        if reason and task.get("reason") != reason:
            raise Violation(f"{name} waits for {task.get('reason')}, not for {reason}", 7)
        if code and task.get("error", {}).get("code") != code:
            raise Violation(f"{name} is {task['state']} for {task.get('error', {}).get('code')}, not for {code}", 7)
        return task

    def await_event(self, kind, code=None, reason=None, seconds=WAIT):
        """Returns an event of this type with these values, among those that have arrived or will."""
        deadline = time.monotonic() + seconds
        while True:
            for event in self.events:
                error = (event.get("error") or {}).get("code") or event.get("code")
                if event["type"] == kind and code in (None, error) and reason in (None, event.get("reason")):
                    return event
            if time.monotonic() > deadline:
                raise Violation(f"no {kind} of {code or reason} came, but {self.said()}", 7)
            self.look(0.05)

    def said(self):
        return [(event["type"], event.get("reason"), (event.get("error") or {}).get("code") or event.get("code"))
                for event in self.events][-8:]

    def until(self, holds, what, seconds=WAIT):
        deadline = time.monotonic() + seconds
        while not holds():
            self.look()
            if time.monotonic() > deadline:
                raise Violation(f"{what} does not come; {self.task()['state']}, {self.said()}", 7)

    # The end

    def judge(self):
        """Ends the daemon, and runs the checker on what it left."""
        self.look(0.1)
        if self.stage.victim.stop() != 0:
            self.stage.report(f"it ended with {self.stage.victim.process.returncode}: {self.stage.victim.log()}")
        self.stage.problems += self.stage.checker().at_the_end(self.stage.ledger)


def piece(end="completed", name=NAME, size=SIZE, **more):
    return Piece(name, size, end=end, **more)


def resource(**more):
    return Resource(NAME, more.pop("size", SIZE), **more)
