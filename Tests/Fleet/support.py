"""A private PostgreSQL with the schema of dld-fleet, and what tests need to talk to it."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
import psycopg.rows
from psycopg.types.json import Jsonb

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
#: The files of the schema, in the order in which they run.
SCHEMA = [CHECKOUT / "Sources/FleetDatabase/sql" / name for name in (
    "roles.sql", "0001-tables.sql", "0001-producers.sql", "0001-claim.sql", "0001-nodes.sql")]
#: Seconds that a test waits for anything before it fails.
PATIENCE = 60.0
#: Login roles of the tests, and the role that each may act as.
LOGINS = {"ann": "dld_producer", "otto": "dld_operator", "node_a": "dld_node", "node_b": "dld_node", "nobody_at_all": None}

Value = TypeVar("Value")
Row = Any


def eventually(condition: Callable[[], Value | None], what: str, patience: float = PATIENCE) -> Value:
    """Returns the first true value of a condition."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {patience:g} s")
        time.sleep(0.01)


def record(what: str, bar: str, seen: str, kept: bool = True) -> None:
    """Adds a row to the results of this run, if there are any (Benchmarks/fleet/results.py)."""
    if path := os.environ.get("DLD_FLEET_RESULTS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, "bar": bar, "seen": seen, "kept": kept}) + "\n")


def programs() -> pathlib.Path:
    """The folder of the newest PostgreSQL here; Debian keeps it out of PATH."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    program = shutil.which("postgres")
    if program is None:
        raise AssertionError("PostgreSQL is missing: install the package postgresql")
    return pathlib.Path(program).parent


class Server:
    """A PostgreSQL on a Unix socket in a folder of its own. It has no port, unless it is given an address."""

    def __init__(self, *settings: str, address: str = "") -> None:
        self.address = address
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dld-fleet-"))
        self.settings = ("fsync=off", "autovacuum_naptime=1s", "max_connections=100", *settings)
        self.process: subprocess.Popen[bytes] | None = None
        self.numbers = itertools.count(1)
        self.prefix: list[str] = []
        if os.getuid() == 0:
            # PostgreSQL refuses root. The signal ends it if this process dies without its cleanup.
            user = next(user for name in ("postgres", "nobody") for user in pwd.getpwall() if user.pw_name == name)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                           "--pdeathsig", "INT", "--"]

    def start(self) -> None:
        data, binaries = self.folder / "data", programs()
        if not data.exists():
            self._run(binaries / "initdb", "--pgdata", data, "--username=postgres", "--auth=trust", "--encoding=UTF8",
                      "--locale=C", "--no-sync")
            if self.address:
                with (data / "pg_hba.conf").open("a") as rules:
                    rules.write(f"host all all {self.address}/24 trust\n")
        options = [word for setting in self.settings for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, binaries / "postgres", "-D", data, "-k", self.folder, "-c", f"listen_addresses={self.address}",
                 *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        eventually(self._answers, "PostgreSQL answers")

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None

    def end(self) -> None:
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            self.stop(signal.SIGQUIT)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, database: str = "postgres", user: str = "postgres", **options: Any) -> psycopg.Connection[Row]:
        options = dict[str, Any](autocommit=True, row_factory=psycopg.rows.namedtuple_row) | options
        return psycopg.connect(host=str(self.folder), dbname=database, user=user, **options)

    def prepare(self) -> None:
        """Makes the template of the tests' databases: a schema, and login roles."""
        with self.connect() as connection:
            connection.execute("CREATE DATABASE fleet_template")
        with self.connect("fleet_template") as connection:
            migrate(connection)
            for login, role in LOGINS.items():
                connection.execute(f"CREATE ROLE {login} LOGIN" + (f" IN ROLE {role}" if role else ""))

    def create(self, template: str = "fleet_template") -> str:
        name = f"fleet_{next(self.numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, name: str) -> None:
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _run(self, *command: Any) -> None:
        done = subprocess.run([*self.prefix, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              cwd=self.folder, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command[0]} failed: {done.stderr}")

    def _answers(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise AssertionError("PostgreSQL ended: " + (self.folder / "log").read_text())
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def migrate(connection: psycopg.Connection[Row]) -> None:
    """Runs all files in one transaction, as dld-fleet does."""
    with connection.transaction():
        for path in SCHEMA:
            connection.execute(path.read_bytes())


def value(connection: psycopg.Connection[Row], query: Any, arguments: Any = None) -> Any:
    """The first value of the first row; null if there is none."""
    row = connection.execute(query, arguments).fetchone()
    return None if row is None else row[0]


def spec(url: str = "https://files.example/one.iso", **members: Any) -> Jsonb:
    return Jsonb({"url": url} | members)


def open_server(*settings: str) -> None:
    """Starts the server of a module's tests. It ends with them."""
    server = Server(*settings)
    unittest.addModuleCleanup(server.end)
    server.start()
    server.prepare()
    DatabaseTest.server = server


class Ear:
    """A connection that listens."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.connection, self.notes, self.ends = connection, list[tuple[str, str]](), itertools.count()
        connection.add_notify_handler(lambda note: self.notes.append((note.channel, note.payload)))
        connection.execute("LISTEN dld_jobs; LISTEN dld_ends; LISTEN dld_control; LISTEN the_end")

    def heard(self) -> list[tuple[str, str]]:
        """What was said since the last call. Notifications come in the order of commits, so the own one is the last."""
        end = ("the_end", str(next(self.ends)))
        self.connection.execute("SELECT pg_notify(%s, %s)", end)
        eventually(lambda: self.connection.execute("SELECT 1") and end in self.notes, "the own notification comes")
        place = self.notes.index(end)
        heard, self.notes = self.notes[:place], self.notes[place + 1:]
        return heard


class Node:
    """A node as the database sees it: a name, an instance, and a connection of its login role."""

    def __init__(self, connection: psycopg.Connection[Row], name: str, pools: tuple[str, ...], labels: tuple[str, ...]) -> None:
        self.connection, self.name, self.instance = connection, name, uuid.uuid4()
        self.pools, self.labels = list(pools), list(labels)
        self.register()

    def register(self) -> None:
        self.connection.execute(
            "SELECT dld.register(%s, %s, %s, %s, 16, '1.0')", (self.name, self.instance, self.pools, self.labels))

    def claim(self, count: int = 1, lease: str = "60 s") -> list[Row]:
        return self.connection.execute(
            "SELECT * FROM dld.claim(%s, %s, %s, %s)", (self.name, self.instance, count, lease)).fetchall()

    def leases(self) -> list[Row]:
        return self.connection.execute("SELECT * FROM dld.leases(%s)", (self.name,)).fetchall()

    def renew(self, *leases: tuple[int, int], progress: list[Any] | None = None, lease: str = "60 s",
              figures: Any = None) -> list[tuple[int, int, str]]:
        given = [None if value is None else Jsonb(value) for value in progress or [None] * len(leases)]
        rows = self.connection.execute(
            "SELECT * FROM dld.renew(%s, %s, %s::bigint[], %s::bigint[], %s::jsonb[], %s, %s)",
            (self.name, self.instance, [id for id, _ in leases], [epoch for _, epoch in leases], given, lease,
             None if figures is None else Jsonb(figures)))
        return [tuple(row) for row in rows]

    def finish(self, id: int, epoch: int, outcome: str = "done", detail: Any = None, delay: str | None = "5 s") -> str:
        given = {"size": 1} if outcome == "done" else {"code": "network.connect"}
        return str(value(self.connection, "SELECT dld.finish(%s, %s, %s, %s, %s, %s)",
                         (self.name, id, epoch, outcome, Jsonb(given if detail is None else detail), delay)))

    def release(self, id: int, epoch: int, resume: Any = None) -> str:
        return str(value(self.connection, "SELECT dld.release(%s, %s, %s, %s)",
                         (self.name, id, epoch, None if resume is None else Jsonb(resume))))


class DatabaseTest(unittest.TestCase):
    """A test with a database of its own, on the server of its module."""

    server: Server

    def setUp(self) -> None:
        self.database = self.server.create()
        self.addCleanup(self.server.drop, self.database)
        self.owner = self.connect("postgres")
        self.ann = self.connect("ann")
        self.otto = self.connect("otto")

    def connect(self, user: str, **options: Any) -> psycopg.Connection[Row]:
        # A statement that hangs fails its test, instead of the whole run.
        limit = f"-c statement_timeout={PATIENCE:g}s"
        connection = self.server.connect(self.database, user, options=limit, **options)
        self.addCleanup(connection.close)
        return connection

    def ear(self) -> Ear:
        return Ear(self.connect("ann"))

    def node(self, name: str = "a", *labels: str, pools: tuple[str, ...] = ("default",), login: str = "node_a") -> Node:
        return Node(self.connect(login), name, pools, labels)

    def enqueue(self, url: str = "https://files.example/one.iso", pool: str = "default", **options: Any) -> int:
        names = "".join(f", {name} => %({name})s" for name in options)
        return int(self.value(self.ann, f"SELECT dld.enqueue(%(pool)s, %(spec)s{names})",
                              {"pool": pool, "spec": spec(url)} | options))

    def enqueue_many(self, count: int, url: str = "https://files.example/one.iso", pool: str = "default") -> None:
        self.ann.execute("SELECT dld.enqueue_many(%s, array_fill(%s::jsonb, ARRAY[%s::int]))", (pool, spec(url), count))

    def limit(self, host: str, most: int | None, pool: str = "default") -> None:
        self.otto.execute("SELECT dld.set_limit(%s, %s, %s)", (pool, host, most))

    def cancel(self, id: int) -> Any:
        return self.value(self.ann, "SELECT dld.cancel(%s)", (id,))

    def retry(self, id: int, most: int | None = None) -> Any:
        return self.value(self.ann, "SELECT dld.retry(%s, %s)", (id, most))

    def job(self, id: int) -> Row:
        return self.owner.execute("SELECT * FROM dld.jobs WHERE id = %s", (id,)).fetchone()

    def expire(self, *ids: int) -> None:
        """Lets the clock of leases run: nothing else of a row changes."""
        self.owner.execute("UPDATE dld.jobs SET lease_until = now() - interval '1 s' WHERE state = 'leased' AND id = ANY (%s)",
                           (list(ids),))

    @staticmethod
    def value(connection: psycopg.Connection[Row], query: Any, arguments: Any = None) -> Any:
        return value(connection, query, arguments)

    def refuses(self, code: str, action: Callable[..., object], *arguments: Any) -> None:
        with self.assertRaises(psycopg.Error) as caught:
            action(*arguments)
        self.assertEqual(caught.exception.sqlstate, code, caught.exception)

    def waits(self, connection: psycopg.Connection[Row]) -> bool:
        """Whether a statement of another thread waits for a lock."""
        return bool(self.value(self.owner, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s",
                               (connection.info.backend_pid,)))


class Crowd:
    """Threads that end together, and hand their errors over."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.results: list[Any] = []
        self.errors: list[BaseException] = []

    def start(self, action: Callable[..., Any], *arguments: Any) -> None:
        def run() -> None:
            try:
                self.results.append(action(*arguments))
            except BaseException as error:  # noqa: BLE001
                self.errors.append(error)

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def wait(self) -> list[Any]:
        for thread in self.threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                raise AssertionError("a thread of the test does not end")
        if self.errors:
            raise self.errors[0]
        return self.results


def pairs(rows: list[Row]) -> list[tuple[int, int]]:
    """What names a lease: its job and its epoch."""
    return [(row.id, row.epoch) for row in rows]


def ids(rows: list[Row]) -> list[int]:
    return [row.id for row in rows]


def batches(values: list[Value], size: int) -> Iterator[list[Value]]:
    for start in range(0, len(values), size):
        yield values[start:start + size]
