"""A client of the RPC socket that sends and reads lines and does little else, so that it costs little time."""
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
        """Reads until there is at least one complete line, and returns the complete lines."""
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
        """Reads events and answers until `count` tasks have completed. Any other end of a task, or a refusal, is a failure."""
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
        """Sends prepared lines, with at most `depth` unanswered at a time. Returns the seconds until the last answer."""
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
    """The daemon answered with an error. `code` is its stable code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Endings:
    """A subscription to the ends of tasks."""

    def __init__(self, path, types=FINAL):
        self.connection = Connection(path)
        self.connection.call("events.subscribe", after="now", types=types)

    def wait(self, count):
        """Waits until `count` more tasks have completed, and returns the monotonic time of that moment."""
        done = 0
        while done < count:
            for event in self.connection.lines():
                if b'"type":"task.completed"' not in event:
                    raise Failed(event[:600].decode())
                done += 1
        return time.monotonic()

    def close(self):
        self.connection.close()
