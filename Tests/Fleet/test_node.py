"""Nodes, from outside: what becomes of jobs, what the policy refuses, how a node drains and starts."""

from __future__ import annotations

import base64
from typing import Any

import support
from house import MEGABYTE, FleetTest

#: The members of an error.
ERROR = {"code", "message", "retryable", "details", "node", "attempt", "at"}


def setUpModule() -> None:
    support.open_server()


class Jobs(FleetTest):
    """How jobs end."""

    def test_a_download_is_done(self) -> None:
        machine = self.machine()
        id = self.add("/one%20file?query")
        job = self.ends(id)
        path = machine.files / "one file"
        self.assertEqual(job.result, {
            "node": "a", "path": str(path), "size": 1000, "sha256": self.origin.sha256("/one%20file?query"), "shared": False,
            "verified": False, "epoch": 1})
        self.assertEqual(path.read_bytes(), self.origin.body("/one%20file?query"))
        self.assertEqual((job.attempts, job.lease_epoch, job.error, self.story(id)), (1, 1, None, [(1, "a", "done")]))
        self.forgets(machine)
        self.assertEqual(machine.names(), ["one file"])
        self.assertEqual(self.origin.order, ["/one%20file?query"])

    def test_a_checksum_is_verified(self) -> None:
        machine = self.machine()
        good, bad = (self.add(path, {"checksum": {"algorithm": "sha-256", "value": self.origin.sha256("/good")}})
                     for path in ("/good", "/bad"))
        self.assertTrue(self.ends(good).result["verified"])
        self.assertEqual(self.ends(bad, "failed").error["code"], "integrity.checksum")
        self.forgets(machine)
        self.assertEqual(machine.names(), ["good"])

    def test_uploads_and_data_jobs(self) -> None:
        machine = self.machine(policy={"kinds": ["upload", "data"], "sources": [{"path": "/"}]})
        source = machine.folder / "up"
        source.write_bytes(b"x" * 3000)
        self.origin.sizes["/large"] = (64 << 10) + 1
        upload = self.add("/up", {"kind": "upload", "source": {"path": str(source)}, "uploadProtocol": "put"})
        small, large = (self.add(path, {"kind": "data"}) for path in ("/small", "/large"))
        self.assertEqual(self.ends(upload).result, {"node": "a", "size": 3000, "status": 200, "epoch": 1})
        self.assertEqual(self.origin.uploads["/up"], b"x" * 3000)
        body = base64.b64encode(self.origin.body("/small")).decode()
        self.assertEqual(self.ends(small).result, {"node": "a", "size": 1000, "status": 200, "body": body, "epoch": 1})
        self.assertEqual(self.ends(large).result, {"node": "a", "size": 65537, "status": 200, "body": None, "epoch": 1})
        self.forgets(machine)
        self.assertEqual(machine.names(), [])

    def test_names_in_braces_are_replaced(self) -> None:
        machine = self.machine()
        (machine.files / "1").mkdir()
        (machine.files / "1" / "old").write_bytes(b"old")
        for number, (path, destination, name) in enumerate([
            ("/old", {"directory": f"{machine.files}/{{id}}"}, "1/old"),
            ("/a%2Fb%0A", {"path": f"{machine.files}/{{pool}}-{{name}}"}, "default-a_b_"),
            ("/%2e%2e", {"filename": "{name}.x"}, "job-3.x"),
            ("/", {"filename": "{name}{other}"}, "job-4{other}"),
            ("/%7Bid%7D", {"filename": "-{name}"}, "-{id}"),
        ], 1):
            with self.subTest(destination):
                self.assertEqual(self.add(path, {"destination": destination}), number)
                self.assertEqual(self.ends(number).result["path"], str(machine.files / name))
        self.assertEqual((machine.files / "1" / "old").read_bytes(), self.origin.body("/old"))

    def test_a_permanent_error_ends_the_job(self) -> None:
        self.machine()
        self.origin.plan("/gone", 404)
        id = self.add("/gone")
        job = self.ends(id, "failed")
        self.assertEqual(set(job.error), ERROR)
        self.assertEqual((job.error["code"], job.error["retryable"], job.error["node"], job.error["attempt"]),
                         ("http.status", False, "a", 1))
        self.assertEqual((self.story(id), self.origin.count("/gone")), ([(1, "a", "failed")], 1))

    def test_a_transient_error_is_tried_again_after_a_delay(self) -> None:
        self.machine(backoff={"first": "0.4s", "longest": "0.5s"}, poll="0.2s", labels=["a"])
        self.keep_busy("a")
        self.origin.plan("/busy", 503, 503)
        self.origin.plan("/dead", *[503] * 9)
        busy, dead = self.add("/busy"), self.add("/dead", max_attempts=2)
        job = self.ends(busy)
        self.assertEqual((job.attempts, job.lease_epoch, job.error), (3, 3, None))
        self.assertEqual(self.story(busy), [(1, "a", "requeued"), (2, "a", "requeued"), (3, "a", "done")])
        delay = self.value(self.owner, "SELECT extract(epoch FROM run_at - (history -> 1 ->> 'at')::timestamptz) "
                           "FROM dld.jobs WHERE id = %s", (busy,))
        # The entry has milliseconds.
        self.assertTrue(0.25 <= delay <= 0.502, delay)
        job = self.ends(dead, "failed")
        self.assertEqual(set(job.error), ERROR)
        self.assertEqual((job.error["code"], job.error["retryable"], job.error["attempt"]), ("http.status", True, 2))
        self.assertEqual((self.story(dead), self.origin.count("/dead")), ([(1, "a", "requeued"), (2, "a", "failed")], 2))

    def test_a_longer_retry_after_counts(self) -> None:
        self.machine(backoff={"first": "0.01s"})
        self.origin.plan("/busy", (503, {"Retry-After": "3000"}))
        id = self.add("/busy")
        self.eventually(lambda: self.story(id), "the attempt ends")
        late = self.value(self.owner, "SELECT run_at > created_at + interval '2900 s' FROM dld.jobs WHERE id = %s", (id,))
        self.assertTrue(late, self.job(id))

    def test_a_reset_is_resumed_within_the_attempt(self) -> None:
        self.machine(localAttempts=5)
        self.origin.sizes["/cut"] = MEGABYTE
        self.origin.plan("/cut", "reset")
        id = self.add("/cut")
        job = self.ends(id)
        self.assertEqual((job.result["sha256"], job.attempts), (self.origin.sha256("/cut"), 1))
        self.assertEqual(self.origin.count("/cut"), 2)

    def test_a_running_job_is_cancelled_and_tried_again(self) -> None:
        machine = self.machine(lease="60s", renew="20s")
        self.origin.hold("/slow", after=500)
        id = self.add("/slow")
        self.holds(machine, 500)
        self.assertEqual(self.cancel(id), "leased")
        job = self.ends(id, "cancelled")
        self.assertEqual((job.error, self.story(id)), (None, [(1, "a", "cancelled")]))
        self.forgets(machine)
        self.eventually(lambda: self.origin.now == 0, "the request ends")
        self.assertEqual(machine.names(), [])
        self.origin.release("/slow")
        self.assertEqual(self.retry(id), "queued")
        self.assertEqual(self.ends(id).lease_epoch, 2)

    def test_priorities_labels_and_pools(self) -> None:
        low, high = self.add("/low", priority=-5), self.add("/high", priority=5)
        labelled = self.add("/labelled", labels=["gpu"], priority=9)
        foreign = self.add("/foreign", labels=["tpu"])
        other = self.add("/other", pool="other")
        media = self.add("/media", pool="media", priority=-9)
        self.machine(capacity=1, labels=["gpu", "eu"], policy={"pools": ["default", "media"]})
        for id in (low, high, labelled, media):
            self.ends(id)
        self.assertEqual(self.origin.order, ["/labelled", "/high", "/low", "/media"])
        self.assertEqual([(self.job(id).state, self.job(id).attempts) for id in (foreign, other)], [("queued", 0)] * 2)

    def test_a_host_sees_no_more_than_its_limit(self) -> None:
        self.otto.execute("SELECT dld.set_limit('default', %s, 2)", (self.origin.host,))
        ids = [self.add(f"/{number}") for number in range(20)]
        for name in "ab":
            self.keep_busy(name)
            self.machine(name, poll="0.1s", labels=[name])
        for id in ids:
            self.ends(id)
        self.assertLessEqual(self.origin.most[self.origin.host], 2)
        limited = [path for path in self.origin.order if not path.startswith("/busy")]
        self.assertEqual(sorted(limited), sorted(f"/{number}" for number in range(20)))
        self.assertGreater(len({self.job(id).result["node"] for id in ids}), 1, "one node did all")

    def test_an_origin_that_is_away_is_a_transient_end(self) -> None:
        machine = self.machine()
        id = self.add("http://127.0.0.1:1/")
        self.eventually(lambda: self.story(id), "the attempt ends")
        self.assertEqual((self.story(id), self.job(id).error["code"]), ([(1, "a", "requeued")], "network.connect"))
        self.forgets(machine)

    def test_a_task_that_somebody_else_ends_is_a_transient_end(self) -> None:
        machine = self.machine(handBackAfter="1s")
        for method in ("task.cancel", "task.remove", "task.pause"):
            with self.subTest(method):
                path = "/" + method
                self.origin.hold(path)
                id = self.add(path)
                [task] = self.eventually(machine.tasks, "the task is there")
                self.eventually(lambda path=path: self.origin.count(path), "the task runs")
                if method == "task.remove":
                    machine.call("task.cancel", ids=[task["id"]])
                machine.call(method, ids=[task["id"]])
                self.eventually(lambda id=id: self.story(id), "the attempt ends")
                self.assertEqual(self.story(id), [(1, "a", "requeued")])
                self.assertEqual(self.job(id).error["code"], "cancelled")
                self.cancel(id)
                self.ends(id, "cancelled")
                self.forgets(machine)


class Policies(FleetTest):
    """A job that the policy forbids ends after one attempt, without request or file."""

    def refuses(self, cases: list[tuple[str, str, dict[str, Any]]]) -> None:  # type: ignore[override]
        added = [(self.add(path, members), code, path, members) for code, path, members in cases]
        for id, code, path, members in added:
            with self.subTest(code=code, path=path, members=members):
                job = self.ends(id, "failed")
                self.assertEqual(set(job.error), ERROR)
                self.assertEqual((job.error["code"], job.error["retryable"], job.attempts), (code, False, 1), job.error)
                self.assertEqual(self.story(id), [(1, "a", "failed")])
        self.assertEqual(self.origin.order, [])

    def test_all_codes(self) -> None:
        machine = self.machine(policy={"kinds": ["download", "upload"], "hosts": ["127.0.0.1", "*.example"]}, starts=False)
        (machine.files / "way").symlink_to("/etc")
        machine.start()
        host = self.origin.host
        port = host.split(":")[1]
        self.refuses([
            ("policy.kind", "/1", {"kind": "data"}),
            ("policy.scheme", f"https://{host}/2", {}),
            ("policy.scheme", "ftp://127.0.0.1/2", {}),
            ("policy.scheme", "file:///etc/hostname", {}),
            ("policy.scheme", "/2", {"mirrors": [f"https://{host}/2"]}),
            ("policy.host", f"http://localhost:{port}/3", {}),
            ("policy.host", "http://example/3", {}),
            ("policy.host", "/3", {"mirrors": [f"http://localhost:{port}/3"]}),
            ("policy.folder", "/4", {"destination": {"path": "/etc/4"}}),
            ("policy.folder", "/4", {"destination": {"directory": "/etc"}}),
            ("policy.folder", "/4", {"destination": {"path": f"{machine.files}/../4"}}),
            ("policy.folder", "/4", {"destination": {"directory": f"{machine.files}/way"}}),
            ("policy.folder", "/4", {"destination": {"filename": "../4"}}),
            ("policy.source", "/5", {"kind": "upload", "source": {"path": "/etc/hostname"}}),
            ("policy.header", "/6", {"headers": [["X-Own", "1"]]}),
            ("policy.method", "/7", {"method": "DELETE"}),
            ("policy.method", "/7", {"body": {"base64": "eA=="}}),
            ("policy.credentials", "/8", {"username": "u", "password": "p"}),
            ("policy.credentials", "/8", {"bearer": "t"}),
            ("policy.credentials", "/8", {"headers": [["authorization", "Basic eA=="]]}),
            ("policy.credentials", f"http://u:p@{host}/8", {}),
            ("policy.field", "/9", {"allowsArbitraryLoads": True}),
            ("policy.field", "/9", {"session": "other"}),
            ("policy.field", "/9", {"nonsense": 1}),
        ])
        self.forgets(machine)
        self.assertEqual(machine.names(), ["way"])

    def test_defaults_refuse_plain_text_and_downloads(self) -> None:
        machine = self.machine(starts=False)
        machine.policy = {}
        machine.write()
        machine.start()
        self.refuses([("policy.scheme", "/1", {}), ("policy.folder", "https://127.0.0.1:1/2", {})])

    def test_what_dld_refuses_is_permanent(self) -> None:
        machine = self.machine(policy={"methods": ["GET", "POST"]})
        for path, code, members in [
            ("/1", "request.unknown_field", {"body": {"data": "eA=="}}),
            ("/2", "destination.bad_path", {"destination": {"filename": "a/b"}}),
        ]:
            with self.subTest(code):
                job = self.ends(self.add(path, members), "failed")
                self.assertEqual((job.error["code"], job.error["retryable"], job.attempts), (code, False, 1), job.error)
        self.assertEqual((self.origin.order, machine.names()), ([], []))

    def test_a_redirect_out_of_the_policy_is_not_followed(self) -> None:
        machine = self.machine(policy={"hosts": ["127.0.0.1"]})
        other = self.origin.url("/inner", "localhost")
        self.origin.plan("/out", (302, {"Location": other}))
        self.origin.plan("/scheme", (302, {"Location": "https://127.0.0.1:1/inner"}))
        self.origin.plan("/in", (302, {"Location": "/good"}))
        out, scheme, inside = self.add("/out"), self.add("/scheme"), self.add("/in")
        for id, code in ((out, "policy.host"), (scheme, "policy.scheme")):
            job = self.ends(id, "failed")
            self.assertEqual((job.error["code"], job.attempts, self.story(id)), (code, 1, [(1, "a", "failed")]))
        self.assertEqual(self.ends(inside).result["sha256"], self.origin.sha256("/good"))
        self.forgets(machine)
        self.assertEqual(sorted(self.origin.order), ["/good", "/in", "/out", "/scheme"])

    def test_a_mirror_does_not_lead_out_of_the_policy(self) -> None:
        machine = self.machine(policy={"hosts": ["127.0.0.1"]})
        self.origin.plan("/gone", (410, {}))
        self.origin.plan("/mirror", (302, {"Location": self.origin.url("/inner", "localhost")}))
        job = self.ends(self.add("/gone", {"mirrors": [self.origin.url("/mirror")]}), "failed")
        self.assertEqual((job.error["code"], self.origin.order), ("http.status", ["/gone", "/mirror"]))
        self.forgets(machine)
        self.assertEqual(machine.names(), [])

    def test_a_permissive_node(self) -> None:
        """Headers, methods and credentials reach the origin if the policy lets them."""
        self.machine(policy={"headers": ["*"], "methods": ["GET", "POST"], "credentials": True})
        self.ends(self.add("/1", {"headers": [["X-Own", "1"], ["Cookie", "a=b"]], "bearer": "t"}))
        [headers] = self.origin.requests["/1"]
        self.assertEqual((headers["X-Own"], headers["Cookie"], headers["Authorization"]), ("1", "a=b", "Bearer t"))
