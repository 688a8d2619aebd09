"""The schema: its rules, its rights, and the functions for producers and operators."""

from __future__ import annotations

import threading
import unittest
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from support import LOGINS, SCHEMA, Crowd, DatabaseTest, eventually, ids, migrate, open_server, pairs, spec

CHECK, RIGHTS, TOKEN, ARGUMENT, LOGIN = "23514", "42501", "DL001", "DL002", "DL004"


def setUpModule() -> None:  # noqa: N802
    open_server()


class Tables(DatabaseTest):
    def test_the_columns_are_those_of_the_contract(self) -> None:
        """Programs name columns. The lane, and the login of a node, are hints of the schema's own."""
        wanted = {
            "meta": "version compatible_from retention pruned_at migrated_at",
            "jobs": "id pool spec host lane priority run_at state attempts max_attempts token labels lease_node lease_until"
                    " lease_epoch cancel_requested progress resume result error history created_at leased_at ended_at",
            "nodes": "name instance login pools labels capacity version draining drain_limit seen_at figures",
            "hosts": "pool host max_leases",
            "overview": "id pool host priority run_at state attempts max_attempts token labels lease_node lease_until"
                        " lease_epoch cancel_requested progress result error history created_at leased_at ended_at kind url late",
            "limits": "pool host max_leases in_flight",
        }
        for table, columns in wanted.items():
            found = self.value(
                self.owner, "SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) FROM information_schema.columns"
                " WHERE table_schema = 'dld' AND table_name = %s", (table,))
            self.assertEqual(found, columns, table)
        row = self.owner.execute("SELECT version, compatible_from, retention = '30 days' FROM dld.meta").fetchall()
        self.assertEqual([tuple(one) for one in row], [(1, 1, True)])
        self.refuses("23505", self.owner.execute, "INSERT INTO dld.meta (version, compatible_from) VALUES (1, 1)")

    def test_each_check_holds(self) -> None:
        """No role can bring the table into a state that the contract excludes, its owner included."""
        id = self.enqueue()
        for change in [
            "pool = 'a b'", "pool = ''", "pool = repeat('x', 65)", "spec = '[]'", "spec = '1'",
            "spec = jsonb_build_object('url', repeat('x', 65536))", "priority = 101", "priority = -101", "state = 'gone'",
            "attempts = -1", "max_attempts = 0", "max_attempts = 101", "token = ''", "token = repeat('x', 201)",
            "lease_node = 'a'", "lease_until = now()", "state = 'leased'", "state = 'leased', lease_node = 'a'",
            "state = 'leased', lease_until = now()", "result = '{}'", "state = 'done', ended_at = now()",
            "state = 'done', result = '{}'", "state = 'done', result = '{}', error = '{}', ended_at = now()",
            "state = 'failed', ended_at = now()", "state = 'failed', error = '{}'", "state = 'cancelled'", "ended_at = now()",
        ]:
            with self.subTest(change):
                self.refuses(CHECK, self.owner.execute, f"UPDATE dld.jobs SET {change} WHERE id = {id}")
        for change in ["error = '{}'", "state = 'failed', error = '{}', ended_at = now()",
                       "state = 'done', result = '{}', error = NULL, ended_at = now()"]:
            self.owner.execute(f"UPDATE dld.jobs SET {change} WHERE id = {id}")
        for row in ["'a b', 'h', 1", "'p', 'h', 0"]:
            self.refuses(CHECK, self.owner.execute, f"INSERT INTO dld.hosts VALUES ({row})")

    def test_ids_are_never_reused(self) -> None:
        first = self.enqueue()
        self.owner.execute("DELETE FROM dld.jobs")
        self.assertGreater(self.enqueue(), first)
        self.refuses("428C9", self.owner.execute, "UPDATE dld.jobs SET id = 1")

    def test_the_files_run_in_one_transaction(self) -> None:
        """`migrate` runs them through libpq in one transaction; roles that are there are kept."""
        name = self.server.create("template0")
        self.addCleanup(self.server.drop, name)
        with self.server.connect(name) as owner:
            migrate(owner)
            self.assertEqual(self.value(owner, "SELECT count(*) FROM dld.meta"), 1)

    def test_who_may_not_create_roles_is_told_only_if_one_is_missing(self) -> None:
        self.owner.execute(f"GRANT CREATE ON DATABASE {self.database} TO nobody_at_all")
        nobody = self.connect("nobody_at_all")
        nobody.execute(SCHEMA[0].read_bytes())
        self.owner.execute("ALTER ROLE dld_node RENAME TO dld_node_away")
        try:
            self.refuses(RIGHTS, nobody.execute, SCHEMA[0].read_bytes())
        finally:
            self.owner.execute("ALTER ROLE dld_node_away RENAME TO dld_node")

    def test_settings_against_bloat(self) -> None:
        """Section 5: renewals find room on their page, and vacuum comes early and does not rest."""
        options = self.value(self.owner, "SELECT reloptions FROM pg_class WHERE oid = 'dld.jobs'::regclass")
        for option in ("fillfactor=70", "autovacuum_vacuum_scale_factor=0.01", "autovacuum_vacuum_cost_delay=0"):
            self.assertIn(option, options)

    def test_no_index_holds_what_a_renewal_changes(self) -> None:
        """An index on lease_until or progress, also in its condition, would make each renewal write all indexes."""
        found = self.owner.execute("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'dld.jobs'::regclass")
        definitions = [row[0] for row in found]
        self.assertEqual([text for text in definitions if "lease_until" in text or "progress" in text], [])
        self.assertEqual([text for text in definitions if "WHERE" not in text and "jobs_pkey" not in text], [])


class Rights(DatabaseTest):
    CALLS = {
        "dld_producer": ["enqueue('p', '{\"url\":\"http://h\"}')", "enqueue_many('p', '{}')", "cancel(1)", "retry(1)"],
        "dld_operator": ["set_limit('p', 'h', 1)", "drain('a')", "prune()"],
        "dld_node": ["register('z', gen_random_uuid(), '{p}', '{}', 1, '1')", "leases('z')", "release('z', 1, 1, NULL)",
                     "claim('z', gen_random_uuid(), 1, '1 s')", "finish('z', 1, 1, 'done', '{}')",
                     "renew('z', gen_random_uuid(), '{}', '{}', '{}', '1 s', NULL)"],
    }

    def test_every_function_is_a_definer_with_a_fixed_path(self) -> None:
        """A caller's search_path and temporary tables must not decide what runs with the owner's rights."""
        functions = self.owner.execute(
            "SELECT proname, prosecdef, proconfig FROM pg_proc WHERE pronamespace = 'dld'::regnamespace").fetchall()
        self.assertGreater(len(functions), 13)
        for name, definer, settings in functions:
            self.assertTrue(definer, name)
            self.assertIn("search_path=pg_catalog, dld, pg_temp", settings, name)

    def test_each_role_may_call_its_functions_and_no_other(self) -> None:
        may = {"ann": {"dld_producer"}, "otto": {"dld_producer", "dld_operator"}, "node_a": {"dld_node"}, "nobody_at_all": set()}
        for login, roles in may.items():
            connection = self.connect(login)
            for role, calls in self.CALLS.items():
                for call in calls:
                    with self.subTest(login, call=call):
                        if role in roles:
                            connection.execute(f"SELECT dld.{call}")
                        else:
                            self.refuses(RIGHTS, connection.execute, f"SELECT dld.{call}")

    def test_each_role_may_read_its_tables_and_write_none(self) -> None:
        may = {"ann": "meta overview", "otto": "meta overview limits nodes", "node_a": "meta nodes", "nobody_at_all": ""}
        for login, readable in may.items():
            connection = self.connect(login)
            for table in ("meta", "jobs", "nodes", "hosts", "overview", "limits"):
                with self.subTest(login, table=table):
                    if table in readable.split():
                        connection.execute(f"SELECT * FROM dld.{table}")
                    else:
                        self.refuses(RIGHTS, connection.execute, f"SELECT * FROM dld.{table}")
                    for statement in (f"DELETE FROM dld.{table}", f"INSERT INTO dld.{table} DEFAULT VALUES",
                                      f"COPY dld.{table} FROM STDIN"):
                        self.refuses(RIGHTS, connection.execute, statement)
        self.assertEqual(set(LOGINS.values()), {"dld_producer", "dld_operator", "dld_node", None})

    def test_helper_functions_are_for_nobody(self) -> None:
        """A helper runs with the owner's rights; the public ones check first."""
        granted = {call.split("(")[0] for calls in self.CALLS.values() for call in calls}
        found = self.owner.execute(
            "SELECT p.proname, r.rolname FROM pg_proc p CROSS JOIN unnest(%s::text[]) r (rolname)"
            " WHERE p.pronamespace = 'dld'::regnamespace AND has_function_privilege(r.rolname, p.oid, 'EXECUTE')",
            (list(LOGINS),))
        self.assertEqual({row[0] for row in found}, granted)

    def test_public_has_nothing(self) -> None:
        for query in [
            "SELECT count(*) FROM pg_namespace, aclexplode(nspacl) a WHERE nspname = 'dld' AND a.grantee = 0",
            "SELECT count(*) FROM pg_class, aclexplode(relacl) a WHERE relnamespace = 'dld'::regnamespace AND a.grantee = 0",
            "SELECT count(*) FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) a"
            " WHERE pronamespace = 'dld'::regnamespace AND a.grantee = 0",
        ]:
            self.assertEqual(self.value(self.owner, query), 0)

    def test_a_login_cannot_act_as_a_node_of_another_one(self) -> None:
        """A stolen password of one node must not touch the leases of another."""
        mine, id = self.node("a"), self.enqueue()
        [lease] = mine.claim()
        thief = self.connect("node_b")
        for call, arguments in [
            ("claim(%s, %s, 1, '60 s')", (mine.name, mine.instance)), ("leases(%s)", (mine.name,)),
            ("renew(%s, %s, ARRAY[%s::bigint], ARRAY[%s::bigint], NULL, '60 s', NULL)", (mine.name, mine.instance, id, lease.epoch)),
            ("finish(%s, %s, %s, 'done', '{}')", (mine.name, id, lease.epoch)),
            ("release(%s, %s, %s, NULL)", (mine.name, id, lease.epoch)),
            ("register(%s, %s, '{default}', '{}', 1, '1')", (mine.name, mine.instance)),
        ]:
            with self.subTest(call):
                self.refuses(LOGIN, thief.execute, f"SELECT dld.{call}", arguments)
        self.owner.execute("UPDATE dld.nodes SET seen_at = now() - interval '1 day'")
        self.refuses(LOGIN, thief.execute, "SELECT dld.register('a', gen_random_uuid(), '{default}', '{}', 1, '1')")
        self.assertEqual(self.job(id).state, "leased")
        self.assertEqual(mine.finish(id, lease.epoch), "done")

    def test_the_name_of_a_role_that_is_gone_is_free(self) -> None:
        self.node("a")
        self.owner.execute("UPDATE dld.nodes SET login = 'gone', seen_at = now() - interval '61 s'")
        self.node("a", login="node_b")
        self.assertEqual(self.value(self.owner, "SELECT login FROM dld.nodes"), "node_b")


class Enqueue(DatabaseTest):
    def test_the_defaults(self) -> None:
        job = self.job(self.enqueue())
        self.assertEqual(
            (job.pool, job.spec, job.priority, job.state, job.attempts, job.max_attempts, job.token, job.labels,
             job.lease_epoch, job.cancel_requested, job.history, job.run_at == job.created_at),
            ("default", {"url": "https://files.example/one.iso"}, 0, "queued", 0, 5, None, [], 0, False, [], True))

    def test_the_host_is_that_of_the_url(self) -> None:
        """Limits count by it, so two spellings of one host must not differ."""
        for url, host in [
            ("https://Files.Example/a", "files.example"), ("https://files.example:443/a", "files.example"),
            ("https://files.example:8443", "files.example:8443"), ("http://127.0.0.1:8080/x?y", "127.0.0.1:8080"),
            ("HTTP://h:80", "h"), ("http://h:443/", "h:443"), ("http://h:/", "h"), ("http://h:0080/", "h"),
            ("ftp://h:21/a", "h"), ("ftps://h:990/a", "h"), ("sftp://me@h:22/a", "h"), ("sftp://h:2222/a", "h:2222"),
            ("https://me:secret@h/a", "h"), ("https://me:p@ss@h:1/a", "h:1"), ("https://h/a@b:9/c", "h"),
            ("https://h?x=@y", "h"), ("https://h#@y", "h"), ("http://[::1]:8080/a", "[::1]:8080"),
            ("http://[2001:DB8::1]/a", "[2001:db8::1]"), ("http://h.:8080/", "h:8080"), ("http://h./", "h"), ("s3://Bucket/key", "bucket"), ("file:///etc/passwd", ""),
            ("data:,x", ""),
        ]:
            with self.subTest(url):
                self.assertEqual(self.job(self.enqueue(url)).host, host)

    def test_a_bad_argument_says_so_and_makes_nothing(self) -> None:
        good: dict[str, Any] = {"pool": "p", "specs": [spec()], "priority": 0, "max": 5, "tokens": None, "labels": []}
        for change in [
            {"pool": "a b"}, {"pool": ""}, {"pool": None}, {"pool": "x" * 65}, {"priority": 101}, {"priority": -101},
            {"priority": None}, {"max": 0}, {"max": 101}, {"max": None}, {"labels": None}, {"labels": ["a", None]},
            {"labels": ["x" * 1001]}, {"tokens": ["a", "b"]}, {"tokens": [""]}, {"tokens": ["x" * 201]},
            {"specs": [None]}, {"specs": [spec()] * 10_001},
        ] + [{"specs": [spec(), bad]} for bad in [
            Jsonb([]), Jsonb("x"), Jsonb(None), Jsonb({}), Jsonb({"url": ""}), Jsonb({"url": 7}), spec("no url"),
            spec("https://"), spec("https:///a"), spec("https://./a"), spec("https://h:x/"), spec("https://h:70000/"), spec("http:h/a"),
            spec("https://a\\@b/"), spec("https://a b/"), spec(kind="stream"), spec(kind=None), spec(clientToken="x"),
            spec(resumeData="x"), spec(description="x" * 65_536),
        ]]:
            with self.subTest(str(change)[:80]):
                self.refuses(ARGUMENT, self.ann.execute,
                             "SELECT dld.enqueue_many(%(pool)s, %(specs)s::jsonb[], %(priority)s, NULL, %(max)s, %(tokens)s::text[],"
                             " %(labels)s::text[])", good | change)
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs"), 0)

    def test_the_longest_spec_is_taken(self) -> None:
        """The limit is of the bytes of the text: 65,536 are taken, one more is not."""
        empty = len('{"url": "https://h/", "description": ""}')
        for kind in ("download", "upload", "data"):
            self.ann.execute("SELECT dld.enqueue('p', %s)", (spec(kind=kind),))
        self.ann.execute("SELECT dld.enqueue('p', %s)", (spec("https://h/", description="x" * (65_536 - empty)),))
        self.refuses(ARGUMENT, self.ann.execute, "SELECT dld.enqueue('p', %s)",
                     (spec("https://h/", description="x" * (65_537 - empty)),))

    def test_a_token_makes_one_job(self) -> None:
        first = self.enqueue(token="t")
        self.assertEqual(self.enqueue(token="t", priority=7), first)
        self.assertEqual(self.job(first).priority, 0)
        self.refuses(TOKEN, lambda: self.enqueue(token="t", pool="other"))
        self.refuses(TOKEN, lambda: self.enqueue("https://files.example/two.iso", token="t"))
        self.assertNotEqual(self.enqueue(), self.enqueue())
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs WHERE token = 't'"), 1)

    def test_a_token_of_a_pruned_job_is_free(self) -> None:
        first = self.enqueue(token="t")
        self.cancel(first)
        self.owner.execute("UPDATE dld.jobs SET ended_at = now() - interval '31 days'")
        self.assertEqual(self.value(self.otto, "SELECT dld.prune()"), 1)
        self.assertGreater(self.enqueue("https://files.example/two.iso", token="t"), first)

    def test_two_calls_with_one_token_at_once_make_one_job(self) -> None:
        """The second waits for the commit of the first. If the first rolls back, the second makes the job."""
        for commits in (True, False):
            with self.subTest(commits=commits):
                first, second, crowd = self.connect("ann", autocommit=False), self.connect("ann"), Crowd()
                query = "SELECT dld.enqueue('p', %s, token => %s)"
                made = self.value(first, query, (spec(), f"t{commits}"))
                crowd.start(self.value, second, query, (spec(), f"t{commits}"))
                eventually(lambda: self.waits(second), "the second call waits")
                first.commit() if commits else first.rollback()
                self.assertEqual(crowd.wait()[0] == made, commits)
                self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs WHERE token = %s", (f"t{commits}",)), 1)

    def test_crowds_with_the_same_tokens_make_each_job_once(self) -> None:
        """Bulk calls with the same tokens in other orders do not wait for each other in a ring."""
        names = [f"t{number}" for number in range(200)]
        crowd = Crowd()
        for turn in range(8):
            order = names[turn * 20:] + names[:turn * 20]
            order = order[::-1] if turn % 2 else order
            crowd.start(lambda connection, tokens: ids(connection.execute(
                "SELECT e AS id FROM dld.enqueue_many('p', %s::jsonb[], tokens => %s) e", ([spec()] * 200, tokens)).fetchall()),
                self.connect("ann"), order)
        answers = crowd.wait()
        self.assertEqual(len({id for answer in answers for id in answer}), 200)
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs"), 200)

    def test_many_are_in_order_and_all_or_none(self) -> None:
        specs = [spec(f"https://h/{number}") for number in range(10_000)]
        made = ids(self.ann.execute("SELECT e AS id FROM dld.enqueue_many('p', %s::jsonb[]) e", (specs,)).fetchall())
        self.assertEqual(made, sorted(made))
        urls = self.owner.execute("SELECT spec ->> 'url' FROM dld.jobs ORDER BY id").fetchall()
        self.assertEqual([row[0] for row in urls], [f"https://h/{number}" for number in range(10_000)])
        query = "SELECT e AS id FROM dld.enqueue_many('p', %s::jsonb[], tokens => %s) e"
        first = ids(self.ann.execute(query, ([spec()] * 3, ["a", None, "b"])).fetchall())
        again = ids(self.ann.execute(query, ([spec()] * 4, ["b", "c", "a", "b"])).fetchall())
        self.assertEqual((again[0], again[2], again[3]), (first[2], first[0], first[2]))
        self.refuses(TOKEN, self.ann.execute, query, ([spec(), spec("https://other/")], ["new", "a"]))
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs WHERE token = 'new'"), 0)
        self.assertEqual(self.ann.execute("SELECT * FROM dld.enqueue_many('p', '{}')").fetchall(), [])


class Operators(DatabaseTest):
    def test_cancel(self) -> None:
        queued, leased, node = self.enqueue(priority=1), self.enqueue(priority=2), self.node()
        [lease] = node.claim()
        self.assertEqual((self.cancel(queued), self.cancel(leased), self.cancel(999)), ("cancelled", "leased", None))
        self.assertEqual((self.job(queued).cancel_requested, self.job(leased).cancel_requested), (False, True))
        self.assertEqual(self.cancel(queued), "cancelled")
        node.finish(leased, lease.epoch)
        self.assertEqual(self.cancel(leased), "done")

    def test_cancel_waits_for_the_claim_that_is_faster(self) -> None:
        """The job is leased by then, so its node must be told."""
        id, ear, crowd = self.enqueue(), self.ear(), Crowd()
        node = self.node()
        node.connection.autocommit = False
        node.claim()
        other = self.connect("ann")
        crowd.start(self.value, other, "SELECT dld.cancel(%s)", (id,))
        eventually(lambda: self.waits(other), "cancel waits")
        node.connection.commit()
        self.assertEqual(crowd.wait(), ["leased"])
        self.assertEqual(ear.heard(), [("dld_control", "a")])

    def test_retry(self) -> None:
        id, node = self.enqueue(max_attempts=1), self.node()
        [lease] = node.claim()
        self.assertEqual(self.retry(id), "leased")
        self.assertEqual(node.finish(id, lease.epoch, "failed"), "failed")
        self.refuses(ARGUMENT, self.retry, id, 0)
        self.assertEqual(self.retry(id, 3), "queued")
        job = self.job(id)
        self.assertEqual((job.attempts, job.max_attempts, job.lease_epoch, job.ended_at, job.error["code"]),
                         (0, 3, 1, None, "network.connect"))
        self.assertEqual(node.claim()[0].epoch, 2)
        self.cancel(id)
        self.assertEqual(node.finish(id, 2, "cancelled"), "cancelled")
        self.assertEqual((self.retry(id), self.job(id).cancel_requested), ("queued", False))
        self.assertEqual((self.retry(id), self.retry(999)), ("queued", None))

    def test_limits(self) -> None:
        self.limit("h", 2)
        self.enqueue_many(3, "https://h/x")
        self.node().claim(1)
        found = self.otto.execute("SELECT * FROM dld.limits").fetchall()
        self.assertEqual([tuple(row) for row in found], [("default", "h", 2, 1)])
        self.limit("h", None)
        self.assertEqual(self.otto.execute("SELECT * FROM dld.limits").fetchall(), [])
        for pool, host, most in [("a b", "h", 1), ("p", "", 1), ("p", None, 1), ("p", "h", 0)]:
            self.refuses(ARGUMENT, self.otto.execute, "SELECT dld.set_limit(%s, %s, %s)", (pool, host, most))

    def test_drain(self) -> None:
        ear = self.ear()
        self.assertFalse(self.value(self.otto, "SELECT dld.drain('a')"))
        node = self.node()
        self.assertTrue(self.value(self.otto, "SELECT dld.drain('a', drain_limit => '7 s')"))
        query = "SELECT draining, extract(epoch FROM drain_limit)::int FROM dld.nodes"
        self.assertEqual(tuple(self.owner.execute(query).fetchone()), (True, 7))
        node.register()
        self.assertEqual(tuple(self.owner.execute(query).fetchone()), (True, 7))
        self.assertTrue(self.value(self.otto, "SELECT dld.drain('a', false)"))
        self.assertEqual(tuple(self.owner.execute(query).fetchone()), (False, None))
        self.assertEqual(ear.heard(), [("dld_control", "a")] * 2)

    def test_prune_removes_final_jobs_alone(self) -> None:
        self.enqueue_many(10)
        node = self.node()
        for lease in node.claim(6)[:4]:
            node.finish(lease.id, lease.epoch)
        self.owner.execute("UPDATE dld.jobs SET created_at = created_at - interval '40 days',"
                           " ended_at = ended_at - interval '29 days' - id * interval '1 hour'")
        self.assertEqual(self.value(self.otto, "SELECT dld.prune()"), 0)
        self.owner.execute("UPDATE dld.meta SET retention = '29 days'")
        self.assertEqual(self.value(self.otto, "SELECT dld.prune(batch => 3)"), 3)
        self.assertEqual(self.value(self.otto, "SELECT dld.prune(batch => 3)"), 1)
        self.assertEqual(self.value(self.otto, "SELECT dld.prune('0 s')"), 0)
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs"), 6)

    def test_the_overview_shows_no_secret(self) -> None:
        secret = "https://me:secret@Files.example:8443/a/b.iso?key=secret#secret"
        id = self.enqueue(secret)
        self.ann.execute("SELECT dld.enqueue('default', %s)", (spec(kind="data", headers={"X": "secret"}),))
        rows = self.ann.execute("SELECT * FROM dld.overview ORDER BY id").fetchall()
        self.assertEqual((rows[0].url, rows[0].kind, rows[0].late), ("https://Files.example:8443/a/b.iso", "download", False))
        self.assertEqual(rows[1].kind, "data")
        self.assertNotIn("secret", repr(rows))
        self.node().claim(2)
        self.expire(id)
        self.assertEqual([row.late for row in self.ann.execute("SELECT late FROM dld.overview ORDER BY id")], [True, False])


class Notifications(DatabaseTest):
    """Each channel says exactly what the contract names: too few stall the fleet, too many serialize commits."""

    def test_jobs_are_told_once_per_transaction_and_pool(self) -> None:
        ear, ann = self.ear(), self.connect("ann", autocommit=False)
        for pool in ("p", "q", "p", "p"):
            ann.execute("SELECT dld.enqueue_many(%s, %s::jsonb[])", (pool, [spec()] * 3))
        self.assertEqual(ear.heard(), [])
        ann.commit()
        self.assertEqual(ear.heard(), [("dld_jobs", "p"), ("dld_jobs", "q")])
        ann.execute("SELECT dld.enqueue('p', %s)", (spec(),))
        ann.rollback()
        self.assertEqual(ear.heard(), [])

    def test_only_what_is_due_now_is_told(self) -> None:
        ear = self.ear()
        self.ann.execute("SELECT dld.enqueue('p', %s, run_at => now() + interval '1 hour')", (spec(),))
        self.assertEqual(ear.heard(), [])
        self.ann.execute("SELECT dld.enqueue('p', %s, run_at => now() - interval '1 hour', token => 't')", (spec(),))
        self.assertEqual(ear.heard(), [("dld_jobs", "p")])
        self.ann.execute("SELECT dld.enqueue('p', %s, token => 't')", (spec(),))
        self.assertEqual(ear.heard(), [])

    def test_claims_renewals_and_progress_say_nothing(self) -> None:
        self.enqueue_many(5)
        node, ear = self.node(), self.ear()
        leases = pairs(node.claim(5))
        node.renew(*leases, progress=[{"bytes": 1}] * 5, figures={"running": 5})
        node.leases()
        self.expire(*[id for id, _ in leases])
        node.claim(5)
        self.assertEqual(ear.heard(), [])

    def test_each_end_is_told_once(self) -> None:
        self.enqueue_many(4)
        last = self.enqueue(max_attempts=1)
        node, ear = self.node(), self.ear()
        leases = node.claim(5)
        for lease, outcome in zip(leases, ("done", "failed", "cancelled", "transient", "transient"), strict=True):
            for _ in range(2):
                node.finish(lease.id, lease.epoch, outcome)
        wanted = [("dld_ends", f'{{"id":{lease.id},"state":"{state}"}}')
                  for lease, state in zip(leases, ("done", "failed", "cancelled"), strict=False)]
        self.assertEqual(ear.heard(), [*wanted, ("dld_ends", f'{{"id":{last},"state":"failed"}}')])

    def test_cancel_retry_and_release(self) -> None:
        id, node, ear = self.enqueue(), self.node(), self.ear()
        self.cancel(id)
        self.cancel(id)
        self.assertEqual(ear.heard(), [("dld_ends", f'{{"id":{id},"state":"cancelled"}}')])
        self.retry(id)
        self.retry(id)
        self.assertEqual(ear.heard(), [("dld_jobs", "default")])
        [lease] = node.claim()
        node.release(id, lease.epoch)
        self.assertEqual(ear.heard(), [("dld_jobs", "default")])
        [lease] = node.claim()
        self.cancel(id)
        self.cancel(id)
        self.assertEqual(ear.heard(), [("dld_control", "a")])
        node.finish(id, lease.epoch, "transient")
        self.assertEqual(ear.heard(), [("dld_ends", f'{{"id":{id},"state":"cancelled"}}')])

    def test_a_hundred_ends_of_one_transaction_are_a_hundred(self) -> None:
        self.enqueue_many(100)
        node, ear = self.node(), self.ear()
        with node.connection.transaction():
            for lease in node.claim(100):
                node.finish(lease.id, lease.epoch)
        self.assertEqual(len(set(ear.heard())), 100)


class Registering(DatabaseTest):
    REGISTER = "SELECT dld.register(%s, gen_random_uuid(), %s, %s, %s, '1.0')"

    def test_another_instance_waits_for_a_minute(self) -> None:
        node = self.node()
        node.register()
        call = (self.REGISTER, ("a", ["default"], [], 1))
        self.refuses("DL003", node.connection.execute, *call)
        self.owner.execute("UPDATE dld.nodes SET seen_at = now() - interval '59 s'")
        self.refuses("DL003", node.connection.execute, *call)
        self.owner.execute("UPDATE dld.nodes SET seen_at = now() - interval '61 s'")
        node.connection.execute(*call)
        self.refuses("DL003", node.register)

    def test_two_instances_at_once(self) -> None:
        """One of them is the node, the others are told."""
        crowd, wins, gate = Crowd(), [], threading.Barrier(8)

        def register(connection: psycopg.Connection[Any]) -> None:
            gate.wait()
            try:
                connection.execute(self.REGISTER, ("a", ["default"], [], 1))
                wins.append(1)
            except psycopg.Error as error:
                self.assertEqual(error.sqlstate, "DL003")

        for _ in range(8):
            crowd.start(register, self.connect("node_a"))
        crowd.wait()
        self.assertEqual(len(wins), 1)

    def test_a_bad_argument(self) -> None:
        node = self.connect("node_a")
        for arguments in [("a b", ["p"], [], 1), ("a", ["a b"], [], 1), ("a", None, [], 1), ("a", ["p"], [], 0)]:
            self.refuses(ARGUMENT, node.execute, self.REGISTER, arguments)


if __name__ == "__main__":
    unittest.main()
