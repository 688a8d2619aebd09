"""Nodes whose parts die, hang and come back: a job is done once in the table, and one file remains."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from typing import Any

import support
from house import MEGABYTE, FleetTest, Machine, Relay, long
from support import eventually

#: A lease that does not end during a test.
PATIENT: dict[str, Any] = {"lease": "120s", "renew": "40s"}


def setUpModule() -> None:
    support.open_server()


class FailureTest(FleetTest):
    def slow(self, machine: Machine, path: str = "/slow", **options: Any) -> int:
        """A job of which a machine has one MiB of two."""
        self.origin.sizes[path] = 2 * MEGABYTE
        self.origin.hold(path, after=MEGABYTE)
        before = machine.received()
        id = self.add(path, **options)
        self.holds(machine, before + MEGABYTE)
        return id

    def second(self) -> Machine:
        """Another node, which looks for expired leases all the time."""
        self.keep_busy("b")
        return self.machine("b", poll="0.2s", labels=["b"])

    @staticmethod
    def files(machine: Machine) -> list[str]:
        """Files without the one of the job that keeps it busy."""
        return [name for name in machine.names() if not name.startswith(".")]

    def finished(self, machine: Machine) -> None:
        self.eventually(lambda: all(task["state"] == "completed" for task in machine.tasks()), "dld has all bytes")

    def is_done_once(self, id: int, path: str, node: str = "a", epoch: int = 1) -> None:
        job = self.ends(id)
        self.assertEqual((job.lease_epoch, job.attempts), (epoch, epoch), job.history)
        self.assertEqual((job.result["node"], job.result["sha256"]), (node, self.origin.sha256(path)))
        self.assertEqual([end for end in self.story(id) if end[2] == "done"], [(epoch, node, "done")])


class Restarts(FailureTest):
    """Within the lease: the same node goes on."""

    def test_the_node_is_killed_while_a_task_runs(self) -> None:
        machine = self.machine(**PATIENT)
        id = self.slow(machine)
        machine.node.kill()
        machine.node.start()
        self.origin.release("/slow")
        self.is_done_once(id, "/slow")
        self.assertEqual((self.origin.count("/slow"), self.origin.sent["/slow"]), (1, 2 * MEGABYTE))
        self.forgets(machine)

    def test_the_task_ends_while_the_node_is_dead(self) -> None:
        machine = self.machine(**PATIENT)
        id = self.slow(machine)
        machine.node.kill()
        self.origin.release("/slow")
        self.finished(machine)
        machine.node.start()
        self.is_done_once(id, "/slow")
        self.assertEqual(self.origin.sent["/slow"], 2 * MEGABYTE)
        self.forgets(machine)
        self.assertEqual(machine.names(), ["slow"])

    def test_the_node_is_killed_again_and_again(self) -> None:
        machine = self.machine(**PATIENT)
        ids = [self.add(f"/{number}") for number in range(40)]
        for most in (1, 10, 20, 30):
            self.eventually(lambda most=most: len(self.origin.order) >= most, "jobs run")
            machine.node.kill()
            machine.node.start()
        for number, id in enumerate(ids):
            self.is_done_once(id, f"/{number}")
        self.assertEqual(set(Counter(self.origin.order).values()), {1})
        self.forgets(machine)
        self.assertEqual(len(machine.names()), 40)

    def test_dld_is_killed_while_a_task_runs(self) -> None:
        machine = self.machine(**PATIENT)
        id = self.slow(machine)
        machine.daemon.kill()
        self.origin.release("/slow")
        machine.start_daemon()
        self.is_done_once(id, "/slow")
        self.forgets(machine)
        self.assertEqual(machine.names(), ["slow"])

    def test_an_end_that_nobody_was_told_is_replayed(self) -> None:
        """The database is away when the task ends, and then dld and the node are killed."""
        relay = self.relay()
        machine = self.machine(server=relay.folder, **PATIENT)
        id = self.slow(machine)
        relay.cut()
        self.origin.release("/slow")
        self.finished(machine)
        machine.daemon.kill()
        machine.start_daemon()
        machine.node.kill()
        machine.node.start()
        relay.mend()
        self.is_done_once(id, "/slow")
        self.assertEqual(self.origin.count("/slow"), 1)
        self.forgets(machine)
        self.assertEqual(machine.names(), ["slow"])

    def test_all_of_a_machine_restarts(self) -> None:
        machine = self.machine(**PATIENT)
        id = self.slow(machine)
        machine.kill()
        self.origin.release("/slow")
        machine.start()
        self.is_done_once(id, "/slow")
        self.forgets(machine)

    def test_the_answer_to_a_claim_is_lost(self) -> None:
        relay = self.relay()
        relay.lose_answers(b"dld.claim(")
        id = self.add()
        machine = self.machine(server=relay.folder, **PATIENT)
        self.becomes(id, "leased")
        self.assertEqual(machine.tasks(), [])
        relay.mend()
        self.is_done_once(id, "/one")

    def test_the_answer_to_an_end_is_lost(self) -> None:
        """The table has the end, so its repetition is no refusal: the file stays."""
        relay = self.relay()
        relay.lose_answers(b"dld.finish(")
        id = self.add()
        machine = self.machine(server=relay.folder, **PATIENT)
        self.ends(id)
        relay.mend()
        self.forgets(machine)
        self.is_done_once(id, "/one")
        self.assertEqual((len(self.job(id).history), machine.names()), (1, ["one"]))

    def relay(self) -> Relay:
        relay = Relay(self.server)
        self.addCleanup(relay.end)
        return relay


class Losses(FailureTest):
    """After the lease: another node has the job."""

    def returns(self, machine: Machine, *ids: int) -> None:
        """A machine comes back, and nothing of the jobs changes."""
        before = [self.job(id) for id in ids]
        machine.start()
        self.forgets(machine)
        self.ends(self.add("/again", pool=machine.policy.get("pools", ["default"])[-1]))
        self.assertEqual([self.job(id) for id in ids], before)

    def test_another_node_takes_the_jobs_of_a_dead_one(self) -> None:
        first = self.machine(policy={"pools": ["default", "a"]})
        id = self.slow(first)
        first.kill()
        self.origin.release("/slow")
        second = self.second()
        self.is_done_once(id, "/slow", "b", 2)
        self.assertEqual(self.story(id), [(1, "a", "expired"), (2, "b", "done")])
        self.returns(first, id)
        self.assertEqual((first.names(), self.files(second)), (["again"], ["slow"]))

    def test_a_task_that_still_runs_when_its_machine_returns_is_cancelled(self) -> None:
        first = self.machine(policy={"pools": ["default", "a"]})
        id = self.slow(first)
        first.kill()
        self.origin.release("/slow")
        second = self.second()
        self.is_done_once(id, "/slow", "b", 2)
        self.origin.hold("/slow", after=MEGABYTE)
        self.returns(first, id)
        self.assertEqual((first.names(), self.files(second)), (["again"], ["slow"]))
        self.eventually(lambda: self.origin.now == 1, "its request ends, and only the one of the busy node is left")

    def test_one_file_remains_on_a_shared_folder(self) -> None:
        for number, destination in enumerate(({}, {"destination": {"filename": "{id}"}}), 1):
            with self.subTest(destination):
                folder = self.shared_folder()
                policy = {"folders": [{"path": str(folder), "shared": True}], "pools": [f"p{number}"]}
                first = self.machine(f"a{number}", policy=policy | {"pools": [f"p{number}", f"a{number}"]})
                path = f"/slow{number}"
                self.origin.sizes[path] = 2 * MEGABYTE
                self.origin.hold(path, after=MEGABYTE)
                id = self.add(path, destination, pool=f"p{number}")
                self.holds(first, MEGABYTE)
                first.kill()
                self.origin.release(path)
                self.keep_busy(f"b{number}", pool=f"p{number}")
                self.machine(f"b{number}", policy=policy, poll="0.2s", labels=[f"b{number}"])
                self.is_done_once(id, path, f"b{number}", 2)
                first.start_daemon()
                self.finished(first)
                first.daemon.kill()
                self.returns(first, id)
                result = self.job(id).result["path"]
                left = [str(file) for file in folder.iterdir() if file.name != "again" and not file.name.startswith(".")]
                self.assertEqual(left, [result])
                self.assertEqual((folder / result).read_bytes(), self.origin.body(path))
                first.kill()

    def test_each_expiry_counts(self) -> None:
        first = self.machine()
        id = self.slow(first, max_attempts=1)
        first.kill()
        self.origin.release("/slow")
        self.second()
        job = self.ends(id, "failed")
        self.assertEqual((job.error["code"], self.story(id)), ("lease.expired", [(1, "a", "expired")]))
        self.retry(id)
        self.assertEqual(self.ends(id).lease_epoch, 2)

    def test_a_cancelled_job_of_a_dead_node(self) -> None:
        first = self.machine()
        id = self.slow(first)
        first.kill()
        self.assertEqual(self.cancel(id), "leased")
        self.second()
        self.assertEqual((self.ends(id, "cancelled").error, self.story(id)), (None, [(1, "a", "expired")]))

    def test_a_node_without_dld_gives_its_jobs_up(self) -> None:
        first = self.machine()
        id = self.slow(first)
        first.daemon.kill()
        self.origin.release("/slow")
        self.second()
        self.is_done_once(id, "/slow", "b", 2)
        before = self.job(id)
        first.start_daemon()
        self.forgets(first)
        self.eventually(lambda: not first.names(), "its file goes")
        self.assertEqual(self.job(id), before)

    @long
    def test_a_dld_that_hangs_is_one_that_is_away(self) -> None:
        machine = self.machine(lease="2s", renew="0.5s")
        machine.daemon.signal(signal.SIGSTOP)
        ids = [self.add("/first")]
        self.eventually(lambda: "dld is away" in machine.node.said, "the node notices")
        ids.append(self.add("/second"))
        self.second()
        for id, path in zip(ids, ("/first", "/second"), strict=True):
            job = self.ends(id)
            self.assertEqual((job.result["node"], job.result["sha256"]), ("b", self.origin.sha256(path)))
        self.assertEqual(job.attempts, 1)
        machine.daemon.signal(signal.SIGCONT)

    def test_a_full_disk_is_not_counted(self) -> None:
        """The node hands the job back, claims slowly, and does it when there is room."""
        machine = self.machine(starts=False, handBackAfter="1s")
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(machine.files)]
        if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            self.skipTest("needs the right to mount")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(machine.files)], check=False)
        filler = machine.files / "filler"
        filler.write_bytes(bytes(3 * MEGABYTE))
        machine.start()
        self.origin.sizes["/large"] = 2 * MEGABYTE
        id = self.add("/large")
        self.eventually(lambda: self.story(id), "the attempt ends")
        self.assertEqual(self.story(id)[0], (1, "a", "released"), self.job(id).error)
        filler.unlink()
        job = self.ends(id)
        self.assertEqual((job.attempts, {end for _, _, end in self.story(id)}), (1, {"released", "done"}))
        self.assertLessEqual(len(job.history), 5)

    def test_a_node_without_its_folder_leaves_the_jobs_to_others(self) -> None:
        """It would end all jobs faster than others can do them."""
        broken = self.machine(starts=False, handBackAfter="1s", poll="0.1s")
        mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(broken.files)]
        if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            self.skipTest("needs the right to mount")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(broken.files)], check=False)
        broken.start()
        ids = [self.add(f"/{number}") for number in range(20)]
        self.eventually(lambda: any(self.story(id) for id in ids), "the node tried one")
        self.assertIn("This node cannot do the job now", broken.node.said)
        self.second()
        for id in ids:
            job = self.ends(id)
            self.assertEqual((job.attempts, job.result["node"]), (1, "b"), job.history)

    def test_a_node_that_stands_still_loses_its_jobs(self) -> None:
        first = self.machine()
        id = self.slow(first)
        first.node.signal(signal.SIGSTOP)
        self.origin.release("/slow")
        second = self.second()
        self.is_done_once(id, "/slow", "b", 2)
        before = self.job(id)
        first.node.signal(signal.SIGCONT)
        self.forgets(first)
        self.eventually(lambda: not first.names(), "its file goes")
        self.assertEqual((self.job(id), self.files(second)), (before, ["slow"]))


class Partitions(FailureTest):
    """The node lives, and cannot reach the database."""

    def setUp(self) -> None:
        super().setUp()
        self.relay = Relay(self.server)
        self.addCleanup(self.relay.end)
        self.otto.execute("SELECT dld.set_limit('default', %s, 1)", (self.origin.host,))

    def states(self, machine: Machine) -> dict[str, str]:
        return {task["url"].rsplit("/", 1)[1]: task["state"] for task in machine.tasks()}

    def test_a_limited_host_is_left_alone_while_the_lease_is_unsure(self) -> None:
        machine = self.machine(server=self.relay.folder)
        limited = self.slow(machine, "/limited")
        free = self.away(machine)
        self.relay.cut()
        self.eventually(lambda: self.states(machine) == {"limited": "paused", "free": "running"}, "the limited one pauses")
        self.relay.mend()
        for path in ("/limited", "/free"):
            self.origin.release(path)
        # Nobody took them, so both go on.
        self.is_done_once(limited, "/limited")
        self.is_done_once(free, "/free")

    def test_another_node_takes_the_jobs(self) -> None:
        first = self.machine(server=self.relay.folder)
        limited = self.slow(first, "/limited")
        free = self.away(first)
        self.relay.cut()
        self.eventually(lambda: self.states(first)["limited"] == "paused", "the limited one pauses")
        for path in ("/limited", "/free"):
            self.origin.release(path)
        second = self.second()
        self.is_done_once(limited, "/limited", "b", 2)
        self.is_done_once(free, "/free", "b", 2)
        before = [self.job(id) for id in (limited, free)]
        self.relay.mend()
        self.forgets(first)
        self.eventually(lambda: not first.names(), "its files go")
        self.assertEqual([self.job(id) for id in (limited, free)], before)
        self.assertEqual(self.files(second), ["free", "limited"])

    def away(self, machine: Machine) -> int:
        """A job of a host without a limit."""
        self.origin.sizes["/free"] = 2 * MEGABYTE
        self.origin.hold("/free", after=MEGABYTE)
        id = self.add(self.origin.url("/free", "localhost"))
        self.holds(machine, 2 * MEGABYTE)
        return id


class Databases(FailureTest):
    """PostgreSQL stops, or its connections do; leases are long, so each job has one."""

    def restart(self, number: signal.Signals) -> None:
        def starts() -> bool:
            try:
                self.server.start()
            except AssertionError as error:
                # Processes of the one that was killed are still there.
                if "ended" not in str(error):
                    raise
                return False
            return True

        self.server.stop(number)
        eventually(starts, "PostgreSQL starts again")
        self.owner, self.ann, self.otto = (self.connect(user) for user in ("postgres", "ann", "otto"))

    def test_ends_wait_for_a_database_that_was_killed(self) -> None:
        machine = self.machine(**PATIENT)
        ids = {path: self.slow(machine, path) for path in ("/a", "/b", "/c")}
        self.server.stop(signal.SIGKILL)
        for path in ids:
            self.origin.release(path)
        self.finished(machine)
        self.assertEqual(len(machine.tasks()), 3)
        self.restart(signal.SIGKILL)
        for path, id in ids.items():
            self.is_done_once(id, path)
            self.assertEqual(self.origin.count(path), 1)
        self.forgets(machine)

    def test_leases_outlast_a_database_that_is_away_for_longer(self) -> None:
        """No node could renew, so another one that is there first takes nothing."""
        machine = self.machine(lease="2s", renew="0.5s")
        id = self.slow(machine)
        self.server.stop(signal.SIGKILL)
        self.origin.release("/slow")
        self.finished(machine)
        machine.node.signal(signal.SIGSTOP)
        away = time.monotonic()
        self.eventually(lambda: time.monotonic() > away + 2.5, "the lease is over")
        self.restart(signal.SIGKILL)
        # A node without jobs claims each 5 s at most, so that none of its other calls can be taken for a claim.
        self.machine("b", lease="60s", renew="20s")
        claims = "SELECT seen_at > pg_postmaster_start_time() + interval '6 s' FROM dld.nodes WHERE name = 'b'"
        self.eventually(lambda: self.value(self.owner, claims), "the other node has claimed")
        machine.node.signal(signal.SIGCONT)
        self.is_done_once(id, "/slow")
        self.assertEqual(self.origin.count("/slow"), 1)

    def test_a_database_that_restarts_among_many_jobs(self) -> None:
        machine = self.machine(**PATIENT)
        ids = [self.add(f"/{number}") for number in range(60)]
        for kind, most in ((signal.SIGINT, 5), (signal.SIGKILL, 25), (signal.SIGQUIT, 45)):
            self.eventually(lambda most=most: len(self.origin.order) >= most, "jobs run")
            self.restart(kind)
        for number, id in enumerate(ids):
            self.is_done_once(id, f"/{number}")
        self.assertEqual(Counter(self.origin.order), Counter(f"/{number}" for number in range(60)))
        self.forgets(machine)

    def test_connections_that_are_lost_all_the_time(self) -> None:
        machine = self.machine(**PATIENT)
        ids = [self.add(f"/{number}") for number in range(60)]
        for most in range(1, 60, 6):
            self.eventually(lambda most=most: len(self.origin.order) >= most, "jobs run")
            self.owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node_a'")
        for number, id in enumerate(ids):
            self.is_done_once(id, f"/{number}")
        self.assertEqual(Counter(self.origin.order), Counter(f"/{number}" for number in range(60)))
        self.forgets(machine)


class Bursts(FleetTest):
    def test_three_hundred_jobs_on_two_nodes(self) -> None:
        """Servers are busy and reset connections. Each job is done once, with at most four updates of its row."""
        ear = self.ear()
        paths = [f"/{number}" for number in range(300)]
        for number, path in enumerate(paths):
            if number % 5 == 0:
                self.origin.plan(path, 503)
            elif number % 7 == 0:
                self.origin.plan(path, "reset")
        ids = [self.add(path) for path in paths]
        machines = [self.machine(name, backoff={"first": "0.1s"}, poll="0.2s", progressInterval="60s", **PATIENT)
                    for name in "ab"]
        for id, path in zip(ids, paths, strict=True):
            self.assertEqual(self.ends(id).result["sha256"], self.origin.sha256(path))
        ends = Counter(payload for channel, payload in ear.heard() if channel == "dld_ends")
        self.assertEqual((len(ends), sum(ends.values())), (300, 300))
        for machine in machines:
            self.forgets(machine)
            # A connection that ends reports what it counted.
            self.assertEqual(machine.node.stop(), 0)
        files = [name for machine in machines for name in machine.names()]
        self.assertEqual(sorted(files), sorted(path[1:] for path in paths))
        self.assertTrue(all(machine.names() for machine in machines), "one node did all")
        self.assertLessEqual(max(Counter(self.origin.order).values()), 2)
        updates = self.value(self.owner, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relid = 'dld.jobs'::regclass")
        self.assertTrue(600 <= updates <= 1200, updates)
