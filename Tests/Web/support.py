"""A daemon and its dld-web, with folders of their own, and what tests need to talk to both."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "clients" / "python"))

import dld  # noqa: E402

#: The folder of the built programs.
BINARIES = pathlib.Path(os.environ.get("DLD_BINARIES") or CHECKOUT / ".build" / "debug")
#: Seconds that a test waits for anything before it fails.
PATIENCE = 60.0

Value = TypeVar("Value")


def eventually(condition: Callable[[], Value], what: str, patience: float = PATIENCE) -> Value:
    """Returns the first true value of a condition."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {patience:g} s")
        time.sleep(0.01)


class Program:
    """A program that is started, killed and started again on the same folder."""

    def __init__(self, name: str, log: pathlib.Path, *arguments: str, **variables: str) -> None:
        self.name, self.log, self.arguments, self.variables = name, log, arguments, variables
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **options: Any) -> None:
        program = BINARIES / self.name
        if not program.exists():
            raise AssertionError(f"{program} is missing: build it, or name its folder in DLD_BINARIES")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("DLD_", "XDG_"))}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [program, *self.arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment | self.variables, **options,
            )

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        if self.process is None:
            return 0
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        self.process = None
        return status

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class House:
    """dld and dld-web beside it."""

    def __init__(self, *options: str) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dld-web-"))
        self.socket = self.folder / "state" / "dld.sock"
        for name in ("state", "run", "files"):
            (self.folder / name).mkdir(mode=0o700)
        (self.folder / "dld.yaml").touch()
        variables = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder / "run")}
        self.daemon = Program(
            "dld", self.folder / "dld.log", "--config", str(self.folder / "dld.yaml"), "--state-dir",
            str(self.folder / "state"), "--socket", str(self.socket), **variables,
        )
        self.web = Program(
            "dld-web", self.folder / "web.log", "--socket", str(self.socket), "--state-dir", str(self.folder / "web"),
            *options, **variables,
        )

    def start(self) -> None:
        self.start_daemon()
        self.start_web()

    def start_daemon(self) -> None:
        self.daemon.start()
        eventually(lambda: self._connects(self.socket), "dld listens")

    def start_web(self) -> None:
        said = self.web.log.stat().st_size if self.web.log.exists() else 0

        def listening() -> bool:
            if not self.web.running():
                raise AssertionError("dld-web ended: " + self.web.log.read_text())
            return b"listening on http://127.0.0.1" in self.web.log.read_bytes()[said:]

        self.web.start()
        eventually(listening, "dld-web listens")

    def end(self) -> None:
        for program in (self.web, self.daemon):
            program.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def port(self) -> int:
        found = re.findall(r"listening on http://127\.0\.0\.1:(\d+)/", self.web.log.read_text())
        return int(found[-1])

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def client(self) -> dld.Client:
        return dld.Client(str(self.socket))

    def call(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        """The result of a call of the daemon, beside dld-web."""
        with self.client() as client:
            return client.call(method, **(parameters or {}))

    def add(self, *specs: dict[str, Any], session: str | None = None) -> list[int]:
        """Adds tasks, and returns their ids."""
        parameters: dict[str, Any] = {"tasks": list(specs)}
        if session:
            parameters["session"] = session
        return [task["id"] for task in self.call("task.add", parameters)["tasks"]]

    def control(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        """Calls the control socket, as dlctl does."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self.folder / "web" / "web.sock"))
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters or {}}
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile() as lines:
                answer = json.loads(lines.readline())
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["result"]

    def link(self, fragment: str = "") -> str:
        """A link that signs in once."""
        return str(self.control("web.link", {"fragment": fragment} if fragment else {})["url"])

    def browser(self) -> Browser:
        return Browser(self)

    @staticmethod
    def _connects(path: pathlib.Path) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(path))
            except OSError:
                return False
        return True


class Answer:
    def __init__(self, response: http.client.HTTPResponse, body: bytes) -> None:
        self.status, self.headers, self.body = response.status, response.headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Browser:
    """Speaks HTTP as a page does: with its cookie and its token."""

    def __init__(self, house: House, signs_in: bool = True) -> None:
        self.house = house
        self.cookie: str | None = None
        self.token: str | None = None
        if signs_in:
            answer = self.request("GET", "/" + house.link().removeprefix(house.base))
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]
            self.token = self.request("GET", "/session").json["token"]

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None,
        cookie: bool = True, token: bool = True,
    ) -> Answer:
        """The answer, without following redirects."""
        given = dict(headers or {})
        if self.cookie and cookie:
            given.setdefault("Cookie", self.cookie)
        if self.token and token:
            given.setdefault("X-Dld-Token", self.token)
        connection = http.client.HTTPConnection("127.0.0.1", self.house.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response, response.read())
        finally:
            connection.close()

    def call(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        """The result of a call of the daemon."""
        answer = self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters or {}}).json
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["result"]

    def post(self, request: Any, headers: dict[str, str] | None = None, **options: Any) -> Answer:
        given = {"Content-Type": "application/json"} | (headers or {})
        return self.request("POST", "/rpc", json.dumps(request).encode(), given, **options)

    def events(self, after: int | None = None) -> Stream:
        return Stream(self, after)


class Stream:
    """An open `/events`."""

    def __init__(self, browser: Browser, after: int | None) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", browser.house.port, timeout=PATIENCE)
        path = "/events" if after is None else f"/events?after={after}"
        self.connection.request("GET", path, headers={"Cookie": browser.cookie or ""})
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.status

    def next(self) -> dict[str, Any]:
        """The next event: its name, data and id. Raises EOFError at the end."""
        fields: dict[str, Any] = {}
        while True:
            try:
                line = self.response.readline().decode()
            except (OSError, http.client.HTTPException):
                raise EOFError from None
            if not line:
                raise EOFError
            line = line.rstrip("\n")
            if not line and "event" in fields:
                return fields
            name, _, value = line.partition(": ")
            if name == "data":
                fields["data"] = json.loads(value)
            elif name:
                fields[name] = value

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            try:
                yield self.next()
            except EOFError:
                return

    def until(self, found: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """All events up to the first one that is meant."""
        events: list[dict[str, Any]] = []
        for event in self:
            events.append(event)
            if found(event):
                return events
        raise AssertionError(f"the stream ended: {events[-3:]}")

    def close(self) -> None:
        self.connection.close()
        self.response.close()


class HouseTest(unittest.TestCase):
    """A test with a house of its own class."""

    options: tuple[str, ...] = ()
    house: House

    @classmethod
    def setUpClass(cls) -> None:
        cls.house = House(*cls.options)
        cls.addClassCleanup(cls.house.end)
        cls.house.start()
