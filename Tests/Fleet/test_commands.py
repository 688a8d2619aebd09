"""The commands of dld-fleet, against a real database: what they print, what they change, and how they end."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import unittest
from typing import Any

from psycopg.types.json import Jsonb

from support import CHECKOUT, PATIENCE, DatabaseTest, Server, eventually

#: The folder of the built programs.
BINARIES = pathlib.Path(os.environ.get("DLD_BINARIES") or CHECKOUT / ".build" / "debug")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
JOB = set("id pool state kind url host priority runAt attempts maxAttempts token labels node epoch leaseUntil progress result "
          "error cancelRequested createdAt leasedAt endedAt".split())
#: Texts that would do harm if one became part of an SQL text, of an array literal or of JSON.
HOSTILE = ["'; DROP TABLE dld.jobs; --", "$1", "{a,b}", '"', "\\", "\\'", "NULL", "a,b", "%s", "\u202egpj.exe", "é漢🙂"]


def setUpModule() -> None:
    DatabaseTest.server = Server()
    unittest.addModuleCleanup(DatabaseTest.server.end)
    DatabaseTest.server.start()
    DatabaseTest.server.prepare()


class Fleet:
    """Runs dld-fleet with nothing of this machine's configuration."""

    def __init__(self, case: unittest.TestCase, server: Server, database: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="dld-fleet-")
        case.addCleanup(self.folder.cleanup)
        self.case, self.path = case, pathlib.Path(self.folder.name)
        self.environment = {
            "HOME": self.folder.name, "XDG_CONFIG_HOME": self.folder.name, "PGHOST": str(server.folder),
            "PGDATABASE": database, "PATH": os.environ["PATH"]}

    def config(self, text: str) -> str:
        path = self.path / "own.yaml"
        path.write_text(text)
        return str(path)

    def start(self, *arguments: Any, user: str = "ann", **options: Any) -> subprocess.Popen[str]:
        program = BINARIES / "dld-fleet"
        if not program.exists():
            raise AssertionError(f"{program} is missing: build it, or name its folder in DLD_BINARIES")
        environment = self.environment | {"PGUSER": user} | options.pop("environment", {})
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([program, *map(str, arguments)], env=environment, text=True, **(pipes | options))

    def run(self, *arguments: Any, status: int = 0, text: str | None = None, **options: Any) -> tuple[str, str]:
        if text is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as process:
            try:
                output, errors = process.communicate(text, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        self.case.assertEqual(process.returncode, status, f"{arguments}: {output}{errors}")
        if status == 0:
            self.case.assertEqual(errors, "", arguments)
        return output, errors

    def json(self, command: str, *arguments: Any, **options: Any) -> Any:
        return json.loads(self.run(command, "--json", *arguments, **options)[0])

    def refusal(self, command: str, *arguments: Any, status: int = 4, **options: Any) -> str:
        """The code of the error."""
        return str(json.loads(self.run(command, "--json", *arguments, status=status, **options)[1])["error"]["code"])


class CommandTest(DatabaseTest):
    def setUp(self) -> None:
        super().setUp()
        self.fleet = Fleet(self, self.server, self.database)

    def add(self, *arguments: Any, **options: Any) -> list[int]:
        return [job["id"] for job in self.fleet.json("add", *arguments, **options)["jobs"]]

    def shown(self, id: int) -> dict[str, Any]:
        return dict(self.fleet.json("show", id))


class Adding(CommandTest):
    def test_each_url_is_a_job(self) -> None:
        added = self.fleet.json("add", "https://files.example/a", "http://127.0.0.1:8080/b")
        self.assertEqual(added, {"jobs": [{"id": 1, "state": "queued"}, {"id": 2, "state": "queued"}]})
        self.assertEqual(self.job(1).spec, {"url": "https://files.example/a"})
        self.assertEqual(self.shown(2)["host"], "127.0.0.1:8080")
        self.assertEqual(self.fleet.run("add", "https://files.example/c")[0], "3  queued\n")

    def test_options_are_members_of_the_spec(self) -> None:
        digest = "AB" * 32
        [id] = self.add("https://files.example/a", "--pool", "media", "--priority", "-7", "--max-attempts", 2, "--label", "gpu",
                        "--label", "eu", "--header", "Accept: a:b", "--header", "X-Empty:", "--checksum", f"sha256:{digest}",
                        "-o", "/data/{id}", "--run-at", "2100-01-31T08:00:00.25Z", "--spec", '{"kind":"data","url":"x","size":3}')
        job = self.job(id)
        self.assertEqual(job.spec, {
            "url": "https://files.example/a", "kind": "data", "size": 3, "headers": [["Accept", "a:b"], ["X-Empty", ""]],
            "checksum": {"algorithm": "sha-256", "value": digest.lower()}, "destination": {"path": "/data/{id}"}})
        self.assertEqual((job.pool, job.priority, job.max_attempts, job.labels), ("media", -7, 2, ["gpu", "eu"]))
        self.assertEqual(self.shown(id)["runAt"], "2100-01-31T08:00:00.250Z")
        [id] = self.add("https://files.example/a", "-o", "name", "--run-at", "+1h")
        self.assertEqual(self.job(id).spec["destination"], {"filename": "name"})
        self.assertTrue(self.value(self.owner, "SELECT run_at - created_at = '1 h' FROM dld.jobs WHERE id = %s", (id,)))

    def test_specs_come_as_lines(self) -> None:
        lines = '{"url":"https://files.example/1"}\n\n{"url":"https://files.example/2","kind":"data"}\n'
        self.assertEqual(self.add("--spec", "-", "--label", "x", text=lines), [1, 2])
        self.assertEqual(self.job(2).spec["kind"], "data")
        self.assertEqual(self.add("--spec", "-", text=""), [])
        self.assertEqual(self.fleet.refusal("add", "--spec", "-", text="{}\n[1]\n", status=2), "usage")

    def test_many_specs_are_several_calls(self) -> None:
        lines = "".join(f'{{"url":"https://files.example/{number}"}}\n' for number in range(10_001))
        self.assertEqual(self.add("--spec", "-", "--token", "t", text=lines), list(range(1, 10_002)))
        self.assertEqual(self.job(10_001).token, "t-10001")
        # A line that is refused takes its own call with it, not the one before.
        output, errors = self.fleet.run("add", "--spec", "-", "--json", text=lines + "{}\n", status=4)
        self.assertEqual(len(json.loads(output)["jobs"]), 10_000)
        self.assertEqual(json.loads(errors)["error"]["code"], "DL002")

    def test_a_token_makes_one_job(self) -> None:
        self.assertEqual(self.add("https://files.example/a", "--token", "t"), [1])
        self.fleet.run("cancel", 1)
        added = self.fleet.json("add", "https://files.example/a", "--token", "t")
        self.assertEqual(added, {"jobs": [{"id": 1, "state": "cancelled"}]})
        several = self.add("https://files.example/a", "https://files.example/b", "--token", "t")
        self.assertEqual([self.job(id).token for id in several], ["t-1", "t-2"])
        self.assertEqual(self.fleet.refusal("add", "https://files.example/b", "--token", "t"), "DL001")

    def test_the_database_refuses(self) -> None:
        url = "https://files.example/a"
        for arguments in [("x",), (url, "--priority", 101), (url, "--max-attempts", 0), (url, "--pool", "a b"),
                          ("--spec", "{}"), (url, "--spec", '{"clientToken":"x"}'), (url, "--token", "t" * 201)]:
            with self.subTest(arguments):
                self.assertEqual(self.fleet.refusal("add", *arguments), "DL002")
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs"), 0)

    def test_wrong_usage(self) -> None:
        url = "https://files.example/a"
        for arguments in [(), (url, "--spec", "-"), (url, "--spec", "["), (url, "--spec", "1"), (url, "--header", "x"),
                          (url, "--header", "a b: c"), (url, "--checksum", "sha-256:00"), (url, "--checksum", "crc:00"),
                          (url, "-o", "a/b"), (url, url, "-o", "/a"), (url, "--run-at", "soon"), (url, "--timeout", "5"),
                          (url, "--priority", "high"), (url, "-x")]:
            with self.subTest(arguments):
                self.assertEqual(self.fleet.refusal("add", *arguments, status=2), "usage")


class Looking(CommandTest):
    def test_a_job_has_these_members(self) -> None:
        [id] = self.add("https://files.example/a", "--token", "t")
        queued = self.shown(id)
        self.assertEqual(set(queued), JOB | {"history"})
        absent = {name for name, value in queued.items() if value is None}
        self.assertEqual(absent, {"node", "leaseUntil", "progress", "result", "error", "leasedAt", "endedAt"})
        node = self.node()
        [lease] = node.claim()
        node.renew((id, lease.epoch), progress=[{"bytes": 5, "total": 10, "rate": 1.5, "at": "2026-01-31T08:00:00.000Z"}])
        [leased] = self.fleet.json("list")["jobs"]
        self.assertEqual(set(leased), JOB)
        self.assertEqual((leased["state"], leased["node"], leased["epoch"], leased["attempts"]), ("leased", "a", 1, 1))
        self.assertEqual(leased["progress"]["rate"], 1.5)
        self.assertRegex(self.fleet.run("list")[0], r"leased .* a .* 50%")
        node.finish(id, lease.epoch, "done", {"size": 10, "path": "/data/a", "node": "a"})
        done = self.shown(id)
        for name in ["runAt", "createdAt", "leasedAt", "endedAt"]:
            self.assertRegex(done[name], TIME)
        self.assertEqual((done["result"]["path"], done["node"], done["labels"]), ("/data/a", None, []))
        self.assertEqual([(entry["end"], entry["node"]) for entry in done["history"]], [("done", "a")])
        self.assertRegex(self.fleet.run("show", id)[0], r"(?m)^attempt 1 .* a  done$")

    def test_pages_and_filters(self) -> None:
        for number in range(5):
            self.enqueue(f"https://files.example/{number}", pool="even" if number % 2 == 0 else "odd")
        self.node("a", pools=("odd",)).claim(1)
        self.fleet.run("cancel", 1)

        def listed(*arguments: Any) -> tuple[list[int], int | None]:
            page = self.fleet.json("list", *arguments)
            return [job["id"] for job in page["jobs"]], page["next"]

        self.assertEqual(listed(), ([1, 2, 3, 4, 5], None))
        self.assertEqual(listed("--limit", 2), ([1, 2], 2))
        self.assertEqual(listed("--limit", 2, "--after", 2), ([3, 4], 4))
        self.assertEqual(listed("--limit", 2, "--after", 4), ([5], None))
        self.assertEqual(listed("--pool", "odd"), ([2, 4], None))
        self.assertEqual(listed("--node", "a"), ([2], None))
        self.assertEqual(listed("--state", "cancelled", "--state", "leased"), ([1, 2], None))
        self.assertEqual(self.fleet.run("list", "--pool", "none", "--json"), ('{"jobs":[],"next":null}\n', ""))
        for wrong in [("--state", "lost"), ("--limit", 0), ("--after", "x"), ("more",)]:
            self.assertEqual(self.fleet.refusal("list", *wrong, status=2), "usage")

    def test_secrets_are_never_printed(self) -> None:
        spec = {"url": "https://user:secret@files.example/a?key=secret#secret", "bearer": "secret", "password": "secret"}
        self.add("--spec", json.dumps(spec), "--header", "Authorization: secret")
        for form in [(), ("--json",)]:
            for command in [("list",), ("show", 1), ("watch", 1, "--timeout", "0.1")]:
                output, errors = self.fleet.run(*command, *form, status=5 if "watch" in command else 0)
                self.assertIn("https://files.example/a", output)
                self.assertNotIn("secret", output + errors)

    def test_what_does_not_exist(self) -> None:
        for command in ["show", "watch", "cancel", "retry"]:
            self.assertEqual(self.fleet.refusal(command, 7), "job.unknown")
            for wrong in ["0", "-1", "x", "99999999999999999999"]:
                self.fleet.run(command, wrong, status=2)
        self.assertEqual(self.fleet.refusal("drain", "lost", user="otto"), "node.unknown")

    def test_a_terminal_gets_nothing_to_obey(self) -> None:
        id = self.enqueue("https://files.example/\u202ea\u0085b")
        [lease] = self.node().claim()
        self.connect("node_a").execute(
            "SELECT dld.finish('a', %s, %s, 'failed', %s)",
            (id, lease.epoch, Jsonb({"code": "\x1b[31mx", "message": "\x1b]0;x\x07\u2066"})))
        for command in [("list",), ("show", id), ("list", "--json"), ("show", id, "--json")]:
            output = self.fleet.run(*command)[0]
            self.assertEqual([letter for letter in output if not letter.isprintable() and letter != "\n"], [], command)


class Changing(CommandTest):
    def test_cancel(self) -> None:
        for _ in range(3):
            self.enqueue()
        node = self.node()
        [lease] = node.claim()
        self.enqueue()
        done = self.fleet.json("cancel", 1, 2)
        self.assertEqual(done, {"changed": [1, 2], "skipped": []})
        self.assertEqual((self.job(1).state, self.job(2).state), ("leased", "cancelled"))
        self.assertTrue(self.shown(1)["cancelRequested"])
        node.finish(1, lease.epoch)
        again = {"changed": [3], "skipped": [{"id": 1, "state": "done"}, {"id": 2, "state": "cancelled"}]}
        self.assertEqual(self.fleet.json("cancel", 2, 1, 3, 3), again)
        # The others are cancelled although one does not exist.
        output, errors = self.fleet.run("cancel", 4, 99, "--json", status=4)
        self.assertEqual(json.loads(output), {"changed": [4], "skipped": []})
        self.assertIn("99", errors)

    def test_retry(self) -> None:
        self.enqueue()
        self.enqueue()
        self.cancel(1)
        self.assertEqual(self.fleet.json("retry", 1, 2), {"changed": [1], "skipped": [{"id": 2, "state": "queued"}]})
        self.assertEqual(self.job(1).state, "queued")
        self.assertEqual(self.fleet.run("retry", 2)[0], "2  stays queued\n")

    def test_a_conflict_is_repeated(self) -> None:
        self.enqueue()
        # A sequence counts what is rolled back too.
        self.owner.execute("""
            CREATE SEQUENCE tries;
            CREATE OR REPLACE FUNCTION dld.retry(id bigint, max_attempts int DEFAULT NULL) RETURNS text
            LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                IF nextval('public.tries') % 7 <> 0 THEN
                    RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'conflict';
                END IF;
                RETURN 'queued';
            END $$""")
        self.assertEqual(self.fleet.refusal("retry", 1), "40001")
        self.fleet.run("retry", 1)
        self.assertEqual(self.value(self.owner, "SELECT last_value FROM tries"), 7)

    def test_limits(self) -> None:
        limits = self.fleet.json("limit", "default", "files.example", 1, user="otto")
        row = {"pool": "default", "host": "files.example", "limit": 1, "inFlight": 0}
        self.assertEqual(limits, {"limits": [row]})
        self.enqueue()
        self.node().claim()
        self.assertEqual(self.fleet.json("limit", user="otto"), {"limits": [row | {"inFlight": 1}]})
        self.assertEqual(self.fleet.json("limit", "default", "files.example", "none", user="otto"), {"limits": []})
        for wrong in [("default",), ("default", "x"), ("default", "x", 0), ("default", "x", "y"), ("a", "b", 1, 2)]:
            self.fleet.run("limit", *wrong, status=2)
        self.assertEqual(self.fleet.refusal("limit", "a b", "x", 1, user="otto"), "DL002")

    def test_nodes_and_drain(self) -> None:
        node = self.node("a", "gpu", pools=("default", "media"))
        self.enqueue()
        [lease] = node.claim()
        node.renew((1, lease.epoch), figures={"freeBytes": 1024, "running": 1})

        def states() -> dict[str, str]:
            return {node["name"]: node["state"] for node in self.fleet.json("nodes", user="otto")["nodes"]}

        [shown] = self.fleet.json("nodes", user="otto")["nodes"]
        self.assertRegex(shown.pop("seenAt"), TIME)
        self.assertEqual(shown, {
            "name": "a", "state": "up", "pools": ["default", "media"], "labels": ["gpu"], "capacity": 16, "leased": 1,
            "version": "1.0", "figures": {"freeBytes": 1024, "running": 1}})
        self.assertEqual(self.fleet.json("drain", "a", "--limit", "90", user="otto"), {"node": "a", "state": "draining"})
        self.assertTrue(self.value(self.owner, "SELECT draining AND drain_limit = '90 s' FROM dld.nodes"))
        node.finish(1, lease.epoch)
        self.assertEqual(states(), {"a": "drained"})
        self.assertEqual(self.fleet.json("drain", "a", "--undo", user="otto"), {"node": "a", "state": "up"})
        self.owner.execute("UPDATE dld.nodes SET seen_at = now() - interval '61 s'")
        self.assertEqual(states(), {"a": "lost"})
        self.assertRegex(self.fleet.run("nodes", user="otto")[0], r"a +lost +0/16 +1\.0 KiB +6\ds ago")
        self.fleet.run("drain", "a", "--undo", "--limit", 1, user="otto", status=2)


class Watching(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.node_a = self.node()

    def end(self, outcome: str = "done") -> None:
        [lease] = self.node_a.claim()
        self.node_a.finish(lease.id, lease.epoch, outcome)

    def watch(self, *arguments: Any, config: str = "poll: 0.1\n") -> subprocess.Popen[str]:
        process = self.fleet.start(*arguments, "--json", "--config", self.fleet.config(config))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def line(self, process: subprocess.Popen[str]) -> Any:
        assert process.stdout is not None
        return json.loads(process.stdout.readline())

    def ends(self, process: subprocess.Popen[str], status: int) -> str:
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, errors)
        return str(output)

    def test_each_change_is_a_line(self) -> None:
        self.enqueue()
        process = self.watch("watch", 1)
        self.assertEqual(self.line(process)["state"], "queued")
        [lease] = self.node_a.claim()
        self.assertEqual(self.line(process)["state"], "leased")
        self.node_a.finish(1, lease.epoch)
        self.assertEqual(self.line(process)["result"], {"size": 1})
        self.assertEqual(self.ends(process, 0), "")

    def test_ends_are_heard_and_found(self) -> None:
        for listen in ["true\npoll: 1h", "false\npoll: 0.1"]:
            for outcome, status in [("done", 0), ("failed", 1)]:
                id = self.enqueue()
                process = self.watch("watch", id, config=f"listen: {listen}\n")
                self.line(process)
                self.end(outcome)
                self.assertEqual(json.loads(self.ends(process, status).splitlines()[-1])["state"], outcome)

    def test_what_has_ended_is_told_at_once(self) -> None:
        self.enqueue()
        self.enqueue()
        self.end()
        self.assertEqual(json.loads(self.fleet.run("watch", 1, "--json")[0])["state"], "done")
        self.cancel(2)
        self.assertEqual(len(self.fleet.run("watch", 1, 2, status=1)[0].splitlines()), 2)

    def test_add_waits(self) -> None:
        process = self.watch("add", "https://files.example/a", "-w")
        self.assertEqual(self.line(process), {"jobs": [{"id": 1, "state": "queued"}]})
        self.assertEqual(self.line(process)["state"], "queued")
        self.end()
        self.ends(process, 0)
        self.fleet.run("add", "https://files.example/a", "-w", "--timeout", "0.1", status=5)

    def test_a_time_limit(self) -> None:
        self.enqueue()
        self.assertEqual(self.fleet.refusal("watch", 1, "--timeout", "0.1", status=5), "timeout")

    def test_an_interrupt(self) -> None:
        self.enqueue()
        process = self.watch("watch", 1)
        self.line(process)
        process.send_signal(signal.SIGINT)
        self.ends(process, 130)

    def test_a_lost_connection_is_made_again(self) -> None:
        self.enqueue()
        process = self.watch("watch", 1)
        self.line(process)
        eventually(lambda: self.value(
            self.owner, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'dld-fleet' "
            "AND datname = current_database()"), "the connection is there")
        self.end()
        self.ends(process, 0)

    def test_a_job_that_is_removed_after_its_end_is_no_mistake(self) -> None:
        self.enqueue()
        self.enqueue()
        process = self.watch("watch", 1, 2)
        self.line(process), self.line(process)
        self.end()
        eventually(lambda: self.line(process)["state"] == "done", "the end is told")
        self.owner.execute("DELETE FROM dld.jobs WHERE id = 1")
        self.end()
        self.ends(process, 0)


class Ending(CommandTest):
    def test_no_database(self) -> None:
        for place in [{"PGHOST": "/nowhere"}, {"PGDATABASE": "nothing"}, {"PGSERVICE": "unknown"}]:
            self.assertEqual(self.fleet.refusal("list", environment=place, status=3), "database.unreachable")

    def test_rights(self) -> None:
        cases: list[tuple[str, tuple[Any, ...]]] = [
            ("ann", ("nodes",)), ("ann", ("drain", "a")), ("ann", ("limit",)), ("ann", ("limit", "default", "x", 1)),
            ("node_a", ("list",)), ("node_a", ("add", "https://files.example/a")), ("node_a", ("cancel", 1)),
            ("nobody_at_all", ("list",))]
        for user, command in cases:
            with self.subTest(user=user, command=command):
                self.assertEqual(self.fleet.refusal(*command, user=user), "42501")

    def test_another_version(self) -> None:
        for version, compatible in [(0, 0), (7, 7), (9, 2)]:
            self.owner.execute("UPDATE dld.meta SET version = %s, compatible_from = %s", (version, compatible))
            for command in [("list",), ("add", "https://files.example/a"), ("nodes",), ("watch", 1)]:
                errors = self.fleet.run(*command, status=76)[1]
                self.assertIn(f"version {version}", errors)
                self.assertIn("version 1", errors)
        self.owner.execute("UPDATE dld.meta SET version = 7, compatible_from = 1")
        self.fleet.run("list", "--json")

    def test_mistakes_in_the_configuration(self) -> None:
        path = self.fleet.config("database: host=x password=secret\nnmae: a\npolicy:\n  pools: [a b]\n  folders: [{shared: 1}]\n")
        for command in [("list",), ("node", "--check-config"), ("migrate",), ("add", "x"), ("show", 1)]:
            errors = self.fleet.run(*command, "--config", path, status=78)[1]
            for line, word in [(1, "password"), (2, "nmae"), (4, "policy.pools"), (5, "policy.folders")]:
                self.assertRegex(errors, rf"own\.yaml:{line}: .*{word}")
            self.assertNotIn("secret", errors)
        self.fleet.run("list", "--config", "/nowhere.yaml", status=78)
        self.assertEqual(self.fleet.run("node", "--check-config", "--config", self.fleet.config("capacity: 3\n"))[0], "Good.\n")

    def test_where_the_database_is_named(self) -> None:
        place = f"host={self.server.folder} dbname={self.database} user=ann"
        empty = {"PGHOST": "", "PGDATABASE": "", "PGUSER": ""}
        (self.fleet.path / "dld").mkdir()
        (self.fleet.path / "dld" / "fleet.yaml").write_text(f"database: {place}\n")
        self.fleet.run("list", "--json", environment=empty)
        # The environment is stronger than the file, and --config replaces the file.
        self.fleet.run("list", environment=empty | {"PGHOST": "/nowhere"}, status=3)
        self.fleet.run("list", "--config", self.fleet.config("database: host=/nowhere\n"), environment=empty, status=3)

    def test_a_server_that_says_nothing_is_no_database(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            path = self.fleet.config(f"database: host=127.0.0.1 port={silent.getsockname()[1]} connect_timeout=2\n")
            self.fleet.run("list", "--config", path, environment={"PGHOST": ""}, status=3)

    def test_output_that_nobody_reads(self) -> None:
        self.enqueue_many(2000)
        reading, writing = os.pipe()
        os.close(reading)
        process = self.fleet.start("list", "--limit", 2000, stdout=writing)
        os.close(writing)
        self.assertEqual(process.communicate(timeout=PATIENCE)[1], "")
        self.assertEqual(process.returncode, 128 + signal.SIGPIPE)
        self.enqueue()
        process = self.fleet.start("watch", 1)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGPIPE)
        process.stderr.close()
        # Without standard streams, no number of theirs becomes the database's.
        script = 'exec "$0" cancel 1 <&- >&- 2>&-'
        environment = self.fleet.environment | {"PGUSER": "ann"}
        subprocess.run(["sh", "-c", script, BINARIES / "dld-fleet"], env=environment, check=True, timeout=PATIENCE)
        self.assertEqual(self.job(1).state, "cancelled")

    def test_help_is_no_mistake(self) -> None:
        for arguments in [("--help",), ("add", "--help"), ("--version",)]:
            self.assertIn("dld-fleet", self.fleet.run(*arguments)[0])
        for arguments in [("lsit",), ("list", "--lost"), ("show",), ()]:
            self.fleet.run(*arguments, status=2 if arguments else 0)


class Injecting(CommandTest):
    def test_texts_stay_texts(self) -> None:
        for text in HOSTILE:
            with self.subTest(text):
                members = {"description": text, "tags": [text]}
                arguments = ["--spec", json.dumps(members), "--header", f"X: {text}"]
                arguments += [f"--label={text}", f"--token=t{text}"]
                [id] = self.add("https://files.example/a", *arguments)
                job = self.job(id)
                self.assertEqual(job.spec["description"], text)
                self.assertEqual(job.spec["tags"], [text])
                self.assertEqual(job.spec["headers"], [["X", text.lstrip()]])
                self.assertEqual((job.labels, job.token), ([text], f"t{text}"))
                shown = self.shown(id)
                self.assertEqual((shown["labels"], shown["token"]), ([text], f"t{text}"))

    def test_names_are_only_compared(self) -> None:
        self.enqueue()
        for text in HOSTILE:
            with self.subTest(text):
                self.assertEqual(self.fleet.json("list", f"--pool={text}")["jobs"], [])
                self.assertEqual(self.fleet.json("list", f"--node={text}")["jobs"], [])
                if text != "NULL":
                    self.assertEqual(self.fleet.refusal("add", "https://files.example/a", f"--pool={text}"), "DL002")
                self.assertEqual(self.fleet.refusal("drain", "--", text, user="otto"), "node.unknown")
                self.fleet.json("limit", "default", "--", text, 1, user="otto")
        self.assertEqual(len(self.fleet.json("limit", user="otto")["limits"]), len(HOSTILE))
        self.assertEqual(self.value(self.owner, "SELECT count(*) FROM dld.jobs"), 1)

    def test_urls_and_refusals_are_harmless(self) -> None:
        for text in HOSTILE:
            self.fleet.run("add", "--", f"https://files.example/{text}")
            self.fleet.run("add", "--", text, status=4)
        self.assertEqual(len(self.fleet.json("list")["jobs"]), len(HOSTILE))
        self.assertEqual(self.fleet.refusal("add", "--spec", '{"url":"https://files.example/","description":"\\u0000"}'), "22P05")


class Migrating(unittest.TestCase):
    """On a server of its own, because roles belong to a server and not to a database."""

    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.end)
        self.server.start()
        self.names: list[str] = []

    def fleet(self) -> Fleet:
        name = self.server.create("template1")
        self.names.append(name)
        return Fleet(self, self.server, name)

    def roles(self) -> int:
        with self.server.connect() as connection:
            return len(connection.execute("SELECT FROM pg_roles WHERE rolname ~ '^dld_'").fetchall())

    def test_a_role_with_few_rights(self) -> None:
        fleet = self.fleet()
        with self.server.connect(self.names[0]) as admin:
            admin.execute("CREATE ROLE smith LOGIN")
            self.assertEqual(fleet.refusal("migrate", user="smith"), "42501")
            admin.execute(f"GRANT CREATE ON DATABASE {self.names[0]} TO smith")
            statements, errors = fleet.run("migrate", user="smith", status=4)
            self.assertEqual(statements.splitlines(), [
                f"CREATE ROLE dld_{role} NOLOGIN;" for role in ["producer", "operator", "node"]])
            self.assertIn("nothing was changed", errors)
            self.assertIn("CREATE ROLE dld_node", fleet.run("migrate", "--json", user="smith", status=4)[1])
            self.assertEqual(self.roles(), 0)
            self.assertEqual(admin.execute("SELECT FROM pg_namespace WHERE nspname = 'dld'").fetchall(), [])
            admin.execute(statements)
            self.assertEqual(fleet.json("migrate", user="smith"), {"from": 0, "to": 1, "changed": True})
        # Somebody without any right on the database still learns that nothing is to do.
        self.assertEqual(fleet.json("migrate", user="smith")["changed"], False)

    def test_twice_and_at_the_same_time(self) -> None:
        fleet = self.fleet()
        self.assertEqual(fleet.run("list", user="postgres", status=76)[0], "")
        self.assertEqual(fleet.json("migrate", "--check", user="postgres", status=1), {"from": 0, "to": 1, "changed": False})
        self.assertEqual(self.roles(), 0)
        fleets = [fleet, self.fleet()] * 4
        started = [one.start("migrate", "--json", user="postgres") for one in fleets]
        said = [process.communicate(timeout=PATIENCE) for process in started]
        self.assertEqual([(process.returncode, errors) for process, (_, errors) in zip(started, said)], [(0, "")] * 8)
        answers = [json.loads(output) for output, _ in said]
        for own in [answers[::2], answers[1::2]]:
            self.assertEqual(sorted(answer["changed"] for answer in own), [False, False, False, True])
        self.assertEqual(fleet.json("migrate", user="postgres"), {"from": 1, "to": 1, "changed": False})
        self.assertEqual(fleet.json("migrate", "--check", user="postgres"), {"from": 1, "to": 1, "changed": False})
        fleet.run("list", "--json", user="postgres")

    def test_a_newer_schema_stays(self) -> None:
        fleet = self.fleet()
        fleet.run("migrate", user="postgres")
        with self.server.connect(self.names[0]) as admin:
            admin.execute("UPDATE dld.meta SET version = 5, compatible_from = 3")
            for form in [(), ("--check",)]:
                self.assertRegex(fleet.run("migrate", *form, user="postgres", status=76)[1], "version 5.*version 1.*3")
            admin.execute("UPDATE dld.meta SET compatible_from = 1")
            self.assertEqual(fleet.json("migrate", user="postgres"), {"from": 5, "to": 5, "changed": False})

    def test_it_waits_for_another_and_fails_as_a_whole(self) -> None:
        fleet = self.fleet()
        with self.server.connect(self.names[0]) as admin, admin.transaction():
            admin.execute("CREATE SCHEMA dld")
            process = fleet.start("migrate", user="postgres")
            with self.server.connect() as other:
                eventually(lambda: other.execute(
                    "SELECT FROM pg_stat_activity WHERE application_name = 'dld-fleet' AND wait_event_type = 'Lock'").fetchall(),
                    "the migration waits")
        self.assertIn("pg_namespace", process.communicate(timeout=PATIENCE)[1])
        self.assertEqual((process.returncode, self.roles()), (4, 0))


if __name__ == "__main__":
    unittest.main()
