"""Claims, leases and ends: who gets a job, who keeps it, and that it ends once."""

from __future__ import annotations

import random
import threading
import unittest
from typing import Any

from support import Crowd, DatabaseTest, Node, batches, eventually, ids, open_server, pairs, spec


def setUpModule() -> None:  # noqa: N802
    open_server()


class Claims(DatabaseTest):
    def test_what_a_claim_writes_and_returns(self) -> None:
        id = self.enqueue("http://h:8080/x", priority=3)
        [lease] = self.node().claim()
        job = self.job(id)
        self.assertEqual(lease, (id, 1, "default", {"url": "http://h:8080/x"}, "h:8080", 3, 1, None, job.lease_until, False))
        self.assertEqual(lease._fields, ("id", "epoch", "pool", "spec", "host", "priority", "attempt", "resume", "lease_until",
                                         "limited"))
        self.assertEqual((job.state, job.lease_node, job.lease_epoch, job.attempts), ("leased", "a", 1, 1))
        self.assertEqual((job.lease_until - job.leased_at).total_seconds(), 60)

    def test_the_order(self) -> None:
        """Priority, then the time, then the id; over pools, labels and limited hosts alike."""
        made = []
        for number in range(60):
            priority, age = random.Random(number).choice([-100, 0, 0, 5, 100]), number % 7
            host = ("free", "limited", "other")[number % 3]
            id = self.enqueue(f"https://{host}/", pool=("p", "q")[number % 2], priority=priority,
                              labels=(["x"], [], ["x", "y"])[number % 5 % 3])
            self.owner.execute("UPDATE dld.jobs SET run_at = now() - %s * interval '1 h' WHERE id = %s", (age, id))
            made.append((-priority, -age, id))
        for host in ("limited", "other"):
            for pool in ("p", "q"):
                self.limit(host, 50, pool)
        node, got = self.node("a", "x", "y", pools=("p", "q")), []
        while leases := node.claim(7):
            got += ids(leases)
        self.assertEqual(got, [id for _, _, id in sorted(made)])

    def test_only_what_is_due_and_meant_for_the_node(self) -> None:
        """A job of another pool, of the future, or with a label that the node lacks stays queued."""
        mine = [self.enqueue(), self.enqueue(labels=["x"]), self.enqueue(labels=["y", "x"])]
        for other in ({"labels": ["z"]}, {"labels": ["x", "z"]}, {"pool": "other"}):
            self.enqueue(priority=9, **other)
        self.ann.execute("SELECT dld.enqueue('default', %s, 9, now() + interval '1 h')", (spec(),))
        self.assertEqual(ids(self.node("a", "x", "y", "w").claim(100)), mine)

    def test_who_gets_nothing(self) -> None:
        self.enqueue()
        node = self.node()
        self.assertEqual((node.claim(0), node.claim(-1)), ([], []))
        self.otto.execute("SELECT dld.drain('a')")
        self.assertEqual(node.claim(), [])
        self.otto.execute("SELECT dld.drain('a', false)")
        self.owner.execute("UPDATE dld.nodes SET instance = gen_random_uuid(), seen_at = now() - interval '1 h'")
        self.assertEqual(node.claim(), [])
        self.assertTrue(self.value(self.owner, "SELECT seen_at < now() - interval '59 min' FROM dld.nodes"))
        for lease in (None, "0 s", "-1 s"):
            self.refuses("DL002", node.claim, 1, lease)

    def test_a_claim_says_that_the_node_is_there(self) -> None:
        node = self.node()
        for action in (node.claim, node.renew):
            self.owner.execute("UPDATE dld.nodes SET seen_at = now() - interval '1 h'")
            action()
            self.assertTrue(self.value(self.owner, "SELECT seen_at > now() - interval '50 min' FROM dld.nodes"))

    def test_a_backlog_that_nobody_may_take_costs_nothing(self) -> None:
        """A full host, a label and the future hold 15,000 jobs of high priority; the claim of the one behind reads few pages."""
        self.limit("full", 1)
        for order in ("https://full/", "https://labelled/", "https://future/"):
            self.ann.execute(
                "SELECT count(*) FROM dld.enqueue_many('default', array_fill(%s::jsonb, ARRAY[5000]), 50, %s::timestamptz, labels => %s)",
                (spec(order), "2100-01-01" if "future" in order else None, ["x"] if "labelled" in order else []))
        node, behind = self.node(), [self.enqueue() for _ in range(2)]
        [full] = node.claim()
        self.assertEqual(full.host, "full")
        self.owner.execute("VACUUM ANALYZE dld.jobs")
        node.claim(0)
        call = ("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM dld.claim(%s, %s, 1, '60 s')", ("a", node.instance))
        self.owner.execute("SET SESSION AUTHORIZATION node_a")
        plans = [self.value(self.owner, *call)[0]["Plan"] for _ in behind]
        self.owner.execute("RESET SESSION AUTHORIZATION")
        self.assertEqual([self.job(id).state for id in behind], ["leased"] * 2)
        self.assertLess(plans[-1]["Shared Hit Blocks"] + plans[-1]["Shared Read Blocks"], 500)

    def test_a_claim_needs_read_committed(self) -> None:
        """With an older snapshot it would count leases that are not the newest."""
        node = self.node()
        with node.connection.transaction():
            node.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self.refuses("0A000", node.claim)

    def test_a_claim_in_an_hour_prunes(self) -> None:
        """Each call removes 1,000, the next ones go on, and then an hour is quiet."""
        self.ann.execute("SELECT count(dld.cancel(e)) FROM dld.enqueue_many('p', array_fill(%s::jsonb, ARRAY[2500])) e", (spec(),))
        self.owner.execute("UPDATE dld.jobs SET ended_at = now() - interval '31 days'; UPDATE dld.meta SET pruned_at = now() - interval '59 min'")
        node, left = self.node(), []
        for _ in range(5):
            node.claim()
            left.append(self.value(self.owner, "SELECT count(*) FROM dld.jobs"))
            if left == [2500]:
                self.owner.execute("UPDATE dld.meta SET pruned_at = now() - interval '61 min'")
        self.assertEqual(left, [2500, 1500, 500, 0, 0])
        self.assertTrue(self.value(self.owner, "SELECT pruned_at > now() - interval '1 min' FROM dld.meta"))

    def test_nobody_waits_for_the_claim_that_prunes(self) -> None:
        self.enqueue_many(2)
        slow, fast = self.node("a"), self.node("b")
        slow.connection.autocommit = False
        self.assertEqual(len(slow.claim()), 1)
        self.assertEqual(len(fast.claim(2)), 1)
        slow.connection.rollback()
        self.assertEqual(len(fast.claim(2)), 1)


class Limits(DatabaseTest):
    def test_a_full_host_is_left_out_and_the_others_go_on(self) -> None:
        self.limit("limited", 2)
        self.enqueue_many(200, "https://limited/")
        free = [self.enqueue() for _ in range(3)]
        node = self.node()
        leases = node.claim(100)
        self.assertEqual([lease.limited for lease in leases], [True, True, False, False, False])
        self.assertEqual(ids(leases)[2:], free)
        self.assertEqual(node.claim(100), [])
        node.finish(leases[0].id, leases[0].epoch)
        self.assertEqual(len(node.claim(100)), 1)
        self.limit("limited", 5)
        self.assertEqual(len(node.claim(100)), 3)
        self.limit("limited", None)
        self.assertEqual({lease.limited for lease in node.claim(100)}, {False})

    def test_a_limit_counts_its_pool_alone(self) -> None:
        self.limit("h", 1, "p")
        for pool in ("p", "q"):
            self.enqueue_many(3, "https://h/", pool)
        self.assertEqual(sorted(lease.pool for lease in self.node(pools=("p", "q")).claim(100)), ["p", "q", "q", "q"])

    def test_a_limit_that_came_while_jobs_were_enqueued_holds(self) -> None:
        """The producer did not see it, and it did not see the jobs."""
        producer = self.connect("ann", autocommit=False)
        producer.execute("SELECT dld.enqueue_many('default', array_fill(%s::jsonb, ARRAY[50]))", (spec("https://h/"),))
        self.limit("h", 2)
        producer.commit()
        behind = self.enqueue()
        node = self.node()
        leases = node.claim(100)
        self.assertEqual([lease.host for lease in leases], ["h", "h", "files.example"])
        self.assertEqual(leases[2].id, behind)
        self.limit("h", None)
        self.assertEqual(len(node.claim(100)), 48)

    def test_who_holds_a_limited_host_stops_no_other_claim(self) -> None:
        """Jobs of other hosts are claimed at once, and the limited host afterwards."""
        self.limit("limited", 2)
        self.enqueue_many(5, "https://limited/")
        free = self.enqueue()
        slow, fast = self.node("a"), self.node("b")
        slow.connection.autocommit = False
        self.assertEqual(len(slow.claim(1)), 1)
        self.assertEqual(ids(fast.claim(100)), [free])
        self.assertEqual(fast.claim(100), [])
        slow.connection.commit()
        self.assertEqual(len(fast.claim(100)), 1)

    def test_a_claim_with_nothing_else_waits_a_little_for_the_host(self) -> None:
        """Otherwise a free place stays free until the next poll."""
        self.limit("limited", 2)
        self.enqueue_many(2, "https://limited/")
        slow, fast, crowd, asked = self.node("a"), self.node("b"), Crowd(), threading.Event()
        slow.connection.autocommit = False
        slow.claim(1)

        def claim() -> list[Any]:
            asked.set()
            while not (leases := fast.claim(1)):
                pass
            return leases

        crowd.start(claim)
        asked.wait()
        slow.connection.commit()
        self.assertEqual(len(crowd.wait()[0]), 1)

    def test_an_expired_lease_counts_but_may_be_taken_over(self) -> None:
        """It may still be renewed, so it holds its place. Its own successor needs no second one."""
        self.limit("h", 2)
        self.enqueue_many(5, "https://h/")
        dead, next = self.node("a"), self.node("b")
        old = dead.claim(5)
        self.expire(*ids(old))
        self.assertEqual(pairs(next.claim(5)), [(lease.id, 2) for lease in old])
        self.limit("h", 4)
        more = next.claim(5)
        self.limit("h", 1)
        self.expire(*ids(old), *ids(more))
        self.assertEqual(len(dead.claim(5)), 1)
        self.assertEqual(dead.claim(5), [])

    def test_sixteen_claimers_never_exceed_the_limits(self) -> None:
        """Claims, ends, releases and expiries on three limited hosts: the table never holds more leases than a limit says,
        no job is held twice, no statement deadlocks, and all jobs end."""
        most = {"one": 1, "three": 3, "seven": 7}
        for host, limit in most.items():
            self.limit(host, limit)
        for host in (*most, "free"):
            self.enqueue_many(40, f"https://{host}/")
        self.owner.execute("""
            CREATE TABLE held (id bigint, epoch bigint, PRIMARY KEY (id, epoch));
            CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
                INSERT INTO public.held VALUES (NEW.id, NEW.lease_epoch); RETURN NULL; END $$;
            CREATE TRIGGER hold AFTER UPDATE OF state ON dld.jobs FOR EACH ROW WHEN (NEW.state = 'leased')
                EXECUTE FUNCTION hold()""")
        crowd, done, worst = Crowd(), threading.Event(), dict.fromkeys(most, 0)
        nodes = [self.node(f"n{number}") for number in range(16)]
        probe = self.connect("otto")

        def work(node: Node, seed: int) -> None:
            dice = random.Random(seed)
            while not done.is_set():
                for lease in node.claim(dice.randint(1, 5)):
                    chance = dice.random()
                    if chance < 0.1:
                        node.release(lease.id, lease.epoch)
                    elif chance < 0.2:
                        node.finish(lease.id, lease.epoch, "transient", delay="0 s")
                    elif chance < 0.3:
                        node.renew((lease.id, lease.epoch), lease="1 microsecond")
                    else:
                        node.finish(lease.id, lease.epoch)

        def watch() -> None:
            while not done.is_set():
                for row in probe.execute("SELECT host, in_flight FROM dld.limits"):
                    worst[row.host] = max(worst[row.host], row.in_flight)

        for number, node in enumerate(nodes):
            crowd.start(work, node, number)
        crowd.start(watch)
        try:
            eventually(lambda: crowd.errors or not self.value(
                self.owner, "SELECT count(*) FROM dld.jobs WHERE state IN ('queued', 'leased')"), "all jobs end")
        finally:
            done.set()
            crowd.wait()
        self.assertEqual({host: seen for host, seen in worst.items() if seen > most[host]}, {})
        count = self.value(self.owner, "SELECT count(*) FROM held")
        self.assertEqual(count, self.value(self.owner, "SELECT sum(lease_epoch) FROM dld.jobs"))

    def test_claims_at_once_fill_a_limit_and_no_more(self) -> None:
        """Sixteen claims start together again and again. Afterwards the host is full, and never fuller."""
        self.limit("h", 5)
        self.enqueue_many(300, "https://h/")
        nodes = [self.node(f"n{number}") for number in range(16)]
        for _ in range(10):
            crowd, gate = Crowd(), threading.Barrier(16)

            def claim(node: Node, gate: threading.Barrier = gate) -> list[tuple[int, int]]:
                gate.wait()
                return pairs(node.claim(3))

            for node in nodes:
                crowd.start(claim, node)
            taken = [lease for leases in crowd.wait() for lease in leases]
            self.assertLessEqual(self.value(self.otto, "SELECT in_flight FROM dld.limits"), 5)
            self.assertEqual(len(set(taken)), len(taken))
            nodes[0].claim(5)
            self.assertEqual(self.value(self.otto, "SELECT in_flight FROM dld.limits"), 5)
            for node in nodes:
                for lease in node.leases():
                    node.finish(lease.id, lease.epoch)


class Expiry(DatabaseTest):
    def test_another_node_goes_on(self) -> None:
        id, dead, next = self.enqueue(), self.node("a"), self.node("b")
        [old] = dead.claim()
        dead.renew((id, 1), progress=[{"bytes": 7}])
        self.assertEqual(next.claim(), [])
        self.expire(id)
        [new] = next.claim()
        job = self.job(id)
        self.assertEqual((new.id, new.epoch, new.attempt), (id, 2, 2))
        self.assertEqual((job.lease_node, job.attempts, job.progress, job.error), ("b", 2, None, None))
        [entry] = map(dict, job.history)
        self.assertRegex(entry.pop("at"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(entry, {"attempt": 1, "epoch": 1, "node": "a", "end": "expired", "code": None})
        for outcome in ("done", "failed", "transient", "cancelled"):
            self.assertEqual(dead.finish(id, old.epoch, outcome), "refused")
        self.assertEqual(dead.release(id, old.epoch), "refused")
        self.assertEqual(dead.renew((id, 1)), [(id, 1, "lost")])
        self.assertEqual(self.job(id), job)

    def test_the_order_holds_for_expired_leases_too(self) -> None:
        low, node = self.enqueue(), self.node()
        node.claim()
        self.expire(low)
        high = self.enqueue(priority=1)
        self.assertEqual([ids(node.claim()), ids(node.claim())], [[high], [low]])

    def test_the_ends_of_expired_leases(self) -> None:
        """Cancelled if somebody wanted that, failed after the last attempt; both are told, neither is claimed."""
        unwanted, last = self.enqueue(), self.enqueue(max_attempts=1)
        node, ear = self.node(), self.ear()
        node.claim(2)
        self.cancel(unwanted)
        ear.heard()
        self.expire(unwanted, last)
        self.assertEqual(self.node("b").claim(5), [])
        self.assertEqual(ear.heard(), [("dld_ends", f'{{"id":{unwanted},"state":"cancelled"}}'),
                                       ("dld_ends", f'{{"id":{last},"state":"failed"}}')])
        job = self.job(last)
        self.assertEqual((job.state, job.error["code"], job.error["node"], job.error["attempt"]), ("failed", "lease.expired", "a", 1))
        self.assertEqual(set(job.error), {"code", "message", "retryable", "details", "node", "attempt", "at"})
        self.assertEqual([(entry["end"], entry["code"]) for entry in job.history], [("expired", "lease.expired")])
        self.assertEqual((self.job(unwanted).state, self.job(unwanted).history[0]["end"]), ("cancelled", "expired"))
        self.assertEqual(node.finish(unwanted, 1, "cancelled"), "refused")

    def test_a_job_that_kills_its_node_ends(self) -> None:
        id, node = self.enqueue(max_attempts=3), self.node()
        for attempt in (1, 2, 3):
            self.assertEqual(node.claim()[0].attempt, attempt)
            self.expire(id)
        self.assertEqual((node.claim(), self.job(id).state, len(self.job(id).history)), ([], "failed", 3))

    def test_labels_and_pools_hold_for_expired_leases(self) -> None:
        for options in ({"labels": ["x"]}, {"pool": "other"}):
            self.enqueue(**options)
        self.expire(*ids(self.node("a", "x", pools=("default", "other")).claim(2)))
        self.assertEqual(self.node("b").claim(2), [])
        self.assertEqual(len(self.node("c", "x").claim(2)), 1)

    def test_one_of_two_gets_an_expired_lease(self) -> None:
        """The end of the old node comes while the claim of the new one is not committed: it is refused, and changes nothing."""
        id, dead, next, crowd = self.enqueue(), self.node("a"), self.node("b"), Crowd()
        dead.claim()
        self.expire(id)
        next.connection.autocommit = False
        self.assertEqual(len(next.claim()), 1)
        self.assertEqual(self.node("c").claim(), [])
        crowd.start(dead.finish, id, 1)
        eventually(lambda: self.waits(dead.connection), "the end waits")
        next.connection.commit()
        self.assertEqual(crowd.wait(), ["refused"])
        self.assertEqual((self.job(id).state, self.job(id).lease_node, self.job(id).result), ("leased", "b", None))

    def test_an_end_that_is_faster_than_the_claim_stands(self) -> None:
        id, slow, next = self.enqueue(), self.node("a"), self.node("b")
        slow.claim()
        self.expire(id)
        slow.connection.autocommit = False
        self.assertEqual(slow.finish(id, 1), "done")
        self.assertEqual(next.claim(), [])
        slow.connection.commit()
        self.assertEqual((next.claim(), self.job(id).state), ([], "done"))


class Renewals(DatabaseTest):
    def test_the_verdicts(self) -> None:
        """`lost` is another epoch, node or state; a late lease that nobody took is renewed."""
        self.enqueue_many(6)
        node, other = self.node("a"), self.node("b")
        kept, late, unwanted, ended = node.claim(4)
        [foreign] = other.claim(1)
        self.expire(late.id)
        self.cancel(unwanted.id)
        node.finish(ended.id, ended.epoch)
        asked = [(kept.id, 1), (late.id, 1), (unwanted.id, 1), (ended.id, 1), (foreign.id, 1), (kept.id, 2), (foreign.id + 1, 1), (99, 1)]
        self.assertEqual([verdict for *_, verdict in node.renew(*asked)], ["ok", "ok", "cancel"] + ["lost"] * 5)
        self.assertEqual([row[:2] for row in node.renew(*asked)], asked)
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs WHERE lease_until > now() + interval '50 s'"), 4)
        self.assertEqual(node.renew(), [])

    def test_progress_stays_if_it_is_null(self) -> None:
        self.enqueue_many(2)
        node = self.node()
        leases = pairs(node.claim(2))
        node.renew(*leases, progress=[{"bytes": 1}, {"bytes": 2}], figures={"running": 2})
        node.renew(*leases, progress=[None, {"bytes": 3}])
        self.assertEqual([self.job(id).progress for id, _ in leases], [{"bytes": 1}, {"bytes": 3}])
        self.assertEqual(self.value(self.owner, "SELECT figures FROM dld.nodes"), {"running": 2})

    def test_a_node_that_drains_is_told_first(self) -> None:
        self.enqueue()
        node = self.node()
        [lease] = pairs(node.claim())
        self.otto.execute("SELECT dld.drain('a')")
        self.assertEqual(node.renew(lease), [(0, 0, "drain"), (*lease, "ok")])
        self.assertEqual(node.renew(), [(0, 0, "drain")])

    def test_another_instance_has_lost_all(self) -> None:
        self.enqueue()
        node = self.node()
        [lease] = pairs(node.claim())
        before = self.job(lease[0])
        self.owner.execute("UPDATE dld.nodes SET instance = gen_random_uuid()")
        self.assertEqual(node.renew(lease), [(*lease, "lost")])
        self.assertEqual(self.job(lease[0]), before)
        self.assertEqual(pairs(node.leases()), [lease])

    def test_leases_are_what_the_table_says(self) -> None:
        self.limit("h", 9)
        self.enqueue_many(3, "https://h/")
        node = self.node("a")
        claimed = node.claim(2)
        self.node("b").claim(1)
        self.assertEqual(node.leases(), claimed)


class Ends(DatabaseTest):
    def lease(self, **options: Any) -> tuple[Node, int, int]:
        id = self.enqueue(**options)
        node = self.node(f"a{id}")
        [lease] = node.claim()
        return node, id, lease.epoch

    def last(self, id: int) -> tuple[str, str | None]:
        entry = self.job(id).history[-1]
        return entry["end"], entry["code"]

    def test_done(self) -> None:
        node, id, epoch = self.lease()
        self.assertEqual(node.finish(id, epoch, detail={"size": 7}), "done")
        job = self.job(id)
        self.assertEqual((job.result, job.error, job.lease_node, job.lease_until, self.last(id)),
                         ({"size": 7}, None, None, None, ("done", None)))
        self.assertIsNotNone(job.ended_at)

    def test_failed_is_final_at_once(self) -> None:
        node, id, epoch = self.lease()
        self.assertEqual(node.finish(id, epoch, "failed", {"code": "request.url"}), "failed")
        self.assertEqual((self.job(id).error, self.last(id)), ({"code": "request.url"}, ("failed", "request.url")))

    def test_transient_comes_again_after_the_delay(self) -> None:
        node, id, epoch = self.lease(max_attempts=2)
        ear = self.ear()
        self.assertEqual(node.finish(id, epoch, "transient", delay="7 s"), "queued")
        self.assertEqual((self.value(self.owner, "SELECT run_at > now() + interval '3 s' FROM dld.jobs"), node.claim(), ear.heard()),
                         (True, [], []))
        self.assertEqual((self.last(id), self.job(id).error["code"]), (("requeued", "network.connect"), "network.connect"))
        self.owner.execute("UPDATE dld.jobs SET run_at = now()")
        [lease] = node.claim()
        self.assertEqual(node.finish(id, lease.epoch, "transient"), "failed")
        self.assertEqual(self.last(id), ("failed", "network.connect"))

    def test_with_a_wish_to_cancel(self) -> None:
        for outcome, state in [("done", "done"), ("transient", "cancelled"), ("cancelled", "cancelled"), ("failed", "failed")]:
            node, id, epoch = self.lease()
            self.cancel(id)
            self.assertEqual((node.finish(id, epoch, outcome), self.last(id)[0]), (state, state), outcome)

    def test_the_guard(self) -> None:
        """An old lease of the same node, and the right epoch of another node, change nothing."""
        node, id, epoch = self.lease()
        other = self.node("b")
        self.expire(id)
        self.assertEqual(pairs(node.claim()), [(id, epoch + 1)])
        before = self.job(id)
        for who, old in ((node, epoch), (node, epoch + 2), (other, epoch + 1)):
            self.assertEqual([who.finish(id, old, outcome) for outcome in ("done", "failed", "transient", "cancelled")],
                             ["refused"] * 4)
            self.assertEqual((who.release(id, old), who.renew((id, old))), ("refused", [(id, old, "lost")]))
        self.assertEqual(self.job(id), before)

    def test_a_bad_argument(self) -> None:
        node, id, epoch = self.lease()
        for outcome, detail in [("gone", {}), (None, {}), ("done", []), ("failed", "x")]:
            self.refuses("DL002", node.finish, id, epoch, outcome, detail)
        self.refuses("DL002", node.connection.execute, "SELECT dld.finish('a', %s, %s, 'done', NULL)", (id, epoch))
        self.assertEqual(self.job(id).state, "leased")

    def test_a_lost_answer_is_said_again(self) -> None:
        """The same call gives the same state, and changes and tells nothing."""
        for outcome, state in [("done", "done"), ("failed", "failed"), ("transient", "queued"), ("cancelled", "cancelled")]:
            node, id, epoch = self.lease(max_attempts=9)
            node.finish(id, epoch, outcome)
            before, ear = self.job(id), self.ear()
            self.assertEqual(node.finish(id, epoch, outcome, {"code": "other"}), state)
            for other in {"done", "failed", "cancelled"} - {outcome, state}:
                self.assertEqual(node.finish(id, epoch, other), "refused", (outcome, other))
            self.assertEqual(node.finish(id, epoch - 1, outcome), "refused")
            self.assertEqual(self.node(f"b{id}").finish(id, epoch, outcome), "refused")
            self.assertEqual((self.job(id), ear.heard()), (before, []))

    def test_a_lost_answer_is_refused_once_somebody_holds_the_job(self) -> None:
        node, id, epoch = self.lease()
        node.finish(id, epoch, "transient", delay="0 s")
        self.node("b").claim()
        self.assertEqual(node.finish(id, epoch, "transient"), "refused")
        self.assertEqual(node.finish(999, 1), "refused")

    def test_two_ends_at_once_end_once(self) -> None:
        node, id, epoch = self.lease()
        again, crowd, ear = Node.__new__(Node), Crowd(), self.ear()
        again.connection, again.name = self.connect("node_a"), node.name
        node.connection.autocommit = False
        self.assertEqual(node.finish(id, epoch), "done")
        crowd.start(again.finish, id, epoch, "failed")
        eventually(lambda: self.waits(again.connection), "the second end waits")
        node.connection.commit()
        self.assertEqual((crowd.wait(), len(ear.heard()), self.job(id).state), (["refused"], 1, "done"))

    def test_a_wish_to_cancel_that_comes_first_is_seen(self) -> None:
        """The end waits for the uncommitted wish, and then decides by it."""
        node, id, epoch = self.lease()
        producer, crowd = self.connect("ann", autocommit=False), Crowd()
        producer.execute("SELECT dld.cancel(%s)", (id,))
        crowd.start(node.finish, id, epoch, "transient")
        eventually(lambda: self.waits(node.connection), "the end waits")
        producer.commit()
        self.assertEqual((crowd.wait(), self.job(id).state), (["cancelled"], "cancelled"))

    def test_release_does_not_count(self) -> None:
        node, id, epoch = self.lease()
        resume = {"data": "eA==", "node": "a", "bytes": 7}
        self.assertEqual([node.release(id, epoch, resume) for _ in range(2)], ["queued"] * 2)
        job = self.job(id)
        self.assertEqual((job.attempts, job.resume, job.lease_epoch, self.last(id)), (0, resume, 1, ("released", None)))
        other = self.node("b")
        [lease] = other.claim()
        self.assertEqual((lease.resume, lease.attempt, lease.epoch, other.leases()), (resume, 1, 2, [lease]))
        self.assertEqual(node.release(id, epoch), "refused")
        other.finish(id, 2, "transient", delay="0 s")
        self.assertIsNone(self.job(id).resume)

    def test_release_of_what_nobody_wants_cancels(self) -> None:
        node, id, epoch = self.lease()
        self.cancel(id)
        self.assertEqual([node.release(id, epoch) for _ in range(2)], ["cancelled"] * 2)

    def test_resume_data_of_a_node_that_vanished_is_not_used(self) -> None:
        """What it does to the bytes on the shared folder is not known."""
        node, id, epoch = self.lease()
        node.release(id, epoch, {"bytes": 7})
        node.claim()
        self.expire(id)
        self.assertIsNone(self.node("b").claim()[0].resume)

    def test_the_history_keeps_the_newest_twenty(self) -> None:
        id, node = self.enqueue(max_attempts=100), self.node()
        for _ in range(25):
            [lease] = node.claim()
            node.finish(id, lease.epoch, "transient", delay="0 s")
        self.assertEqual([entry["epoch"] for entry in self.job(id).history], list(range(6, 26)))
        self.assertEqual(node.finish(id, 25, "transient"), "queued")


class Bloat(DatabaseTest):
    def figures(self) -> Any:
        return self.owner.execute(
            "SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot, n_dead_tup AS dead, autovacuum_count AS vacuums"
            " FROM pg_stat_user_tables WHERE relname = 'jobs'").fetchone()

    def test_updates_and_dead_rows_of_ten_thousand_jobs(self) -> None:
        """Claim, two renewals, end: four updates. Vacuum keeps up."""
        self.enqueue_many(10_000)
        node = self.node()
        for _ in range(100):
            leases = pairs(node.claim(100))
            self.assertEqual(len(leases), 100)
            for _ in range(2):
                node.renew(*leases, progress=[{"bytes": 1}] * 100)
            with node.connection.transaction():
                for id, epoch in leases:
                    node.finish(id, epoch)
        node.connection.close()
        eventually(lambda: self.figures().updates >= 40_000, "the figures come")
        self.assertEqual(self.figures().updates, 40_000)
        eventually(lambda: self.figures().dead < 2_000, "vacuum comes")

    def test_renewals_stay_on_their_page(self) -> None:
        """At least 90 % are HOT: they write no index."""
        self.enqueue_many(2_000)
        node = self.node()
        leases = [lease for _ in range(20) for lease in pairs(node.claim(100))]
        self.owner.execute("VACUUM dld.jobs")
        node.connection.execute("SELECT pg_stat_get_backend_pid(1)")
        eventually(lambda: self.figures().updates >= 2_000, "the figures of the claims come")
        before = self.figures()
        for turn in range(20):
            for part in batches(leases, 500):
                node.renew(*part, progress=[{"bytes": turn, "total": -1, "rate": 0, "at": "2026-01-31T08:00:00.000Z"}] * len(part))
        node.connection.close()
        eventually(lambda: self.figures().updates >= before.updates + 40_000, "the figures of the renewals come")
        self.assertGreaterEqual((self.figures().hot - before.hot) / 40_000, 0.9)


if __name__ == "__main__":
    unittest.main()
