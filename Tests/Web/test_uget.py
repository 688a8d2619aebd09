"""aria2's interface, by Debian's uGet in a display of its own."""

from __future__ import annotations

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import unittest
from typing import Any

from support import PATIENCE, House, eventually

SIZE = 400_000
HALF = SIZE // 2
#: A uGet that starts gives its downloads to the one that listens here.
UGET_PORT = 14777


def missing() -> str | None:
    """What the tests lack, in words."""
    if not shutil.which("uget-gtk"):
        return "uget-gtk (Debian: uget)"
    return None if shutil.which("Xvfb") else "Xvfb (Debian: xvfb)"


class Origin(http.server.ThreadingHTTPServer):
    """Serves files. Of `/half` it holds the second half back until `goes_on` is set."""

    daemon_threads = True
    body = bytes(range(250)) * (SIZE // 250)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), OriginHandler)
        self.goes_on = threading.Event()
        self.thread = threading.Thread(target=functools.partial(self.serve_forever, poll_interval=0.05))
        self.thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def end(self) -> None:
        self.goes_on.set()
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error."""


class OriginHandler(http.server.BaseHTTPRequestHandler):
    server: Origin

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()
        self.wfile.write(self.server.body[:HALF])
        if self.path == "/half":
            self.server.goes_on.wait(PATIENCE)
        self.wfile.write(self.server.body[HALF:])


class Wire:
    """Passes connections on to the port `target`, and keeps what is said on them."""

    target = 0

    def __init__(self) -> None:
        self.asked, self.answered = bytearray(), bytearray()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open: list[socket.socket] = []
        self.pumps: list[threading.Thread] = []
        self.thread = threading.Thread(target=self.accept)
        self.thread.start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
                self.open.append(client)
                server = socket.create_connection(("127.0.0.1", self.target))
                self.open.append(server)
            except OSError:
                return  # the test ends
            for source, sink, kept in [(client, server, self.asked), (server, client, self.answered)]:
                thread = threading.Thread(target=self.pump, args=(source, sink, kept))
                self.pumps.append(thread)
                thread.start()

    @staticmethod
    def pump(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
        try:
            while piece := source.recv(65536):
                kept += piece
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one side has gone

    def end(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for each in self.open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is not connected any more
        for thread in self.pumps:
            thread.join()
        for each in [self.listener, *self.open]:
            each.close()


class UGet(unittest.TestCase):
    house: House
    origin: Origin
    wire: Wire
    settings: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        lacking = missing()
        if lacking and os.environ.get("DLD_REQUIRE_SERVERS") == "1":
            raise AssertionError(f"the tests of uGet need {lacking}")
        if lacking:
            print(f"SKIPPED: the tests of uGet need {lacking}", file=sys.stderr, flush=True)
            raise unittest.SkipTest(f"{lacking} is missing")
        cls.wire = Wire()
        cls.addClassCleanup(cls.wire.end)
        # dld-web answers to the address that uGet uses.
        named = ["--host", f"127.0.0.1:{cls.wire.port}"]
        cls.house = House("--aria2", "--aria2-port", "0", "--aria2-secret-file", "secret", *named)
        cls.addClassCleanup(cls.house.end)
        secret = cls.house.folder / "secret"
        secret.write_text("s3cret\n")
        cls.house.web.arguments = tuple(str(secret) if each == "secret" else each for each in cls.house.web.arguments)
        cls.house.start()
        cls.wire.target = cls.house.browser().request("GET", "/session").json["aria2"]
        cls.origin = Origin()
        cls.addClassCleanup(cls.origin.end)
        cls.settings = cls.house.folder / ".config" / "uGet"

    # uGet

    def wait_for_turn(self) -> None:
        """Waits until no other uGet runs, here or in another run of this test: it would take the downloads."""
        turn = socket.socket(socket.AF_UNIX)
        self.addCleanup(turn.close)

        def is_ours() -> bool:
            try:
                turn.bind("\0dld-test-of-uget")
            except OSError:
                return False
            return True

        def nothing_listens() -> bool:
            with socket.socket() as connection:
                return connection.connect_ex(("127.0.0.1", UGET_PORT)) != 0

        eventually(is_ours, "the end of another run of this test")
        eventually(nothing_listens, f"the end of another uGet, which listens on port {UGET_PORT}")

    def write_settings(self) -> None:
        """Those of a user who has chosen aria2, with dld-web as the one that runs, and one transfer at a time."""
        (self.settings / "category").mkdir(parents=True)
        (self.settings / "Setting.json").write_text(json.dumps({
            "PluginOrder": 1,
            "PluginAria2": {"launch": False, "shutdown": False, "token": "s3cret", "uri": f"http://127.0.0.1:{self.wire.port}/jsonrpc"},
            "UserInterface": {"ExitConfirmation": False, "ShowTrayIcon": False, "StartNotification": False, "SoundNotification": False},
            "Clipboard": {"monitor": False}, "Commandline": {"quiet": True, "NthCategory": 0},
        }))
        (self.settings / "category" / "0000.json").write_text(json.dumps({
            "info": {"category": {"active-limit": 1, "finished-limit": 10, "recycled-limit": 10}, "common": {"name": "Home"}},
            "children": [],
        }))

    def start(self, program: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("DLD_", "XDG_"))}
        home = {"HOME": str(self.house.folder), "XDG_RUNTIME_DIR": str(self.house.folder / "run"), "NO_AT_BRIDGE": "1",
                "GSETTINGS_BACKEND": "memory", "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.house.folder / 'no-bus'}"}
        with (self.house.folder / f"{program}.log").open("ab") as log:
            process = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env=plain | home | options.pop("variables", {}), **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process: subprocess.Popen[bytes]) -> None:
        # Told to end, a display removes its lock.
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)

    def start_display(self) -> str:
        """Starts a display with a number of its own choice, and returns its name."""
        number = self.house.folder / "display"
        with number.open("wb") as file:
            display = self.start("Xvfb", "-displayfd", str(file.fileno()), "-nolisten", "tcp", pass_fds=[file.fileno()])
        eventually(lambda: number.read_text().endswith("\n") or display.poll() is not None, "the display starts")
        self.assertIsNone(display.poll(), (self.house.folder / "Xvfb.log").read_text())
        return ":" + number.read_text().strip()

    def record(self) -> list[dict[str, Any]]:
        """What uGet has kept of its downloads."""
        kept = json.loads((self.settings / "category" / "0000.json").read_text())
        return [child["info"] for child in kept["children"]]

    def calls(self) -> list[tuple[dict[str, Any], Any]]:
        """The calls that uGet has made and their results; those that are not answered yet are left out."""
        answers = {answer["id"]: answer for answer in messages(self.wire.answered)}
        return [(call, answers[call["id"]]["result"]) for call in messages(self.wire.asked) if "result" in answers.get(call["id"], {})]

    def told(self, url: str) -> list[tuple[str, int]]:
        """The states and lengths that uGet was told of a download."""
        gids = [gid for call, gid in self.calls() if call["method"] == "aria2.addUri" and url in call["params"][1]]
        return [(result["status"], int(result["completedLength"])) for call, result in self.calls()
                if call["method"] == "aria2.tellStatus" and call["params"][1] in gids]

    # Tests

    def test_downloads_of_its_command_line_end(self) -> None:
        """uGet adds a download, follows it from its half to its end, keeps that, and only then adds the next."""
        self.wait_for_turn()
        self.write_settings()
        first, second = self.origin.url("half"), self.origin.url("whole")
        files = self.house.folder / "files"
        uget = self.start("uget-gtk", "--quiet", f"--folder={files}", first, second, variables={"DISPLAY": self.start_display()})
        eventually(lambda: ("active", HALF) in self.told(first), "uGet is told of the half")
        [task] = self.house.call("task.list", {})["tasks"]
        self.assertEqual((task["url"], task["state"], task["connections"]), (first, "running", 1))
        self.assertEqual(task["destination"], {"directory": str(files)})
        self.origin.goes_on.set()
        # It has one download at a time: when it adds the second, it has taken note of the end of the first.
        eventually(lambda: ("complete", SIZE) in self.told(second), "uGet is told of the end of the second")
        self.assertEqual(self.told(first)[-1], ("complete", SIZE))
        uget.terminate()
        self.assertEqual(uget.wait(PATIENCE), 0)
        [kept] = [each for each in self.record() if each["common"]["uri"] == first]
        self.assertEqual((kept["progress"]["complete"], kept["progress"]["total"], kept["progress"]["percent"]), (SIZE, SIZE, 100))
        self.assertGreater(kept["log"]["completed-time"], 0)
        for name in ("half", "whole"):
            self.assertEqual((files / name).read_bytes(), self.origin.body, name)
        self.assertEqual({call["params"][0] for call in messages(self.wire.asked)}, {"token:s3cret"})


def messages(kept: bytearray) -> list[dict[str, Any]]:
    """The whole messages of HTTP, each a batch of calls or answers."""
    found: list[dict[str, Any]] = []
    rest = bytes(kept)
    while b"\r\n\r\n" in rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = int(re.findall(rb"Content-Length: (\d+)", head)[0])
        if len(rest) < length:
            break
        found += json.loads(rest[:length])
        rest = rest[length:]
    return found


if __name__ == "__main__":
    unittest.main()
