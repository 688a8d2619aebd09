"""A client that notices when its daemon dies, and keeps the events that arrive in between."""
import json
import select
import socket
import time

from bench.rpc import Refused, line

LIMIT = 60.0


class Gone(Exception):
    """The daemon closed the connection, or was not running."""


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        try:
            self.socket.connect(path)
        except OSError as error:
            raise Gone(str(error)) from None
        self.rest, self.number, self.events = b"", 0, []

    def close(self):
        self.socket.close()

    def read(self):
        try:
            data = self.socket.recv(1 << 20)
        except TimeoutError:
            raise Gone(f"no answer in {LIMIT:.0f} s") from None
        except OSError as error:
            raise Gone(str(error)) from None
        if not data:
            raise Gone("connection closed")
        whole, _, self.rest = (self.rest + data).rpartition(b"\n")
        return [json.loads(text) for text in whole.split(b"\n") if text]

    def call(self, method, **parameters):
        """Returns the answer. Raises `Refused` for an error answer, and `Gone` if no answer will come."""
        self.number += 1
        try:
            self.socket.sendall(line(method, parameters, self.number))
        except OSError as error:
            raise Gone(str(error)) from None
        while True:
            answers = []
            for message in self.read():
                answers.append(message) if "id" in message else self.events.append(message["params"])
            for answer in answers:
                if "error" in answer:
                    raise Refused(f"{method}: {answer['error']['message']}", answer["error"].get("data", {}).get("code"))
                return answer["result"]

    def drain(self, seconds):
        """Returns the events that have arrived, or that arrive within `seconds`."""
        deadline = time.monotonic() + seconds
        while not self.events:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.socket], [], [], left)[0]:
                break
            self.events += [message["params"] for message in self.read() if "params" in message]
        events, self.events = self.events, []
        return events
