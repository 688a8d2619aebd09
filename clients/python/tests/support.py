"""A daemon with a state folder of its own, and a server for it to talk to."""

from __future__ import annotations

import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any, TypeVar

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import dld  # noqa: E402

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
#: The folder of the built programs.
BINARIES = pathlib.Path(os.environ.get("DLD_BINARIES") or CHECKOUT / ".build" / "debug")
#: Seconds that a test waits for anything before it fails.
PATIENCE = 60.0

Value = TypeVar("Value")


def eventually(condition: Callable[[], Value], what: str) -> Value:
    """Returns the first true value of a condition."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {PATIENCE:g} s")
        time.sleep(0.01)


class Daemon:
    """The real daemon, started, killed, and started again on the same state folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.socket = folder / "dld.sock"
        self.log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = BINARIES / "dld"
        if not program.exists():
            raise AssertionError(f"{program} is missing: build it, or name the folder of the programs in DLD_BINARIES")
        (self.folder / "dld.yaml").touch()
        folder = str(self.folder)
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "KRB5_CONFIG": os.devnull}
        command = [str(program), "--config", f"{folder}/dld.yaml", "--state-dir", f"{folder}/state"]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [*command, "--socket", str(self.socket)], env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(self._answers, "the start of the daemon")

    def kill(self) -> None:
        """Ends the daemon with SIGKILL, and returns when it is gone."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> None:
        """Ends the daemon with SIGTERM, and returns when it is gone."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
                process.wait()

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise AssertionError(f"the daemon ended: {self.log.read_text()[-4000:]}")
        try:
            with dld.Client(self.socket, patience=0) as client:
                client.call("daemon.info")
                return True
        except (dld.NoDaemon, dld.ConnectionLost):
            return False


class Origin:
    """An HTTP server on a free port of loopback, with strong validators and ranges.

    A resource with a gate sends its first half, and the rest when the gate opens.
    """

    def __init__(self) -> None:
        self.resources: dict[str, bytes] = {}
        self.gates: dict[str, threading.Event] = {}
        #: What PUT has stored.
        self.stored: dict[str, bytes] = {}
        #: Method, path and Range of each request.
        self.requests: list[tuple[str, str, str | None]] = []
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                origin._get(self)

            def do_PUT(self) -> None:
                origin._put(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def serve(self, path: str, body: bytes, gated: bool = False) -> str:
        """Returns the URL of a new resource."""
        self.resources[path] = body
        if gated:
            self.gates[path] = threading.Event()
        return self.url(path)

    def close(self) -> None:
        for gate in self.gates.values():
            gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _get(self, request: http.server.BaseHTTPRequestHandler) -> None:
        asked = request.headers.get("Range")
        self.requests.append(("GET", request.path, asked))
        body = self.resources.get(request.path)
        if body is None:
            request.send_error(404)
            return
        tag = f'"{len(body)}-{hash(body) & 0xFFFFFF:x}"'
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked or "")
        start, end = 0, len(body)
        if match and request.headers.get("If-Range", tag) == tag and int(match[1]) < len(body):
            start = int(match[1])
            end = min(end, int(match[2]) + 1) if match[2] else end
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(body)}")
        else:
            request.send_response(200)
        request.send_header("Content-Length", str(end - start))
        request.send_header("Accept-Ranges", "bytes")
        request.send_header("ETag", tag)
        request.end_headers()
        gate = self.gates.get(request.path)
        half = len(body) // 2 if gate else end
        try:
            request.wfile.write(body[start:max(start, min(half, end))])
            request.wfile.flush()
            if gate is not None:
                gate.wait(PATIENCE)
                request.wfile.write(body[max(start, half):end])
        except OSError:
            request.close_connection = True

    def _put(self, request: http.server.BaseHTTPRequestHandler) -> None:
        self.requests.append(("PUT", request.path, None))
        self.stored[request.path] = request.rfile.read(int(request.headers["Content-Length"]))
        request.send_response(201)
        request.send_header("Content-Length", "0")
        request.end_headers()


class Scene(unittest.TestCase):
    """A test with a daemon, a server and a client. It leaves nothing behind."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dld-python-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.origin = Origin()
        self.addCleanup(self.origin.close)
        self.daemon = Daemon(self.folder)
        self.addCleanup(self.daemon.kill)
        self.daemon.start()
        self.client = self.connect()

    def connect(self, **options: Any) -> dld.Client:
        client = dld.Client(self.daemon.socket, patience=PATIENCE, **options)
        self.addCleanup(client.close)
        return client

    def next(self, events: dld.Events) -> dld.Event:
        event = events.read(PATIENCE)
        if event is None:
            raise AssertionError(f"no event came within {PATIENCE:g} s")
        return event

    def wait(self, task: int) -> dict[str, Any]:
        return self.client.wait(task, PATIENCE)


class FakeDaemon:
    """Answers each request line as a test says. None ends the connection."""

    def __init__(self, folder: pathlib.Path, answer: Callable[[bytes], bytes | None]) -> None:
        self.path = folder / "fake.sock"
        self.lines: list[bytes] = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    self.lines.append(line)
                    answer = self._answer(line)
                    if answer is None:
                        break
                    connection.sendall(answer)
