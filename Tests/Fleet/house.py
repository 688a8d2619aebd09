"""Machines of a fleet: each with its dld and its dld-fleet node; and the origin and the relay between them and the world."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from psycopg.types.json import Jsonb
from support import CHECKOUT, PATIENCE, DatabaseTest, Row, Server, Value, eventually

sys.path.insert(0, str(CHECKOUT / "clients" / "python"))

import dld  # noqa: E402  # type: ignore[import-not-found, unused-ignore]

#: The folder of the built programs.
BINARIES = pathlib.Path(os.environ.get("DLD_BINARIES") or CHECKOUT / ".build" / "debug")
long = unittest.skipUnless(os.environ.get("DLD_LONG_TESTS"), "takes long; set DLD_LONG_TESTS=1")
MEGABYTE = 1 << 20
#: Settings that make tests fast.
QUICK: dict[str, Any] = {"lease": "3s", "renew": "1s", "poll": "1s", "progressInterval": "1s",
                         "handBackAfter": "2s", "drainLimit": "60s", "localAttempts": 1, "logLevel": "debug"}


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    #: Nodes connect all at once.
    request_queue_size = 128


class Origin:
    """A server of files. A path has the same bytes each time; what goes wrong is planned by path."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address = address
        self.lock = threading.Lock()
        #: The header fields of each request, by path, and when each came.
        self.requests: dict[str, list[Any]] = defaultdict(list)
        self.times: dict[str, list[float]] = defaultdict(list)
        #: Paths, in the order of their requests.
        self.order: list[str] = []
        #: Bytes of bodies that were sent, by path.
        self.sent: dict[str, int] = defaultdict(int)
        self.uploads: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        #: Requests under way, and the most of them at once, by host.
        self.running: dict[str, int] = defaultdict(int)
        self.most: dict[str, int] = defaultdict(int)
        self._plans: dict[str, list[Any]] = {}
        self._gates: dict[str, tuple[int, threading.Event]] = {}
        self.server = Listener((address, 0), self._handler())
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def end(self) -> None:
        for path in list(self._gates):
            self.release(path)
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(PATIENCE)

    @property
    def host(self) -> str:
        return f"{self.address}:{self.server.server_address[1]}"

    @property
    def now(self) -> int:
        return sum(self.running.values())

    def url(self, path: str, name: str | None = None) -> str:
        return f"http://{self.host.replace(self.address, name or self.address)}{path}"

    def body(self, path: str) -> bytes:
        return random.Random(path).randbytes(self.sizes.get(path, 1000))

    def sha256(self, path: str) -> str:
        return hashlib.sha256(self.body(path)).hexdigest()

    def plan(self, path: str, *steps: Any) -> None:
        """What the next requests get: a status, a status with header fields, or "reset" after half of the body."""
        self._plans[path] = list(steps)

    def hold(self, path: str, after: int = 0) -> None:
        """Bodies stop after so many bytes until `release`."""
        self._gates[path] = (after, threading.Event())

    def release(self, path: str) -> None:
        self._gates.pop(path)[1].set()

    def count(self, path: str) -> int:
        return len(self.requests[path])

    def ranges(self, path: str) -> list[str | None]:
        return [headers["Range"] for headers in self.requests[path]]

    def _handler(origin) -> type[http.server.BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            counts = False

            def log_message(self, *_: Any) -> None:
                pass

            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    super().handle()

            @contextlib.contextmanager
            def counted(self) -> Iterator[Any]:
                with origin.lock:
                    origin.requests[self.path].append(self.headers)
                    origin.times[self.path].append(time.monotonic())
                    origin.order.append(self.path)
                    host = self.headers["Host"]
                    origin.running[host] += 1
                    origin.most[host] = max(origin.most[host], origin.running[host])
                    self.counts = True
                    plan = origin._plans.get(self.path)
                    step = plan.pop(0) if plan else 200
                try:
                    yield step
                except OSError:
                    self.close_connection = True
                finally:
                    self.leave()

            def leave(self) -> None:
                """The request is no longer under way: whoever has its last byte may send another before this one knows."""
                with origin.lock:
                    origin.running[self.headers["Host"]] -= self.counts
                    self.counts = False

            def do_GET(self) -> None:  # noqa: N802
                with self.counted() as step:
                    status, fields = step if isinstance(step, tuple) else (step, {})
                    if status not in (200, "reset"):
                        self.answer(status, fields)
                        return
                    body, first, tag = origin.body(self.path), 0, f'"{origin.sha256(self.path)[:16]}"'
                    asked = self.headers["Range"]
                    if asked and self.headers["If-Range"] in (None, tag):
                        first = int(asked.removeprefix("bytes=").split("-")[0])
                    fields |= {"ETag": tag, "Accept-Ranges": "bytes"}
                    if first:
                        fields["Content-Range"] = f"bytes {first}-{len(body) - 1}/{len(body)}"
                    self.answer(206 if first else 200, fields, len(body) - first)
                    self.send(body, first, status == "reset")

            def do_PUT(self) -> None:  # noqa: N802
                with self.counted() as step:
                    origin.uploads[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
                    self.answer(step, {})

            do_POST = do_PUT  # noqa: N815

            def answer(self, status: int, fields: dict[str, str], length: int = 0) -> None:
                if not length:
                    self.leave()
                self.send_response(status)
                for name, value in {"Content-Length": str(length), **fields}.items():
                    self.send_header(name, value)
                self.end_headers()

            def send(self, body: bytes, first: int, resets: bool) -> None:
                gate = origin._gates.get(self.path)
                last = len(body) // 2 if resets else len(body) if gate is None else max(gate[0], first)
                if gate is not None or resets:
                    self.write(body[first:last])
                    first = last
                if resets:
                    self.leave()
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    # An orderly end would come before the reset.
                    os.close(self.connection.detach())
                    raise ConnectionResetError
                if gate is not None:
                    while not gate[1].wait(0.02):
                        if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                            raise ConnectionResetError
                final = max(first, len(body) - 1)
                self.write(body[first:final])
                self.leave()
                self.write(body[final:])

            def write(self, piece: bytes) -> None:
                self.wfile.write(piece)
                with origin.lock:
                    origin.sent[self.path] += len(piece)

        return Handler


class Relay:
    """A PostgreSQL socket that passes everything on, until it is cut: then it takes all and says nothing."""

    def __init__(self, server: Server) -> None:
        self.target = str(server.folder / ".s.PGSQL.5432")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dld-relay-"))
        self.passes = self.answers = True
        self.word: bytes | None = None
        self.over = False
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / ".s.PGSQL.5432"))
        self.listener.listen(64)
        self.listener.settimeout(0.05)
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def cut(self) -> None:
        self.passes = False

    def lose_answers(self, word: bytes) -> None:
        """The statement with this word still arrives, and then nothing comes back."""
        self.word = word

    def mend(self) -> None:
        """What was held back is lost, as its connections are."""
        for pair in self.pairs:
            self._end(*pair)
        self.passes, self.answers, self.word = True, True, None

    def end(self) -> None:
        self.over = True
        self.mend()
        for thread in self.threads:
            thread.join(PATIENCE)
        self.listener.close()
        for end in (end for pair in self.pairs for end in pair):
            end.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        while not self.over:
            try:
                near = self.listener.accept()[0]
            except TimeoutError:
                continue
            near.settimeout(None)
            far = socket.socket(socket.AF_UNIX)
            self.pairs.append((near, far))
            if self.passes:
                try:
                    far.connect(self.target)
                except OSError:
                    self._end(near)
                    continue
            for source, sink in ((near, far), (far, near)):
                self.threads.append(threading.Thread(target=self._pass, args=(source, sink, source is far)))
                self.threads[-1].start()

    def _pass(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if not is_answer and self.word and self.word in piece:
                    self.answers = False
                if self.passes and (self.answers or not is_answer):
                    sink.sendall(piece)
        self._end(source, sink)

    @staticmethod
    def _end(*ends: socket.socket) -> None:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Program:
    """A program that is started, killed and started again on the same folder."""

    def __init__(self, name: str, log: pathlib.Path, *arguments: str, **variables: str) -> None:
        self.name, self.log, self.arguments, self.variables = name, log, arguments, variables
        #: Words before the command, which end as the program itself: `ip netns exec …`.
        self.prefix: tuple[str, ...] = ()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = BINARIES / self.name
        if not program.exists():
            raise AssertionError(f"{program} is missing: build it, or name its folder in DLD_BINARIES")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("DLD_", "XDG_", "PG"))}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*self.prefix, program, *self.arguments], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=environment | self.variables)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process is not None
        status = self.process.wait(PATIENCE)
        self.process = None
        return status

    def kill(self) -> None:
        if self.process is not None:
            self.signal(signal.SIGKILL)
            self.wait()

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Machine:
    """One machine: a dld, and beside it a node."""

    def __init__(self, server: pathlib.Path | str, database: str, name: str, login: str, settings: dict[str, Any]) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dld-machine-"))
        self.name, self.files, self.socket = name, self.folder / "files", self.folder / "state" / "dld.sock"
        for part in ("state", "run", "files"):
            (self.folder / part).mkdir(mode=0o700)
        (self.folder / "dld.yaml").write_text("session:\n  connectionsPerDownload: 1\n")
        self.policy: dict[str, Any] = {"schemes": ["http"], "folders": [{"path": str(self.files)}]}
        self.policy |= settings.pop("policy", {})
        self.settings = QUICK | {
            "name": name, "database": f"host={server} user={login} dbname={database}", "socket": str(self.socket),
            "stateDirectory": str(self.folder / "node")} | settings
        self.write()
        variables = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder / "run")}
        self.daemon = Program("dld", self.folder / "dld.log", "--config", str(self.folder / "dld.yaml"), "--state-dir",
                              str(self.folder / "state"), "--socket", str(self.socket), **variables)
        self.node = Program("dld-fleet", self.folder / "fleet.log", "node", "--config", str(self.folder / "fleet.yaml"),
                            **variables)

    def write(self, text: str = "", **policy: Any) -> None:
        """Writes fleet.yaml; a text is added as it is."""
        self.policy |= policy
        lines = [f"{name}: {json.dumps(value)}" for name, value in self.settings.items()]
        lines += ["policy:"] + [f"  {name}: {json.dumps(value)}" for name, value in self.policy.items()]
        (self.folder / "fleet.yaml").write_text("\n".join([*lines, text]) + "\n")

    def start(self) -> None:
        self.start_daemon()
        self.node.start()

    def start_daemon(self) -> None:
        def listens() -> bool:
            with socket.socket(socket.AF_UNIX) as connection:
                return connection.connect_ex(str(self.socket)) == 0

        self.daemon.start()
        eventually(listens, "dld listens")

    def kill(self) -> None:
        """As if the power went."""
        self.node.kill()
        self.daemon.kill()

    def end(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> Any:
        with dld.Client(str(self.socket)) as client:
            return client.call(method, **parameters)

    def tasks(self) -> list[dict[str, Any]]:
        """Tasks of the session, also those that ended."""
        return list(self.call("task.list", session="fleet")["tasks"])

    def received(self) -> int:
        """Bytes of all tasks."""
        return sum(task["bytesReceived"] for task in self.tasks())

    def names(self) -> list[str]:
        return sorted(path.name for path in self.files.iterdir())


class FleetTest(DatabaseTest):
    """A test with a database and an origin of its own, and machines on demand."""

    #: Where the origin listens.
    address = "127.0.0.1"

    def setUp(self) -> None:
        super().setUp()
        self.machines: list[Machine] = []
        self.origin = Origin(self.address)
        self.addCleanup(self.origin.end)

    def machine(self, name: str = "a", starts: bool = True, server: pathlib.Path | str | None = None,
                **settings: Any) -> Machine:
        login = "node_b" if name == "b" else "node_a"
        machine = Machine(server or self.server.folder, self.database, name, login, settings)
        self.addCleanup(machine.end)
        self.machines.append(machine)
        if starts:
            machine.start()
        return machine

    def shared_folder(self) -> pathlib.Path:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="dld-shared-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def add(self, path: str = "/one", members: dict[str, Any] | None = None, **options: Any) -> int:
        """Adds a job of the origin's path, or of a URL."""
        names = "".join(f", {name} => %({name})s" for name in options if name != "pool")
        given = {"url": path if ":" in path else self.origin.url(path)} | (members or {})
        return int(self.value(self.ann, f"SELECT dld.enqueue(%(pool)s, %(spec)s{names})",
                              {"pool": "default", "spec": Jsonb(given)} | options))

    def keep_busy(self, name: str, **options: Any) -> None:
        """A job that runs until the end of the test, for a node with this label: a node without jobs polls every 5 s."""
        path = f"/busy-{name}"
        self.origin.hold(path)
        self.add(self.origin.url(path, "localhost"), labels=[name], **options)

    def eventually(self, condition: Callable[[], Value | None], what: str) -> Value:
        """Fails with what the machines said."""
        try:
            return eventually(condition, what)
        except AssertionError as error:
            said = "".join(f"\n--- {m.name}, {p.name}:\n{p.said[-6000:]}" for m in self.machines for p in (m.node, m.daemon))
            rows = self.owner.execute("SELECT id, state, attempts, lease_node, lease_epoch, history, error FROM dld.jobs "
                                      "WHERE state <> 'done' ORDER BY id LIMIT 5").fetchall()
            raise AssertionError(f"{error}\n{rows}{said}") from None

    def ends(self, id: int, state: str = "done") -> Row:
        """The job, as soon as it has ended; it must end so."""
        row = self.eventually(lambda: self._ended(id), f"job {id} ends")
        self.assertEqual(row.state, state, (row.error, row.history))
        return row

    def _ended(self, id: int) -> Row | None:
        row = self.job(id)
        return row if row.ended_at is not None else None

    def becomes(self, id: int, state: str) -> Row:
        return self.eventually(lambda: row if (row := self.job(id)).state == state else None, f"job {id} is {state}")

    def holds(self, machine: Machine, bytes: int) -> None:
        """Waits until a machine's tasks have so many bytes."""
        self.eventually(lambda: machine.received() >= bytes, f"{bytes} bytes are there")

    def forgets(self, machine: Machine) -> None:
        self.eventually(lambda: not machine.tasks(), "dld has no task of the fleet")

    def story(self, id: int) -> list[tuple[int, str, str]]:
        """The ended leases of a job: epoch, node and end."""
        return [(entry["epoch"], entry["node"], entry["end"]) for entry in self.job(id).history]

    def drain(self, name: str, on: bool = True, limit: str | None = None) -> None:
        self.assertTrue(self.value(self.otto, "SELECT dld.drain(%s, %s, %s)", (name, on, limit)))

    def registered(self, name: str = "a") -> Any:
        return self.eventually(
            lambda: self.value(self.owner, "SELECT seen_at FROM dld.nodes WHERE name = %s", (name,)), f"{name} registers")
