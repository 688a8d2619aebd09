"""The wire as a client sees it: lines out, lines in, with nothing in between that would cost time."""
import json
import socket
import time

from bench.measure import Failed

FINAL = ["task.completed", "task.failed", "task.cancelled"]


def line(method, parameters, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters},
                      separators=(",", ":")).encode() + b"\n"


class Connection:
    def __init__(self, path, limit=120):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(limit)
        self.socket.connect(path)
        self.rest = b""

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def lines(self):
        """The whole lines that the next reads bring: at least one."""
        while True:
            data = self.socket.recv(1 << 20)
            if not data:
                raise Failed("the daemon closed the connection")
            whole, newline, self.rest = (self.rest + data).rpartition(b"\n")
            if newline:
                return whole.split(b"\n")

    def call(self, method, **parameters):
        self.send(line(method, parameters))
        return self.answer(method)

    def answer(self, method=""):
        reply = json.loads(self.lines()[0])
        if "error" in reply:
            raise Refused(f"{method}: {reply['error']['message']}", reply["error"].get("data", {}).get("code"))
        return reply["result"]

    def await_completed(self, count):
        """Reads events and answers until `count` tasks have completed; any other end, or a refusal, is a failure."""
        completed = 0
        while completed < count:
            for text in self.lines():
                message = json.loads(text)
                if "error" in message:
                    raise Failed(message["error"]["message"])
                kind = message.get("params", {}).get("type")
                if kind in ("task.failed", "task.cancelled"):
                    raise Failed(text.decode())
                completed += kind == "task.completed"

    def pipeline(self, requests, depth):
        """Sends ready-made lines, at most `depth` of them unanswered; seconds until the last answer."""
        start, sent, answered = time.monotonic(), min(depth, len(requests)), 0
        self.send(b"".join(requests[:sent]))
        while answered < len(requests):
            for reply in self.lines():
                if b'"error"' in reply:
                    raise Failed(reply[:500].decode())
                answered += 1
            following = min(answered + depth, len(requests))
            if following > sent:
                self.send(b"".join(requests[sent:following]))
                sent = following
        return time.monotonic() - start


class Refused(Failed):
    """An error answer; `code` is its stable code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Endings:
    """A subscription to the ends of tasks."""

    def __init__(self, path, types=FINAL):
        self.connection = Connection(path)
        self.connection.call("events.subscribe", after="now", types=types)

    def wait(self, count):
        """The monotonic time at which `count` further tasks had completed."""
        done = 0
        while done < count:
            for event in self.connection.lines():
                if b'"type":"task.completed"' not in event:
                    raise Failed(event[:600].decode())
                done += 1
        return time.monotonic()

    def close(self):
        self.connection.close()
