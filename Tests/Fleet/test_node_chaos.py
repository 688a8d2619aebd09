"""Everything fails at random: each job is still done once, and the file of its result is the only one."""

from __future__ import annotations

import os
import pathlib
import random
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import support
from house import FleetTest, Machine, Relay, long


def setUpModule() -> None:
    support.open_server()


class Chaos(FleetTest):
    jobs, steps = 200, 40

    def machines_and_relays(self, **settings: Any) -> list[tuple[Machine, Relay]]:
        made = []
        for name in "ab":
            relay = Relay(self.server)
            self.addCleanup(relay.end)
            self.keep_busy(name)
            made.append((self.machine(name, server=relay.folder, poll="0.2s", localAttempts=2, labels=[name], capacity=6,
                                      **settings), relay))
        return made

    def disturb(self, machine: Machine, relay: Relay, dice: random.Random) -> None:
        def restart_node() -> None:
            machine.node.kill()
            machine.node.start()

        def restart_dld() -> None:
            machine.daemon.kill()
            machine.start_daemon()

        def restart_all() -> None:
            machine.kill()
            self.time_passes(machine, dice)
            machine.start()

        def stop_and_go() -> None:
            machine.node.signal(signal.SIGSTOP)
            self.time_passes(machine, dice)
            machine.node.signal(signal.SIGCONT)

        def cut() -> None:
            relay.cut()
            self.time_passes(machine, dice)
            relay.mend()

        def lose_answers() -> None:
            relay.lose_answers(dice.choice([b"dld.claim(", b"dld.finish(", b"dld.renew("]))
            self.some_ends(dice.randrange(1, 8))
            relay.mend()

        def hand_back() -> None:
            self.drain(machine.name, limit="0")
            self.time_passes(machine, dice)
            self.drain(machine.name, False)

        def terminate() -> None:
            self.owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
                               (f"node_{machine.name}",))

        actions: list[Callable[[], None]] = [
            restart_node, restart_dld, restart_all, stop_and_go, cut, lose_answers, hand_back, terminate]
        dice.choice(actions)()

    def time_passes(self, machine: Machine, dice: random.Random) -> None:
        """A little, or until a machine has lost its leases."""
        if machine.settings["lease"] != "3s" or dice.random() < 0.6:
            self.some_ends(dice.randrange(1, 8))
        else:
            held = "SELECT count(*) FROM dld.jobs WHERE lease_node = %s AND lease_until > now()"
            self.eventually(lambda: self.value(self.owner, held, (machine.name,)) == 0, "the leases are lost")

    def some_ends(self, count: int) -> None:
        """Waits until so many more jobs are done, or all are."""
        # The origin holds a few back.
        most = min(self.done() + count, self.jobs - 4)
        self.eventually(lambda: self.done() >= most, f"{most} jobs are done")

    def done(self) -> int:
        return int(self.value(self.owner, "SELECT count(*) FROM dld.jobs WHERE state = 'done'"))

    def check(self, destination: str | None = None, **settings: Any) -> None:
        dice = random.Random(int(os.environ.get("DLD_SEED", "1")))
        members = {"destination": {"filename": destination}} if destination else {}
        paths = [f"/{number}" for number in range(self.jobs)]
        for path in paths:
            self.origin.sizes[path] = dice.choice([0, 1000, 300_000])
            self.origin.plan(path, *dice.choices([503, "reset", 200], k=dice.randrange(3)))
        held = dice.sample(paths, 4)
        for path in held:
            self.origin.sizes[path] = 300_000
            self.origin.hold(path, after=dice.randrange(300_000))
        ids = [self.add(path, members, max_attempts=100) for path in paths]
        ear = self.ear()
        made = self.machines_and_relays(backoff={"first": "0.1s", "longest": "1s"}, **settings)
        for _ in range(self.steps):
            if self.done() >= self.jobs - 4:
                break
            if held and dice.random() < 0.2:
                self.origin.release(held.pop())
            self.some_ends(dice.randrange(1, 4))
            self.disturb(*dice.choice(made), dice)
        for path in held:
            self.origin.release(path)
        for id, path in zip(ids, paths, strict=True):
            job = self.ends(id)
            self.assertEqual(job.result["sha256"], self.origin.sha256(path))
            self.assertEqual([end for _, _, end in self.story(id)].count("done"), 1, self.story(id))
        ends = Counter(payload for channel, payload in ear.heard() if channel == "dld_ends")
        self.assertEqual(set(ends.values()), {1})
        for machine, _ in made:
            self.eventually(lambda machine=machine: not self.left(machine), "dld has no other task of the fleet")
        folders = {machine.policy["folders"][0]["path"] for machine, _ in made}
        files = sorted(str(file) for folder in folders for file in pathlib.Path(folder).iterdir() if file.name[0] != ".")
        self.assertEqual(files, sorted(self.job(id).result["path"] for id in ids))

    @staticmethod
    def left(machine: Machine) -> list[str]:
        """Paths of tasks that should be gone. One that was handed back on a shared folder keeps its bytes for the next."""
        shared = machine.policy["folders"][0].get("shared")
        return [task["url"] for task in machine.tasks()
                if "/busy-" not in task["url"] and not (shared and task["state"] == "cancelled")]

    @long
    def test_short_leases(self) -> None:
        self.check()

    @long
    def test_long_leases(self) -> None:
        """No lease is lost, so no job has a second one but by an error."""
        self.check(lease="120s", renew="40s")
        expired = self.value(self.owner, """SELECT count(*) FROM dld.jobs WHERE history @> '[{"end": "expired"}]'""")
        self.assertEqual(expired, 0)

    @long
    def test_a_shared_folder(self) -> None:
        self.check(policy={"folders": [{"path": str(self.shared_folder()), "shared": True}]})

    @long
    def test_a_shared_folder_with_names_of_jobs(self) -> None:
        self.check("{id}", policy={"folders": [{"path": str(self.shared_folder()), "shared": True}]})
