"""What the contract promises in numbers (section 6), and how networks and clocks fail for real (section 4). All are long.

DLD_FLEET_JOBS says how many jobs the first test has. Numbers go to the results of the run (support.record).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import support
from house import MEGABYTE, FleetTest, Machine, Origin
from psycopg.types.json import Jsonb
from support import PATIENCE, Row, Server, batches, eventually, record

#: As in the contract. The tests of `house` have short ones.
DEFAULTS: dict[str, Any] = {"lease": "60s", "renew": "20s", "progressInterval": "5s", "handBackAfter": "60s",
                            "logLevel": "info"}
DAY = 86_400


def setUpModule() -> None:
    if not os.environ.get("DLD_LONG_TESTS"):
        raise unittest.SkipTest("takes long; set DLD_LONG_TESTS=1")
    # timeout(1) sends it; the networks must go all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    support.open_server("log_line_prefix=%m %d %u ")


class Many(FleetTest):
    jobs = int(os.environ.get("DLD_FLEET_JOBS", "10000"))
    most = 2

    def test_many_jobs_on_four_nodes(self) -> None:
        """Servers are busy and reset connections, and one of two hosts has a limit."""
        paths = [f"/{number}" for number in range(self.jobs)]
        planned = self.plan(paths)
        self.limit(self.origin.host, self.most)
        urls = [self.origin.url(path, "localhost" if number % 20 else "127.0.0.1") for number, path in enumerate(paths)]
        ears = self.connect("ann")
        ears.execute("LISTEN dld_ends")
        machines = [self.machine(name, backoff={"first": "0.5s", "longest": "5s"}, poll="1s", **DEFAULTS) for name in "abcd"]
        for machine in machines:
            self.registered(machine.name)
        began = time.monotonic()
        for some in batches(urls, 10_000):
            self.ann.execute("SELECT dld.enqueue_many('default', %s::jsonb[])", ([Jsonb({"url": url}) for url in some],))
        ends = self.hear(ears)
        ended = time.monotonic()
        for machine in machines:
            self.forgets(machine)
            # A connection that ends reports what it counted.
            self.assertEqual(machine.node.stop(), 0)
        self.record_rows(ended)
        self.check_rows(dict(zip(urls, paths, strict=True)))
        self.assertEqual((len(ends), set(ends.values())), (self.jobs, {1}))
        self.assertEqual(sorted(name for machine in machines for name in machine.names()), sorted(path[1:] for path in paths))
        self.assertTrue(all(machine.names() for machine in machines), "a node did nothing")
        # A path that failed was asked for once more, and no other path was.
        asked = Counter(self.origin.order)
        self.assertEqual({path for path in paths if asked[path] != 1 + (path in planned)}, set())
        self.assertLessEqual(self.origin.most[self.origin.host], self.most)
        self.record(ended - began, len(planned))

    def plan(self, paths: list[str]) -> set[str]:
        for number, path in enumerate(paths):
            if number % 10 == 0:
                self.origin.plan(path, (503, {"Retry-After": "1"}) if number % 200 == 50 else 503)
            elif number % 7 == 1:
                self.origin.plan(path, "reset")
        return {path for number, path in enumerate(paths) if number % 10 == 0 or number % 7 == 1}

    def hear(self, ears: psycopg.Connection[Row]) -> Counter[str]:
        """The ends of all jobs, as they were announced."""
        ends: Counter[str] = Counter()
        while len(ends) < self.jobs:
            notes = [note.payload for note in ears.notifies(timeout=PATIENCE, stop_after=1)]
            ends.update(notes)
            if not notes:
                self.eventually(lambda: False, f"after {len(ends)} ends, another one")
        ears.execute("SELECT 1")
        ends.update(note.payload for note in ears.notifies(timeout=0.5))
        return ends

    def check_rows(self, paths: dict[str, str]) -> None:
        folders = {machine.name: machine.files for machine in self.machines}
        rows = self.owner.execute("SELECT spec ->> 'url' AS url, * FROM dld.jobs").fetchall()
        self.assertEqual(sorted(row.url for row in rows), sorted(paths))
        for row in rows:
            self.assertEqual((row.state, row.error), ("done", None), row)
            self.assertEqual([entry["end"] for entry in row.history if entry["end"] != "requeued"], ["done"], row.history)
            path = paths[row.url]
            self.assertEqual(row.result["sha256"], self.origin.sha256(path))
            self.assertEqual((folders[row.result["node"]] / row.result["path"]).read_bytes(), self.origin.body(path))

    def record(self, took: float, planned: int) -> None:
        record(f"{self.jobs:,} jobs, 4 nodes, {planned:,} planted failures: done once, each file right", "all", "all")
        record("the same: jobs a second, with origin and database on the same machine", "–", f"{self.jobs / took:.0f}")
        record("requests at once at a host with a limit", f"{self.most}", f"{self.origin.most[self.origin.host]}")

    def record_rows(self, ended: float) -> None:
        def counts() -> Row:
            return self.owner.execute("SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot, n_dead_tup AS dead"
                                      " FROM pg_stat_user_tables WHERE relid = 'dld.jobs'::regclass").fetchone()

        seen = counts()
        record("updates of `dld.jobs` for a job", "≤ 4", f"{seen.updates / self.jobs:.2f}", seen.updates <= 4 * self.jobs)
        record("of them HOT", "–", f"{100 * seen.hot / seen.updates:.0f} %")
        self.assertGreaterEqual(seen.updates, 2 * self.jobs)
        self.assertLessEqual(seen.updates, 4 * self.jobs)
        dead = eventually(lambda: c if 5 * (c := counts()).dead < self.jobs else None, "dead rows go").dead
        later = time.monotonic() - ended
        record("seconds until less than 20 % of the rows are dead", "≤ 10", f"{later:.1f} ({100 * dead / self.jobs:.0f} %)",
               later <= 10)


class Hearing(FleetTest):
    def test_a_job_reaches_an_idle_node_at_once(self) -> None:
        """Only a notification can: the node does not poll."""
        machine = self.machine(**DEFAULTS | {"poll": "1h"})
        self.ends(self.add("/first"))
        waits = []
        for number in range(40):
            self.idles(machine)
            path = f"/{number}"
            id = self.add(path)
            committed = time.monotonic()
            self.ends(id)
            waits.append(max(0.0, self.origin.times[path][0] - committed))
        record("commit of a job to its request at the origin, 40 jobs, idle node: median, longest", "≤ 1 s",
               f"{statistics.median(waits):.2f} s, {max(waits):.2f} s", max(waits) <= 1)

    def idles(self, machine: Machine) -> None:
        """Waits until the node has nothing, and the pause after its last claim is over."""
        self.forgets(machine)
        self.eventually(lambda: self.value(
            self.owner, "SELECT bool_and(state = 'idle' AND state_change < now() - interval '0.7 s') FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = 'node_a'"), "the node is idle")

    def test_an_idle_node_says_little_for_a_minute(self) -> None:
        self.owner.execute(f"ALTER DATABASE {self.database} SET log_statement = 'all'")
        machine = self.machine(**DEFAULTS | {"poll": "0.1s"})
        self.ends(self.add())
        self.forgets(machine)
        begin = len(self.log())
        deadline = time.monotonic() + 2 * PATIENCE
        while (span := self.span(lines := self.log()[begin:])) < 60:
            self.assertLess(time.monotonic(), deadline, lines)
            time.sleep(0.2)
        # The first one begins the minute.
        count = len(lines) - 1
        record(f"statements of an idle node in {span:.0f} s", "≤ 1 in 5 s", f"{count}", count <= span / 5)
        self.assertLessEqual(count, span / 5 + 1, "\n".join(lines))

    def log(self) -> list[str]:
        """What the node said to the server."""
        text = (self.server.folder / "log").read_text(errors="replace")
        return [line for line in text.splitlines() if f" {self.database} node_a " in line and "LOG:" in line]

    def span(self, lines: list[str]) -> float:
        if len(lines) < 2:
            return 0
        first, last = (" ".join(lines[at].split(" ")[:3]) for at in (0, -1))
        return float(self.value(self.owner, "SELECT extract(epoch FROM %s::timestamptz - %s::timestamptz)", (last, first)))


class Network:
    """Namespaces with two links each: one to the database, one to the origin."""

    def __init__(self) -> None:
        number = os.getpid()
        self.tag = f"dlf{number}"
        self.prefix = f"10.{64 + number // 256 % 64}.{number % 256}"
        self.database, self.origin = f"{self.prefix}.1", f"{self.prefix}.129"
        self.names: list[str] = []
        with contextlib.ExitStack() as stack:
            stack.callback(self.end)
            for side, address in (("d", self.database), ("o", self.origin)):
                self.ip(f"link add {self.tag}{side} type bridge")
                self.ip(f"addr add {address}/25 dev {self.tag}{side}")
                self.ip(f"link set {self.tag}{side} up")
            for name in "ab":
                self.join(name)
            stack.pop_all()

    def join(self, name: str) -> None:
        space, number = self.tag + name, len(self.names)
        self.ip(f"netns add {space}")
        self.names.append(name)
        self.ip(f"-n {space} link set lo up")
        for side, first in (("d", 2), ("o", 130)):
            self.ip(f"link add {self.tag}{side}{name} type veth peer name {side}0 netns {space}")
            self.ip(f"link set {self.tag}{side}{name} master {self.tag}{side} up")
            self.ip(f"-n {space} addr add {self.prefix}.{first + number}/25 dev {side}0")
            self.ip(f"-n {space} link set {side}0 up")

    def end(self) -> None:
        for words in [f"netns del {self.tag}{name}" for name in self.names] + [f"link del {self.tag}{side}" for side in "do"]:
            with contextlib.suppress(OSError):
                self.ip(words)

    @staticmethod
    def ip(words: str) -> None:
        done = subprocess.run(["ip", *words.split()], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"ip {words}: {done.stderr}")

    def inside(self, name: str) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.tag + name)

    def link(self, name: str, state: str) -> None:
        """Sets the node's link to the database up or down."""
        self.ip(f"-n {self.tag}{name} link set d0 {state}")

    def loss(self, name: str, action: str, *chains: str, some: str = "") -> None:
        """Adds (-A) or removes (-D) rules which lose all or some packets between a node and the database."""
        for chain in chains:
            self.ip(f"netns exec {self.tag}{name} iptables -w {action} {chain} {'-s' if chain == 'INPUT' else '-d'}"
                    f" {self.database} {some} -j DROP")


class Partitions(FleetTest):
    """Between node a and the database; each finds the origin all the time."""

    network: Network

    @classmethod
    def setUpClass(cls) -> None:
        if os.getuid() or not all(map(shutil.which, ("ip", "iptables"))):
            support.record("partitions of node and database", "as section 4", "not run: root, ip and iptables are needed", False)
            raise unittest.SkipTest("needs root, ip and iptables")
        try:
            cls.network = Network()
        except OSError as error:
            support.record("partitions of node and database", "as section 4", f"not run: {error}", False)
            raise unittest.SkipTest(f"network namespaces cannot be made: {error}") from None
        cls.addClassCleanup(cls.network.end)
        atexit.register(cls.network.end)
        cls.server, cls.address = Server(address=cls.network.database), cls.network.origin
        cls.addClassCleanup(cls.server.end)
        cls.server.start()
        cls.server.prepare()

    def setUp(self) -> None:
        super().setUp()
        #: Another port is another host. It has no limit.
        self.other = Origin(self.address)
        self.addCleanup(self.other.end)
        self.limit(self.origin.host, 1)

    def test_the_link_is_down(self) -> None:
        self.check("link down", lambda: self.network.link("a", "down"), lambda: self.network.link("a", "up"))

    def test_packets_are_lost(self) -> None:
        self.lose("all packets lost", "INPUT", "OUTPUT")

    def test_requests_are_lost(self) -> None:
        self.lose("packets to the database lost", "OUTPUT")

    def test_answers_are_lost(self) -> None:
        self.lose("packets of the database lost", "INPUT")

    def test_some_packets_are_lost(self) -> None:
        """Each job is done once, whatever the renewals do."""
        try:
            self.network.loss("a", "-A", "INPUT", "OUTPUT", some="-m statistic --mode random --probability 0.25")
        except OSError as error:
            self.skipTest(f"iptables cannot lose packets at random: {error}")
        self.addCleanup(self.network.loss, "a", "-D", "INPUT", "OUTPUT", some="-m statistic --mode random --probability 0.25")
        ear = self.ear()
        jobs = {self.add(self.other.url(f"/{number}"), {"destination": {"filename": "{id}"}}, max_attempts=100): f"/{number}"
                for number in range(100)}
        machines = []
        for space in "ab":
            machines.append(self.inside(f"{space}-some", space, capacity=4))
            self.eventually(lambda: len(self.other.order) > 0, "jobs run")
        for id, path in jobs.items():
            row = self.ends(id)
            self.assertEqual(row.result["sha256"], self.other.sha256(path))
            self.assertEqual([end for _, _, end in self.story(id)].count("done"), 1, row.history)
        ends = Counter(payload for channel, payload in ear.heard() if channel == "dld_ends")
        self.assertEqual((len(ends), set(ends.values())), (len(jobs), {1}))
        for machine in machines:
            self.forgets(machine)
            self.assertTrue(machine.names(), f"{machine.name} did nothing")
        self.assertEqual(sorted(name for machine in machines for name in machine.names()), sorted(map(str, jobs)))
        record("node and database, a quarter of the packets lost each way, 100 jobs: done once, one file", "all", "all")

    def lose(self, what: str, *chains: str) -> None:
        self.check(what, lambda: self.network.loss("a", "-A", *chains), lambda: self.network.loss("a", "-D", *chains))

    def check(self, what: str, cut: Callable[[], None], mend: Callable[[], None]) -> None:
        for part in (self.shorter, self.longer, self.taken):
            with contextlib.ExitStack() as stack:
                def cut_once(stack: contextlib.ExitStack = stack) -> None:
                    cut()
                    stack.callback(mend)

                part(cut_once, stack.close)
            for machine in self.machines:
                machine.kill()
        record(f"node and database, {what}: shorter than a lease; longer; longer with another node", "as section 4", "yes")

    def inside(self, name: str, space: str, **settings: Any) -> Machine:
        machine = self.machine(name, starts=False, server=self.network.database, **settings)
        for program in (machine.daemon, machine.node):
            program.prefix = self.network.inside(space)
        machine.start()
        return machine

    def two(self, machine: Machine) -> dict[int, Origin]:
        """A job of the host with a limit and one of the other, each with half of its bytes."""
        jobs = {}
        for origin in (self.origin, self.other):
            path = f"/{machine.name}"
            origin.sizes[path] = 2 * MEGABYTE
            origin.hold(path, after=MEGABYTE)
            name = "limited" if origin is self.origin else "free"
            jobs[self.add(origin.url(path), {"destination": {"filename": f"{name}-{machine.name}"}})] = origin
        self.holds(machine, 2 * MEGABYTE)
        return jobs

    def release(self, machine: Machine) -> None:
        for origin in (self.origin, self.other):
            origin.release(f"/{machine.name}")

    def states(self, machine: Machine) -> set[tuple[str, str]]:
        return {("limited" if self.origin.host in task["url"] else "free", task["state"]) for task in machine.tasks()}

    def unseen(self, name: str, seconds: float) -> None:
        self.eventually(lambda: self.value(
            self.owner, "SELECT seen_at < now() - %s * interval '1 s' FROM dld.nodes WHERE name = %s", (seconds, name)),
            f"the database misses {name}")

    def are_done(self, jobs: dict[int, Origin], machine: Machine, node: str, epoch: int) -> list[Row]:
        rows = []
        for id, origin in jobs.items():
            row = self.ends(id)
            rows.append(row)
            self.assertEqual((row.lease_epoch, row.attempts, row.result["node"]), (epoch, epoch, node), row.history)
            self.assertEqual(row.result["sha256"], origin.sha256(f"/{machine.name}"))
        self.assertEqual(self.origin.most[self.origin.host], 1)
        return rows

    def shorter(self, cut: Callable[[], None], mend: Callable[[], None]) -> None:
        """Nothing happens, though another node waits for jobs."""
        machine = self.inside("a-shorter", "a", lease="60s", renew="1s")
        jobs = self.two(machine)
        self.inside("b-shorter", "b", lease="60s", renew="2s")
        self.registered("b-shorter")
        cut()
        self.unseen(machine.name, 4)
        self.assertEqual(self.states(machine), {("limited", "running"), ("free", "running")})
        mend()
        before = self.value(self.owner, "SELECT now()")
        self.eventually(lambda: self.registered(machine.name) > before, "the node is back")
        self.release(machine)
        self.are_done(jobs, machine, machine.name, 1)
        self.assertEqual([origin.count(f"/{machine.name}") for origin in jobs.values()], [1, 1])
        self.forgets(machine)

    def longer(self, cut: Callable[[], None], mend: Callable[[], None]) -> None:
        """The host with a limit is left alone while the lease is unsure. Nobody took the jobs, so both go on."""
        machine = self.inside("a-longer", "a")
        jobs = self.two(machine)
        cut()
        self.eventually(lambda: self.states(machine) == {("limited", "paused"), ("free", "running")}, "the limited one pauses")
        self.eventually(lambda: self.origin.now == 0, "its request ends")
        self.unseen(machine.name, 4)
        mend()
        self.eventually(lambda: self.states(machine) == {("limited", "running"), ("free", "running")}, "both run")
        self.release(machine)
        self.are_done(jobs, machine, machine.name, 1)
        self.assertEqual(self.other.count(f"/{machine.name}"), 1)
        self.forgets(machine)

    def taken(self, cut: Callable[[], None], mend: Callable[[], None]) -> None:
        """Another node has the jobs, and the late end is refused."""
        first = self.inside("a-taken", "a")
        jobs = self.two(first)
        cut()
        self.eventually(lambda: ("limited", "paused") in self.states(first), "the limited one pauses")
        self.release(first)
        self.eventually(lambda: ("free", "completed") in self.states(first), "the free one ends")
        second = self.inside("b-taken", "b", lease="60s", renew="2s")
        rows = self.are_done(jobs, first, second.name, 2)
        self.assertEqual([self.story(id) for id in jobs], [[(1, first.name, "expired"), (2, second.name, "done")]] * 2)
        mend()
        self.forgets(first)
        self.eventually(lambda: not first.names(), "its files go")
        self.assertEqual([self.job(id) for id in jobs], rows)
        self.assertEqual(sorted(second.names()), [f"free-{first.name}", f"limited-{first.name}"])
        self.forgets(second)


class Clocks(FleetTest):
    """The wall clock of one program steps while jobs run: nothing changes."""

    library: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="dld-clock-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.library = folder / "clock.so"
        code = support.CHECKOUT / "Tests" / "Clock" / "clock.c"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", cls.library, code, "-ldl"], check=True)

    def setUp(self) -> None:
        super().setUp()
        self.limit(self.origin.host, 3)
        #: Renewals are so frequent that a lease is lost only if they stop. A limited host would be left alone.
        self.first = self.machine(starts=False, lease="15s", renew="1s", localAttempts=3, labels=["a"], handBackAfter="60s",
                                  backoff={"first": "1s"})
        self.clocks = {}
        for program in (self.first.node, self.first.daemon):
            clock = self.clocks[program.name] = self.first.folder / f"{program.name}.clock"
            clock.write_bytes(bytes(8))
            program.variables |= {"LD_PRELOAD": str(self.library), "CLOCK_FILE": str(clock)}

    def test_the_clock_of_a_node(self) -> None:
        self.check("dld-fleet")

    def test_the_clock_of_dld(self) -> None:
        self.check("dld")

    def test_the_clocks_of_both(self) -> None:
        self.check("dld", "dld-fleet")

    def check(self, *names: str) -> None:
        self.first.start()
        self.origin.sizes["/slow"] = 2 * MEGABYTE
        self.origin.hold("/slow", after=MEGABYTE)
        slow = self.add("/slow", {"timeoutIntervalForRequest": 600})
        self.holds(self.first, MEGABYTE)
        self.machine("b", lease="60s")
        self.registered("b")
        for step, seconds in enumerate((DAY, -DAY, 0)):
            self.steps(names, step, seconds)
            self.is_renewed(slow)
        self.origin.release("/slow")
        self.is_done(slow, "/slow", 1)
        self.assertEqual((self.origin.count("/slow"), self.origin.sent["/slow"]), (1, 2 * MEGABYTE))
        self.forgets(self.first)
        record(f"the clock of {' and '.join(names)} steps by a day, forth and back: attempts, lost leases", "1, 0", "1, 0")

    def steps(self, names: tuple[str, ...], step: int, seconds: int) -> None:
        """Sets the clocks while a job waits in dld, one waits in the table, and one is under way."""
        local, far = f"/local-{step}", f"/far-{step}"
        self.origin.plan(local, (503, {"Retry-After": "3"}))
        self.origin.plan(far, *[503] * 3)
        ids = [self.add(path, labels=["a"]) for path in (local, far)]
        self.eventually(lambda: self.origin.count(local) and self.origin.count(far), "both failed once")
        for name in names:
            self.set(name, seconds)
        if "dld" in names:
            self.assertLess(abs(self.time_of_dld(f"s{step}") - time.time() - seconds), PATIENCE)
        self.is_done(ids[0], local, 1)
        # Three failures in dld are one in the table.
        self.is_done(ids[1], far, 2)
        if "dld-fleet" in names:
            self.eventually(lambda: self.writes_the_date(seconds), "the node's log has the date of its clock")
        # Another process of the node finds its leases again, and adds no task twice.
        self.first.node.kill()
        self.first.node.start()
        id = self.add(f"/new-{step}", labels=["a"])
        self.is_done(id, f"/new-{step}", 1)

    def set(self, name: str, seconds: int) -> None:
        with self.clocks[name].open("r+b") as file:
            file.write(struct.pack("=q", seconds))

    def time_of_dld(self, name: str) -> float:
        created = self.first.call("session.open", id=name)["createdAt"]
        return float(self.value(self.owner, "SELECT extract(epoch FROM %s::timestamptz)", (created,)))

    def writes_the_date(self, offset: int) -> bool:
        # Midnight may be just now.
        days = {time.strftime("\n%Y-%m-%dT", time.gmtime(time.time() + offset - ago)) for ago in (0, 600)}
        return any(day in self.first.node.said for day in days)

    def is_renewed(self, id: int) -> None:
        """Waits until the lease would have been lost without renewals."""
        now = self.value(self.owner, "SELECT now()")
        self.eventually(lambda: self.value(self.owner, "SELECT lease_until > %s + interval '32 s' FROM dld.jobs WHERE id = %s",
                                           (now, id)), "the lease is renewed")

    def is_done(self, id: int, path: str, attempts: int) -> None:
        row = self.ends(id)
        self.assertEqual((row.lease_epoch, row.result["node"]), (attempts, "a"), row.history)
        self.assertEqual([end for _, _, end in self.story(id)], ["requeued"] * (attempts - 1) + ["done"])
        self.assertEqual(row.result["sha256"], self.origin.sha256(path))
