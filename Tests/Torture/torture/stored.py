"""Sessions that end with their connection, and the cache that survives them: its content may be lost, but never
wrong."""
import base64
import time

from torture.problem import Violation
from torture.servers import SECRET, versioned

WAIT = 40.0


class Stored:
    """A step of the scenario. A client of a new daemon repeats all of it."""

    def __init__(self, scenario):
        self.scenario = scenario

    def run(self):
        for session, asks in (("brief", []), ("weighing", ["cache"])):
            self.scenario.ask("session.open", id=session, kind="default", configuration={"asks": asks})
        for name in ("page", "blob", "moody"):
            self.load(name, first=True)
            self.load(name)
        own = [["Authorization", f"Bearer {SECRET}"]]
        # With a password, or if the client said so, the answer is only in memory. Another daemon does not have it.
        for name, more in (("own", {"headers": own}), ("choice", {"session": "weighing"})):
            self.load(name, first=True, is_new=True, **more)
            self.load(name, **more)
        self.remove_stored()
        self.load("page", first=True)

    def remove_stored(self):
        if self.scenario.ledger.has("unstored", "page"):
            return
        # The versions that had been sent by then must not come back.
        gone = self.scenario.server.versions["page"]
        self.scenario.ledger.asks("unstored", "page")
        self.scenario.ask("cache.remove", url=f"{self.scenario.server.url}/c/page")
        self.scenario.ledger.told("unstored", "page")
        self.scenario.ledger.unstored = gone

    def load(self, name, first=False, is_new=False, session="brief", **more):
        number = self.scenario.ask("task.add", session=session, tasks=[
            {"kind": "data", "url": f"{self.scenario.server.url}/c/{name}", "description": f"stored {name}", **more}])["tasks"][0]["id"]
        task = self.await_volatile(number)
        if task["state"] != "completed":
            raise Violation(f"{name} is {task['state']}: {task.get('error')}", 7)
        response, body = task["response"], base64.b64decode(self.scenario.ask("task.body", id=number)["data"])
        fields = {field.lower(): value for field, value in response["headers"]}
        version, is_stored = int(fields["x-version"]), bool(response.get("fromCache"))
        if body != versioned(name, version):
            raise Violation(f"{name}: version {version} with another body, {'stored' if is_stored else 'fetched'}", 2)
        if is_stored and (name == "moody" or first and is_new):
            raise Violation(f"{name} is answered from what must not be stored", 2)
        if is_stored and name == "page" and version <= self.scenario.ledger.unstored:
            raise Violation(f"{name}: version {version} was removed and is back", 1)
        if not first and name != "moody" and not is_stored:
            raise Violation(f"{name} was fetched again, though it is fresh", 7)

    def await_volatile(self, number):
        deadline = time.monotonic() + WAIT
        while True:
            task = self.scenario.ask("task.get", id=number)
            if task["state"] in ("completed", "failed", "cancelled"):
                return task
            for question in self.scenario.ask("decision.list", tasks=[number])["decisions"]:
                self.scenario.ask("decision.answer", id=question["decision"], action="memoryOnly")
            self.scenario.look(0.005)
            if time.monotonic() > deadline:
                raise Violation(f"volatile task {number} does not end: {task}", 7)
