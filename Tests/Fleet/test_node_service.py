"""The node as a service: how it starts, drains, ends, reads its settings again, and hears of jobs."""

from __future__ import annotations

import json
import signal
import socket
import subprocess

import support
from house import BINARIES, MEGABYTE, FleetTest, Machine, long


def setUpModule() -> None:
    support.open_server("log_line_prefix=%m %d %u ")


class Draining(FleetTest):
    def state(self, name: str = "a") -> str:
        """The node's state, as an operator sees it."""
        done = subprocess.run([BINARIES / "dld-fleet", "nodes", "--json"], capture_output=True, text=True, check=True, env={
            "HOME": "/nonexistent", "PGHOST": str(self.server.folder), "PGDATABASE": self.database, "PGUSER": "otto"})
        return str(next(node["state"] for node in json.loads(done.stdout)["nodes"] if node["name"] == name))

    def test_an_operator_drains_a_node(self) -> None:
        """What runs ends normally; nothing is claimed until the undo, even after a restart."""
        machine = self.machine()
        self.origin.hold("/slow", after=500)
        slow = self.add("/slow")
        self.holds(machine, 500)
        self.drain("a")
        self.assertEqual(self.state(), "draining")
        late = self.add("/late")
        self.origin.release("/slow")
        self.assertEqual(self.ends(slow).attempts, 1)
        self.eventually(lambda: self.state() == "drained", "the node is drained")
        self.assertEqual(machine.node.stop(), 0)
        before = self.registered()
        machine.node.start()
        self.eventually(lambda: self.registered() > before, "the node registers again")
        other = self.machine("b", policy={"pools": ["second"]})
        self.ends(self.add("/second", pool="second"))
        self.assertEqual((self.job(late).attempts, self.state()), (0, "drained"))
        self.drain("a", False)
        self.assertEqual(self.ends(late).result["node"], "a")
        self.assertEqual((self.state(), other.node.stop()), ("up", 0))

    def test_what_a_drain_cannot_wait_for_is_handed_back(self) -> None:
        machine = self.machine()
        self.origin.hold("/slow", after=500)
        id = self.add("/slow")
        self.holds(machine, 500)
        self.drain("a", limit="0")
        job = self.becomes(id, "queued")
        self.assertEqual((job.attempts, job.resume, job.error, self.story(id)), (0, None, None, [(1, "a", "released")]))
        self.forgets(machine)
        self.assertEqual(machine.names(), [])
        self.origin.release("/slow")
        self.machine("b")
        job = self.ends(id)
        self.assertEqual((job.attempts, job.lease_epoch, job.result["node"]), (1, 2, "b"))

    def test_a_shared_folder_keeps_the_bytes(self) -> None:
        """The next node asks the origin for the rest only."""
        folder = self.shared_folder()
        policy = {"folders": [{"path": str(folder), "shared": True}]}
        first = self.machine(policy=policy)
        self.origin.sizes["/large"] = 2 * MEGABYTE
        self.origin.hold("/large", after=MEGABYTE)
        id = self.add("/large")
        self.holds(first, MEGABYTE)
        self.drain("a", limit="0")
        job = self.becomes(id, "queued")
        self.assertIsNotNone(job.resume)
        self.assertEqual((job.attempts, job.resume["node"], job.resume["bytes"]), (0, "a", MEGABYTE))
        self.origin.release("/large")
        self.machine("b", policy=policy)
        job = self.ends(id)
        self.assertEqual((job.result["sha256"], job.result["shared"]), (self.origin.sha256("/large"), True))
        self.assertEqual(self.origin.ranges("/large"), [None, f"bytes={MEGABYTE}-"])
        self.assertEqual([path.name for path in folder.iterdir()], ["large"])

    def test_resume_data_that_dld_refuses_means_a_fresh_task(self) -> None:
        id = self.add("/one")
        self.owner.execute("""UPDATE dld.jobs SET resume = '{"data": "eA==", "node": "z", "bytes": 1}' WHERE id = %s""", (id,))
        self.machine()
        self.assertEqual(self.ends(id).attempts, 1)

    def test_sigterm_waits_for_jobs(self) -> None:
        machine = self.machine(capacity=1)
        self.origin.hold("/slow", after=500)
        slow, late = self.add("/slow"), self.add("/late")
        self.holds(machine, 500)
        machine.node.signal(signal.SIGTERM)
        self.origin.release("/slow")
        self.assertEqual(machine.node.wait(), 0)
        self.assertEqual((self.job(slow).state, self.job(late).state, self.job(late).attempts), ("done", "queued", 0))
        # A drain by SIGTERM ends with its process.
        machine.node.start()
        self.ends(late)

    def test_a_second_sigterm_hands_back_at_once(self) -> None:
        machine = self.machine()
        self.origin.hold("/slow", after=500)
        id = self.add("/slow")
        self.holds(machine, 500)
        machine.node.signal(signal.SIGTERM)
        # Two of one kind may arrive as one.
        machine.node.signal(signal.SIGINT)
        self.assertEqual(machine.node.wait(), 0)
        self.assertEqual((self.job(id).state, self.job(id).attempts, self.story(id)), ("queued", 0, [(1, "a", "released")]))
        self.assertEqual((machine.tasks(), machine.names()), ([], []))

    def test_sigterm_hands_back_after_its_limit(self) -> None:
        folder = self.shared_folder()
        machine = self.machine(drainLimit="1s", policy={"folders": [{"path": str(folder), "shared": True}]})
        self.origin.hold("/slow", after=500)
        id = self.add("/slow")
        self.holds(machine, 500)
        self.assertEqual(machine.node.stop(), 0)
        job = self.job(id)
        self.assertEqual((job.state, self.story(id)), ("queued", [(1, "a", "released")]))
        self.assertIsNotNone(job.resume, machine.node.said)

    def test_sigterm_ends_an_idle_node(self) -> None:
        machine = self.machine()
        self.registered()
        self.assertEqual(machine.node.stop(), 0)


class Starting(FleetTest):
    def refuses(self, status: int, machine: Machine, *words: str) -> None:  # type: ignore[override]
        machine.node.start()
        self.assertEqual(machine.node.wait(), status, machine.node.said)
        for word in words:
            self.assertIn(word, machine.node.said)

    def test_the_second_of_two_nodes_with_one_name_ends(self) -> None:
        first = self.machine()
        self.registered()
        self.refuses(4, self.machine(starts=False), "node a")
        self.ends(self.add())
        self.assertIsNone(first.node.process and first.node.process.poll())

    def test_a_name_of_another_login_is_refused(self) -> None:
        self.machine()
        self.registered()
        other = self.machine(starts=False)
        other.settings["database"] = other.settings["database"].replace("node_a", "node_b")
        other.write()
        self.refuses(4, other)

    def test_a_state_folder_has_one_node(self) -> None:
        first = self.machine()
        self.registered()
        second = self.machine("b", starts=False, stateDirectory=str(first.folder / "node"))
        self.refuses(4, second, str(first.folder / "node"))

    def test_a_mistake_in_the_file(self) -> None:
        machine = self.machine(starts=False)
        machine.write("nonsense: 1")
        self.refuses(78, machine, "fleet.yaml", "nonsense")
        machine.write("renew: 2s\nlease: 3s")
        self.refuses(78, machine)

    def test_a_missing_schema(self) -> None:
        self.owner.execute("DROP SCHEMA dld CASCADE")
        self.refuses(76, self.machine(starts=False), "0", "1")

    def test_a_schema_that_is_too_new(self) -> None:
        self.owner.execute("UPDATE dld.meta SET version = 9, compatible_from = 8")
        self.refuses(76, self.machine(starts=False), "8", "1")

    def test_a_running_node_meets_a_new_schema_when_it_reconnects(self) -> None:
        machine = self.machine()
        self.ends(self.add())
        self.owner.execute("UPDATE dld.meta SET version = 9, compatible_from = 8")
        self.owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node_a'")
        self.assertEqual(machine.node.wait(), 76, machine.node.said)

    def test_a_database_and_a_dld_that_come_late(self) -> None:
        machine = self.machine(starts=False)
        path = self.server.folder / ".s.PGSQL.5432"
        hidden = path.rename(path.with_suffix(".hidden"))
        try:
            machine.node.start()
            self.eventually(lambda: "database" in machine.node.said, "the node misses the database")
        finally:
            hidden.rename(path)
        self.registered()
        id = self.add()
        machine.start_daemon()
        self.ends(id)


class Changing(FleetTest):
    def test_sighup_reads_the_policy_again(self) -> None:
        machine = self.machine(policy={"headers": ["Accept"]})
        members = {"headers": [["X-Own", "1"]]}
        self.ends(self.add("/before", members), "failed")
        machine.write(headers=["*"], pools=["default", "new"])
        machine.node.signal(signal.SIGHUP)
        self.ends(self.add("/after", members, pool="new"))
        self.assertEqual(self.origin.order, ["/after"])

    def test_a_mistake_leaves_the_old_settings(self) -> None:
        machine = self.machine()
        self.ends(self.add("/before"))
        machine.write("nonsense: 1", pools=["other"])
        machine.node.signal(signal.SIGHUP)
        self.eventually(lambda: "nonsense" in machine.node.said, "the mistake is named")
        self.ends(self.add("/after"))

    def test_sighup_keeps_the_name(self) -> None:
        machine = self.machine()
        self.ends(self.add("/before"))
        machine.settings["name"] = "z"
        machine.write(pools=["new"])
        machine.node.signal(signal.SIGHUP)
        self.assertEqual(self.ends(self.add("/after", pool="new")).result["node"], "a")


class Hearing(FleetTest):
    def test_a_notification_wakes_the_node(self) -> None:
        self.machine(poll="1h")
        self.ends(self.add("/first"))
        for number in range(3):
            self.ends(self.add(f"/{number}"))

    def test_a_node_that_does_not_listen_polls(self) -> None:
        machine = self.machine(listen=False)
        self.registered()
        self.ends(self.add("/one"))
        self.origin.hold("/slow", after=500)
        slow = self.add("/slow")
        self.holds(machine, 500)
        self.cancel(slow)
        self.ends(slow, "cancelled")
        channels = self.owner.execute("SELECT query FROM pg_stat_activity WHERE usename = 'node_a' AND query ILIKE 'LISTEN%'")
        self.assertEqual(channels.fetchall(), [])

    def test_progress_is_stored(self) -> None:
        machine = self.machine()
        self.origin.sizes["/slow"] = MEGABYTE
        self.origin.hold("/slow", after=MEGABYTE // 2)
        id = self.add("/slow")
        progress = self.eventually(
            lambda: p if (p := self.job(id).progress) and p["bytes"] == MEGABYTE // 2 else None, "progress is stored")
        self.assertEqual((set(progress), progress["total"]), ({"bytes", "total", "rate", "at"}, MEGABYTE))
        figures = self.value(self.owner, "SELECT figures FROM dld.nodes")
        self.assertEqual(set(figures), {"running", "freeBytes", "dld", "taskErrors"})
        self.assertGreater(figures["freeBytes"], 0)
        self.assertTrue(machine.tasks())

    @long
    def test_an_idle_node_sends_a_statement_in_five_seconds(self) -> None:
        self.owner.execute(f"ALTER DATABASE {self.database} SET log_statement = 'all'")
        machine = self.machine(poll="0.1s")
        self.ends(self.add())
        self.forgets(machine)
        before = self.log()
        claims = self.eventually(lambda: c if len(c := self.log()[len(before):]) >= 4 else None, "four statements are sent")
        first, last = (claims[at].split(" ")[1] for at in (0, -1))
        elapsed = self.value(self.owner, "SELECT extract(epoch FROM %s::time - %s::time)", (last, first))
        self.assertLessEqual(len(claims), -(-elapsed // 5) + 2, "\n".join(claims))

    def log(self) -> list[str]:
        """What the node said to the server."""
        text = (self.server.folder / "log").read_text(errors="replace")
        return [line for line in text.splitlines() if f" {self.database} node_a " in line and "LOG:" in line]


class Telling(FleetTest):
    def test_systemd_is_told(self) -> None:
        """READY=1 follows the registration, and STATUS names the leases."""
        machine = self.machine(starts=False)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(support.PATIENCE)
            path = machine.folder / "notify"
            manager.bind(str(path))
            machine.node.variables["NOTIFY_SOCKET"] = str(path)
            machine.start()
            said = ""
            while "READY=1" not in said:
                said += manager.recv(4096).decode() + "\n"
            self.assertTrue(self.value(self.owner, "SELECT count(*) FROM dld.nodes"))
            while "STATUS=" not in said or "leases" not in said:
                said += manager.recv(4096).decode() + "\n"
            machine.node.signal(signal.SIGTERM)
            while "STOPPING=1" not in said:
                said += manager.recv(4096).decode() + "\n"
            self.assertEqual(machine.node.wait(), 0)

    def test_the_log_names_the_job(self) -> None:
        """Each end has one line, also if many jobs end alike."""
        machine = self.machine()
        ids = [self.add(f"/{number}") for number in range(30)]
        for id in ids:
            self.ends(id)
        self.assertEqual(machine.node.stop(), 0)
        for id in ids:
            [line] = [line for line in machine.node.said.splitlines() if f"FLEET_JOB={id} " in line]
            for word in ("FLEET_EPOCH=1", "FLEET_NODE=a", "done"):
                self.assertIn(word, line)
