"""A little of everything that a daemon does, in steps that can be continued after it died at any of them."""
import base64
import dataclasses
import time

from bench.rpc import Refused
from torture.client import Client, Gone
from torture.content import content, digest
from torture.problem import Violation
from torture.servers import SECRET
from torture.stored import Stored

SUBSCRIBER = "torture"
KIB = 1 << 10
WAIT = 40.0
DISK_CODES = ("disk.full", "disk.quota", "disk.io")
#: Sessions whose tasks ask, with the kind of question and the answer.
ASKING = {"redirect": ("redirect", "follow"), "elsewhere": ("redirect", "followWith"),
          "response": ("response", "allow"), "saved": ("response", "becomeDownload"), "stranger": ("challenge", "trust")}
#: The first component of the URLs of these sessions' tasks (/PLACE/NAME). All others request /d/NAME.
PLACES = {"redirect": "led", "elsewhere": "astray", "crumbs": "crumb", "vault": "vault", "helped": "helped", "refused": "refused"}
RETRY = {"firstDelay": 0.05, "longestDelay": 0.2}
#: The pieces that are paused when half of their bytes have arrived.
HELD = ("big", "moved", "piped")


@dataclasses.dataclass(frozen=True)
class Piece:
    """A task of the scenario, and how it must end."""

    name: str
    size: int
    kind: str = "download"
    session: str = "firm"
    end: str = "completed"
    #: The number of bytes after which the server waits.
    hold: int = 0
    #: The content that may be under the final name before the delivery.
    before: bytes = b""
    more: dict = dataclasses.field(default_factory=dict)
    #: The content that must arrive, if it does not follow from the name.
    data: bytes = b""
    #: The destination changes when half of the file has arrived.
    is_moved: bool = False
    #: The task is added after all others have ended.
    is_late: bool = False
    #: The destination is only a folder: the name comes from the URL.
    is_nameless: bool = False
    #: The scheme of the helper that serves the piece in place of http.
    scheme: str = "http"

    @property
    def is_firm(self):
        return self.session != "loose"

    @property
    def sha(self):
        return digest(self.data or content(self.name, self.size))


#: The content under a final name before its task replaces it.
OLD = content("what was there before", 7000)
#: A tuple, so that attacks with their own tasks cannot add them here.
PIECES = (
    Piece("big", 3000 * KIB + 17, hold=1600 * KIB, more={"connections": 1}),
    Piece("doomed", 900 * KIB, hold=500 * KIB, end="cancelled", more={"connections": 1}),
    Piece("never", 10 * KIB, end="cancelled", more={"startPaused": True}),
    Piece("moved", 2200 * KIB + 3, hold=1700 * KIB, more={"connections": 1}, is_moved=True),
    Piece("parts", 2500 * KIB + 5, more={"connections": 3}),
    Piece("tiny", 4 * KIB, more={"headers": [["X-Api-Key", SECRET]]}),
    Piece("gone", 5 * KIB, end="removed"),
    Piece("replaced", 6 * KIB, before=OLD, more={"conflictPolicy": "overwrite"}),
    Piece("shelved", 7 * KIB, before=OLD, more={"conflictPolicy": "overwrite"}, is_nameless=True),
    Piece("middle", 200 * KIB + 3),
    Piece("packed", 170 * KIB + 1),  # It comes coded, and is decoded beside its part file before it is delivered.
    Piece("loose-tiny", 4 * KIB + 1, session="loose"),
    Piece("loose-middle", 300 * KIB + 1, session="loose"),
    Piece("put", 1500 * KIB + 9, kind="upload", more={"uploadProtocol": "put"}),
    Piece("kept", 20 * KIB, kind="upload", more={"uploadProtocol": "put"}),
    Piece("tus", 2100 * KIB + 1, kind="upload", more={"uploadProtocol": "tus"}),
    # Each asks one question.
    Piece("led", 40 * KIB + 1, session="redirect"),
    Piece("weighed", 150 * KIB + 1, session="response"),
    Piece("turned", 30 * KIB + 1, session="elsewhere"),
    Piece("saved", 90 * KIB + 1, session="saved"),
    # The certificate of its server is not trusted.
    Piece("trusted", 25 * KIB + 1, session="stranger"),
    # Gets a cookie on the way, and needs it for the file.
    Piece("crumbs", 20 * KIB + 1, session="crumbs"),
    # The host asks for https only.
    Piece("sworn", 15 * KIB + 1, session="sworn"),
    Piece("asked", 100, kind="data", more={"username": "somebody", "password": SECRET}),
    # Each needs a password: from the store, from the helper, and one that the server refuses.
    Piece("vaulted", 60 * KIB + 1, session="vault"),
    Piece("unsealed", 8 * KIB + 1, session="helped"),
    Piece("denied", 3 * KIB + 1, session="refused", end="failed"),
    # With helper programs: through a pipe, into the part file, from a program that dies in the middle, and as an upload.
    Piece("piped", 1200 * KIB + 7, session="pool", hold=600 * KIB, more={"connections": 1}, scheme="many"),
    Piece("frail-many", 700 * KIB + 1, session="pool", scheme="many"),
    Piece("frail-one", 800 * KIB + 3, session="pool", scheme="one"),
    Piece("given", 1300 * KIB + 1, kind="upload", session="pool", more={"uploadProtocol": "put"}, scheme="many"),
    Piece("handed", 30 * KIB + 1, kind="upload", session="pool", more={"uploadProtocol": "put"}, scheme="one"),
    # Added after the server has refused: the password must not be sent again.
    Piece("denied-too", 3 * KIB + 2, session="refused", end="failed", is_late=True),
    # Added after its owner has trusted the key for good: nobody is asked.
    Piece("trusted-too", 12 * KIB + 1, session="stranger", is_late=True),
)
#: The stored passwords, by realm.
KEPT = {"vault": SECRET, "refused": f"{SECRET}-old"}
#: Knows the password of one host.
HELPER = f"""#!/bin/sh
if grep -q '^host=localhost' && [ "$1" = get ]; then printf 'username=somebody\\npassword={SECRET}-helped\\n'; fi
"""
BY_NAME = {piece.name: piece for piece in PIECES}


def prepare(out, sources, server, pieces, far):
    """Creates the files that exist before the daemon starts."""
    for folder in (out, sources, far):
        folder.mkdir(parents=True, exist_ok=True)
    for piece in pieces:
        if piece.before:
            (out / piece.name).write_bytes(piece.before)
        server.sizes[piece.name] = piece.size
        if piece.kind == "upload":
            (sources / piece.name).write_bytes(content(piece.name, piece.size))


class Scenario:
    def __init__(self, server, out, sources, ledger, pieces=PIECES, far=None):
        self.server, self.out, self.sources, self.ledger = server, out, sources, ledger
        #: The destination of moved files.
        self.far = far or out
        self.pieces = pieces
        self.client = self.watcher = None
        self.expected = None
        #: Whether waiting any longer is useless.
        self.interrupted = lambda: False
        #: Whether to try again after an answer about a disk failure.
        self.is_patient = False
        #: The codes of such answers.
        self.refused = set()

    def run(self, path):
        """Continues where the last run stopped according to the ledger. Raises `Gone` or `Violation`."""
        for piece in self.pieces:
            if piece.hold and not self.ledger.has_tried("resumed", piece.name):
                self.server.holds[piece.name] = piece.hold
        self.client, self.watcher = Client(path), Client(path)
        try:
            self.open()
            self.keep()
            self.add()
            self.pause()
            self.move()
            self.cancel()
            self.decide()
            self.acknowledge()
            if self.pieces is PIECES:
                Stored(self).run()
            self.resume()
            self.finish()
            self.ask_again()
            self.fetch()
            self.remove()
            self.acknowledge()
        finally:
            self.close()

    def close(self):
        self.client.close()
        self.watcher.close()

    def ask(self, method, client=None, **parameters):
        """Returns the answer. Tries again if the disk prevents the answer and this is expected."""
        deadline = time.monotonic() + WAIT
        while True:
            try:
                return (client or self.client).call(method, **parameters)
            except Refused as refusal:
                if not self.is_patient or refusal.code not in DISK_CODES or time.monotonic() > deadline:
                    raise
                self.refused.add(refusal.code)
                time.sleep(0.03)

    # Steps

    def open(self):
        for session, durability in (("firm", "full"), ("loose", "relaxed")):
            self.ask("session.open", id=session, configuration={"durability": durability, "retry": RETRY, "directory": str(self.out)})
        for session, (kind, _) in ASKING.items():
            self.ask("session.open", id=session, configuration={"asks": [kind], "retry": RETRY})
        self.ask("session.open", id="crumbs", configuration={"httpCookieStorage": "shared", "retry": RETRY})
        for session in ("vault", "helped", "refused", "pool"):
            self.ask("session.open", id=session, configuration={"retry": RETRY})
        self.ask("session.open", id="sworn", configuration={"hsts": True, "caFile": self.server.certificates.authority_file, "retry": RETRY})
        known = self.ledger.began
        lowest, highest = self.ledger.acked, self.ledger.acked_at_most
        head = self.ask("events.subscribe", self.watcher, subscriber=SUBSCRIBER)["head"]
        if known is None:
            # An earlier subscription that was not answered may have begun at an earlier head.
            self.ledger.began, self.ledger.began_at, self.expected = head, self.ledger.mark(), None
        else:
            self.expected = range(lowest + 1, highest + 2)

    def keep(self):
        """Sets credentials by realm. An acknowledged one is durable and not set again, because it may have been
        refused since."""
        for realm, password in KEPT.items():
            if not self.needs(realm) or self.ledger.has("kept", realm):
                continue
            self.ledger.asks("kept", realm)
            self.ask("credentials.set", protectionSpace={**self.server.space, "realm": realm},
                     credential={"username": "somebody", "password": password, "persistence": "permanent"})
            self.ledger.told("kept", realm)

    def needs(self, session):
        return any(piece.session == session for piece in self.pieces)

    def add(self, late=False):
        for piece in self.pieces:
            if piece.is_late == late and not self.ledger.has("added", piece.name):
                self.ledger.asks("added", piece.name)
                answer = self.ask("task.add", session=piece.session, tasks=[self.spec(piece)])
                self.ledger.ids[piece.name] = answer["tasks"][0]["id"]
                self.ledger.told("added", piece.name)
                self.look()

    def spec(self, piece):
        spec = {"kind": piece.kind, "description": piece.name, "clientToken": piece.name, **piece.more}
        url = self.server.url.replace("http:", f"{piece.scheme}:")
        if piece.kind == "upload":
            place = "tus" if piece.name.startswith("tus") else "put"
            return {**spec, "url": f"{url}/{place}/{piece.name}", "source": {"path": str(self.sources / piece.name)}}
        if piece.kind == "data":
            return {**spec, "url": f"{self.server.url}/d/{piece.name}"}
        # The helper is asked about another host than the store.
        origins = {"helped": self.server.url.replace("127.0.0.1", "localhost"),
                   "sworn": self.server.secure.url(piece.name), "stranger": self.server.secure.url("stranger")}
        origin = origins.get(piece.session, url)
        spec["url"] = f"{origin}/{PLACES.get(piece.session, 'd')}/{piece.name}"
        if piece.session == "saved":
            return {**spec, "kind": "data"}  # A client turns it into a file.
        return {**spec, "destination": {"directory": str(self.out)} if piece.is_nameless else {"path": str(self.out / piece.name)}}

    def change(self, method, fact, name):
        """Requests a change once, or again if there was no answer."""
        if self.ledger.has(fact, name):
            return
        self.ledger.asks(fact, name)
        answer = self.ask(method, ids=[self.ledger.ids[name]])
        skipped = [each["code"] for each in answer["skipped"]]
        if skipped and not {"task.wrong_state", "task.not_found"} >= set(skipped):
            raise Violation(f"{method} {name}: {answer}", 1)
        self.ledger.told(fact, name)
        self.look()

    def pause(self):
        for name in HELD:
            if self.ledger.has("paused", name) or name not in self.ledger.ids:
                continue
            self.until(lambda: self.server.sent.get(name, 0) >= BY_NAME[name].hold, f"the first half of {name}")
            self.change("task.pause", "paused", name)

    def move(self):
        for piece in self.pieces:
            if not piece.is_moved or self.ledger.has("moved", piece.name):
                continue
            self.ledger.asks("moved", piece.name)
            self.ask("task.update", id=self.ledger.ids[piece.name], destination={"directory": str(self.far)})
            self.ledger.told("moved", piece.name)
            self.look()

    def cancel(self):
        if not self.ledger.has("cancelled", "doomed"):
            self.until(lambda: self.server.sent.get("doomed", 0) >= BY_NAME["doomed"].hold, "the first half of doomed")
        for name in ("doomed", "never"):
            self.change("task.cancel", "cancelled", name)

    def decide(self):
        """Answers the questions of tasks. An acknowledged answer is durable, so the question is not asked again."""
        for piece in self.pieces:
            if piece.session not in ASKING or piece.is_late:
                continue
            answer = {"action": ASKING[piece.session][1]}
            if answer["action"] == "followWith":
                answer["request"] = {"url": f"{self.server.url}/d/{piece.name}"}
            if answer["action"] == "trust":
                answer["persistence"] = "permanent"
            if answer["action"] == "becomeDownload":
                answer["destination"] = {"path": str(self.out / piece.name)}
            identifier = self.ledger.ids[piece.name]

            def question():
                found = self.ask("decision.list", tasks=[identifier])["decisions"]
                return found[0]["decision"] if found else None

            if self.ledger.has("decided", piece.name):
                if question() is not None:
                    raise Violation(f"{piece.name} asks again, though it was answered", 1)
                continue
            # The answer may have arrived before without an acknowledgement.
            self.until(lambda: question() is not None or identifier in self.ledger.ended()
                       or self.ledger.has_tried("decided", piece.name), f"the question of {piece.name}")
            number = question()
            self.ledger.asks("decided", piece.name)
            if number is not None:
                try:
                    self.ask("decision.answer", id=number, **answer)
                except Refused as refusal:
                    if refusal.code != "decision.gone":
                        raise
            self.ledger.told("decided", piece.name)
            self.look()

    def acknowledge(self):
        self.look()
        if self.ledger.seen:
            number = max(self.ledger.seen)
            self.ledger.acknowledging.append((number, self.ledger.mark()))
            self.ask("events.ack", subscriber=SUBSCRIBER, sequence=number)
            self.ledger.acknowledged.append((number, self.ledger.mark()))

    def resume(self):
        for name in HELD:
            if name not in self.ledger.ids:
                continue
            self.ledger.asks("resumed", name)
            self.server.holds.pop(name, None)
            self.change("task.resume", "resumed", name)

    def finish(self, late=False):
        """Waits until every task has reported its end."""
        def ended():
            ids = self.ledger.ended()
            return all(self.ledger.ids[piece.name] in ids for piece in self.pieces if piece.is_late <= late)
        self.until(ended, "the end of every task")

    def ask_again(self):
        """A refused password is not sent again, and a key that is trusted for good is not asked about again, even after a
        crash."""
        if not self.needs("refused"):
            return
        self.add(late=True)
        self.finish(late=True)
        sent = len(self.server.passwords.get("refused", [])) - (self.ledger.refused or 0)
        if self.ledger.refused is not None and sent:
            raise Violation(f"a password was sent {sent} times after the end of the task whose server had refused it", 6)

    def fetch(self):
        """The stored answer of a data task."""
        for piece in self.pieces:
            if piece.kind == "data":
                got = base64.b64decode(self.ask("task.body", id=self.ledger.ids[piece.name])["data"])
                if got != content(piece.name, piece.size):
                    raise Violation(f"the answer that {piece.name} keeps is not what the server gave", 2)

    def remove(self):
        if not self.ledger.has("removed", "gone"):
            self.change("task.remove", "removed", "gone")

    # Looking

    def look(self, seconds=0):
        for event in self.watcher.drain(seconds):
            number = event.get("sequence")
            if number is None:
                continue
            if self.expected is not None and number not in self.expected:
                raise Violation(f"the subscriber was given event {number}, and {self.expected} was due", 5)
            self.expected = range(number + 1, number + 2)
            if event["type"] == "task.failed" and event.get("task") == self.ledger.ids.get("denied") and self.ledger.refused is None:
                self.ledger.refused = len(self.server.passwords.get("refused", []))
            wrong = self.ledger.see(event)
            if wrong:
                raise Violation(wrong, 5)
            if event["type"] == "task.failed" and not self.may_fail(event):
                raise Violation(f"a task failed: {event}", 7)

    def may_fail(self, event):
        """Tasks of a `task.add` that was not answered are known only by their session."""
        names = [name for name, task in self.ledger.ids.items() if task == event["task"]]
        return any(piece.name in names if names else piece.session == event["session"] for piece in self.pieces if piece.end == "failed")

    def until(self, holds, what):
        deadline = time.monotonic() + WAIT
        while not holds():
            self.look(0.01)
            if self.interrupted():
                raise Gone(f"cut off while waiting for {what}")
            if time.monotonic() > deadline:
                raise Violation(f"{what} does not come; {self.states()}", 7)

    def states(self):
        try:
            page = self.client.call("task.list", limit=100)["tasks"]
        except (Gone, Refused) as failure:
            return str(failure)
        return {task["description"]: (task["state"], task.get("error", {}).get("message")) for task in page
                if task["state"] not in ("completed", "cancelled")}
