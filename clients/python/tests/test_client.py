"""The client against a real daemon, which is killed and started again."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import tempfile
import threading
import unittest
from typing import Any
from unittest import mock

from support import CHECKOUT, PATIENCE, FakeDaemon, Scene, eventually

import dld

FINAL = {"task.completed", "task.failed", "task.cancelled"}


class Calls(Scene):
    def test_the_versions_are_the_same(self) -> None:
        self.assertEqual(self.client.call("daemon.info")["version"], dld.__version__)

    def test_an_error_has_code_message_and_data(self) -> None:
        with self.assertRaises(dld.CallError) as caught:
            self.client.add({"url": "http://127.0.0.1/", "checksum": {"algorithm": "none", "value": ""}})
        error = caught.exception
        self.assertEqual((error.code, error.retryable), ("request.bad_field", False))
        self.assertLess(error.rpc_code, 0)
        self.assertEqual(error.details["field"], "tasks[0].checksum.algorithm")
        self.assertEqual(error.data["code"], error.code)
        self.assertTrue(error.message)
        self.assertIsInstance(error, dld.DaemonError)

    def test_the_connection_survives_an_error(self) -> None:
        for method, code in (("no.such", "rpc.unknown_method"), ("task.get", "request.bad_field")):
            with self.assertRaises(dld.CallError) as caught:
                self.client.call(method)
            self.assertEqual(caught.exception.code, code)
        self.assertEqual(self.client.call("daemon.info")["name"], "dld")

    def test_a_request_that_is_too_long_is_refused(self) -> None:
        with self.assertRaises(dld.CallError) as caught:
            self.client.call("task.list", match="x" * (9 << 20))
        self.assertEqual(caught.exception.code, "request.too_large")
        self.assertEqual(self.client.call("daemon.info")["name"], "dld")

    def test_tasks_are_listed_page_by_page(self) -> None:
        url = self.origin.url("/file")
        added = [task["id"] for task in self.client.add(*({"url": url, "startPaused": True} for _ in range(7)))]
        self.assertEqual([task["id"] for task in self.client.tasks(states=["paused"], limit=3)], added)

    def test_a_null_is_sent(self) -> None:
        self.client.call("settings.set", maximumConcurrentTasks=3)
        settings = self.client.call("settings.set", maximumConcurrentTasks=None)
        self.assertEqual(settings["maximumConcurrentTasks"], {"value": 32, "origin": "default"})

    def test_a_closed_client_says_so(self) -> None:
        self.client.close()
        with self.assertRaisesRegex(dld.Error, "closed"):
            self.client.call("daemon.info")


class Transfers(Scene):
    def test_a_download_is_verified_and_delivered(self) -> None:
        body = os.urandom(300_000)
        path = self.folder / "file"
        digest = hashlib.sha256(body).hexdigest()
        task = self.client.download(
            self.origin.serve("/file", body), path, checksum={"algorithm": "sha-256", "value": digest}, tags=["first"])
        result = self.wait(task)
        self.assertEqual((result["file"], result["verified"], result["tags"]), (str(path), True, ["first"]))
        self.assertEqual(path.read_bytes(), body)

    def test_a_relative_path_is_one_of_this_process(self) -> None:
        url = self.origin.serve("/file", b"content")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        self.assertEqual(self.wait(self.client.download(url, "name"))["file"], str(self.folder.resolve() / "name"))

    def test_an_upload_arrives(self) -> None:
        body = os.urandom(200_000)
        (self.folder / "source").write_bytes(body)
        task = self.client.upload(self.folder / "source", self.origin.url("/up"), uploadProtocol="put")
        self.assertEqual(self.wait(task)["response"]["status"], 201)
        self.assertEqual(self.origin.stored["/up"], body)

    def test_a_body_of_several_pieces_is_read(self) -> None:
        body = os.urandom((2 << 20) + 5)
        url = self.origin.serve("/data", body)
        task = self.client.add({"kind": "data", "url": url})[0]["id"]
        self.wait(task)
        self.assertEqual(self.client.body(task), body)

    def test_a_failed_task_raises_its_error(self) -> None:
        task = self.client.download(self.origin.url("/missing"), self.folder / "file")
        with self.assertRaises(dld.TaskError) as caught:
            self.wait(task)
        error = caught.exception
        self.assertEqual((error.code, error.details["status"], error.task["id"]), ("http.status", 404, task))
        self.assertIsInstance(error, dld.DaemonError)

    def test_a_cancelled_task_raises(self) -> None:
        url = self.origin.serve("/file", b"x" * 1000, gated=True)
        task = self.client.download(url, self.folder / "file")
        self.client.call("task.cancel", ids=[task])
        with self.assertRaises(dld.TaskError) as caught:
            self.wait(task)
        self.assertEqual(caught.exception.code, "cancelled")

    def test_a_removed_task_is_not_waited_for(self) -> None:
        with self.assertRaises(dld.CallError) as caught:
            self.client.wait(4711)
        self.assertEqual(caught.exception.code, "task.not_found")

    def test_waiting_has_a_limit(self) -> None:
        task = self.client.download(self.origin.serve("/file", b"x" * 1000, gated=True), self.folder / "file")
        with self.assertRaises(dld.WaitTimeout):
            self.client.wait(task, timeout=0.01)
        self.origin.gates["/file"].set()
        self.assertEqual(self.wait(task)["state"], "completed")

    def test_a_volatile_task_is_waited_for(self) -> None:
        self.client.call("session.open", id="mine", kind="ephemeral")
        task = self.client.add({"kind": "data", "url": self.origin.serve("/data", b"content")}, session="mine")[0]["id"]
        self.wait(task)
        self.assertEqual(self.client.body(task), b"content")


class EventLog(Scene):
    def add_paused(self, count: int) -> list[int]:
        specs = [{"url": self.origin.url("/file"), "startPaused": True} for _ in range(count)]
        return [task["id"] for task in self.client.add(*specs)]

    def test_events_after_a_subscription_are_not_missed(self) -> None:
        with self.client.events(after="now", types=["task.added"]) as events:
            added = self.add_paused(3)
            self.assertEqual([self.next(events).task for _ in added], added)
            self.assertIsNone(events.read(timeout=0))

    def test_events_begin_after_a_number(self) -> None:
        added = self.add_paused(3)
        events = self.client.events(after="start", types=["task.added"])
        first = self.next(events)
        again = self.client.events(after=first.sequence, types=["task.added"])
        self.assertEqual([self.next(again).task for _ in added[1:]], added[1:])

    def test_a_progress_event_has_no_number(self) -> None:
        url = self.origin.serve("/file", os.urandom(1 << 20), gated=True)
        with self.client.events(after="now", types=["task.progress"], progressInterval=0.1) as events:
            task = self.client.download(url, self.folder / "file")
            event = self.next(events)
            self.assertEqual((event.type, event.task, event.sequence), ("task.progress", task, None))

    def test_a_durable_name_continues_after_what_it_acknowledged(self) -> None:
        with self.client.events(subscriber="importer", types=["task.added"]):
            pass
        added = self.add_paused(4)
        seen = []
        for event in self.client.events(subscriber="importer", types=["task.added"]):
            seen.append(event.task)
            if len(seen) == 2:
                # The second one is not acknowledged: its handling may have failed.
                break
        self.assertEqual(seen, added[:2])
        other = self.connect()
        with other.events(subscriber="importer", types=["task.added"]) as events:
            event = self.next(events)
            self.assertEqual(event.task, added[1])
            assert event.sequence is not None
            other.ack("importer", event.sequence)
        with self.client.events(subscriber="importer", types=["task.added"], after=None) as events:
            self.assertEqual(self.next(events).task, added[2])

    def test_nothing_is_acknowledged_unasked(self) -> None:
        with self.client.events(subscriber="reader", types=["task.added"]):
            pass
        added = self.add_paused(2)
        for _ in range(2):
            with self.client.events(subscriber="reader", acknowledge=False, types=["task.added"]) as events:
                self.assertEqual([self.next(events).task for _ in added], added)

    def test_a_loop_that_is_left_ends_its_subscription(self) -> None:
        # One connection may have 64 subscriptions.
        self.add_paused(1)
        for _ in range(200):
            for _ in self.client.events(after="start"):
                break

    def test_calls_and_events_do_not_wait_for_each_other(self) -> None:
        # More than fits into the buffers of both directions.
        events = self.client.events(after="now", types=["task.added"])
        added = []
        for _ in range(2):
            specs = [{"url": self.origin.url("/" + "x" * 1000), "startPaused": True} for _ in range(1000)]
            added += [task["id"] for task in self.client.add(*specs)]
        self.assertEqual([self.next(events).task for _ in added], added)


class Restarts(Scene):
    def stored(self) -> list[dict[str, Any]]:
        events, after = [], 0
        while True:
            page = self.client.call("events.list", after=after, limit=1000)
            events += page["events"]
            if page.get("nextAfter") is None:
                return events
            after = page["nextAfter"]

    def test_no_event_is_lost_or_repeated(self) -> None:
        body = os.urandom(2 << 20)
        urls = [self.origin.serve(f"/{number}", body, gated=True) for number in range(4)]
        events = self.client.events(after="start")
        tasks: set[int] = set()
        seen: list[dld.Event] = []
        for number, url in enumerate(urls):
            tasks.add(self.client.download(url, self.folder / str(number)))

            def kept(task: int = max(tasks)) -> bool:
                return bool(self.client.get(task)["bytesReceived"] > 0)

            eventually(kept, "the first half")
            # Some events are read before the death, some are in the client's hands, and some come later.
            while len(seen) < 3 * (number + 1):
                seen.append(self.next(events))
            self.daemon.restart()
        for gate in self.origin.gates.values():
            gate.set()
        open_tasks = set(tasks)
        while open_tasks:
            event = self.next(events)
            seen.append(event)
            if event.type in FINAL:
                open_tasks.discard(event.task or 0)
        numbered = [event for event in seen if event.sequence is not None]
        stored = self.stored()[: len(numbered)]
        self.assertEqual([event.sequence for event in numbered], [event["sequence"] for event in stored])
        self.assertEqual([dict(event) for event in numbered], stored)
        for number in range(len(urls)):
            self.assertEqual((self.folder / str(number)).read_bytes(), body)

    def test_no_event_of_a_crowd_is_lost_or_repeated(self) -> None:
        """The daemon dies while events are on their way, in the socket and in the client."""
        url = self.origin.serve("/file", b"content")
        open_tasks = {task["id"] for task in self.client.add(*({"kind": "data", "url": url} for _ in range(150)))}
        events = self.client.events(after="start", progressInterval=0)
        seen: list[dict[str, Any]] = []
        while open_tasks:
            event = self.next(events)
            seen.append(event)
            if event.type in FINAL:
                open_tasks.discard(event.task or 0)
            if len(seen) in (100, 200, 300):
                self.daemon.restart()
        self.assertGreater(len(seen), 200, "the daemon was restarted less than twice")
        self.assertEqual(seen, self.stored()[: len(seen)])

    def test_an_event_of_the_outage_arrives(self) -> None:
        """`now` is the moment of the call, not that of the reconnection."""
        events = self.client.events(after="now", types=["task.added"])
        other = self.connect()
        self.daemon.restart()
        added = other.add({"url": self.origin.url("/file"), "startPaused": True})
        self.assertEqual(self.next(events).task, added[0]["id"])

    def test_a_durable_name_acknowledges_across_a_restart(self) -> None:
        events = self.client.events(subscriber="importer", types=["task.added"])
        spec = {"url": self.origin.url("/file"), "startPaused": True}
        added = [task["id"] for task in self.client.add(spec, spec, spec)]
        self.assertEqual(self.next(events).task, added[0])
        self.daemon.restart()
        self.assertEqual(self.next(events).task, added[1])
        again = self.connect().events(subscriber="importer", types=["task.added"])
        self.assertEqual([self.next(again).task, self.next(again).task], added[1:])

    def test_waiting_goes_on_after_a_kill(self) -> None:
        body = os.urandom(2 << 20)
        task = self.client.download(self.origin.serve("/file", body, gated=True), self.folder / "file")
        eventually(lambda: bool(self.client.get(task)["bytesReceived"]), "the first half")
        results: list[dict[str, Any]] = []
        begun = threading.Event()
        with self.connect() as waiter:
            get = waiter.get

            def noted(task: int) -> Any:
                begun.set()
                return get(task)

            setattr(waiter, "get", noted)
            thread = threading.Thread(target=lambda: results.append(waiter.wait(task, PATIENCE)))
            thread.start()
            self.addCleanup(thread.join)
            self.assertTrue(begun.wait(PATIENCE))
            self.daemon.restart()
            self.origin.gates["/file"].set()
            thread.join(PATIENCE)
        self.assertEqual(results[0]["state"], "completed")
        self.assertEqual((self.folder / "file").read_bytes(), body)

    def test_calls_go_on_after_a_restart(self) -> None:
        for end in (self.daemon.kill, self.daemon.stop):
            end()
            self.daemon.start()
            # Nothing of it was sent to the old daemon, so any call may be made.
            self.client.call("settings.set", maximumConcurrentTasks=5)

    def test_a_call_waits_for_the_daemon(self) -> None:
        self.daemon.kill()
        thread = threading.Thread(target=self.daemon.start)
        thread.start()
        self.addCleanup(thread.join)
        self.assertEqual(self.client.call("daemon.info")["name"], "dld")

    def test_a_daemon_that_stays_away_is_given_up(self) -> None:
        self.client.patience = 0.1
        events = self.client.events(after="now", types=["task.added"])
        self.daemon.kill()
        with self.assertRaises(dld.NoDaemon):
            self.client.call("daemon.info")
        with self.assertRaises(dld.NoDaemon):
            next(events)
        self.daemon.start()
        added = self.client.add({"url": self.origin.url("/file"), "startPaused": True})
        self.assertEqual(self.next(events).task, added[0]["id"])

    def test_a_volatile_task_ends_with_its_connection(self) -> None:
        self.client.call("session.open", id="mine", kind="ephemeral")
        spec = {"kind": "data", "url": self.origin.serve("/data", b"x" * 1000, gated=True)}
        task = self.client.add(spec, session="mine")[0]["id"]
        eventually(lambda: self.origin.requests, "the request")
        # The daemon dies when `wait` has seen that the task runs.
        answers = [self.client.get(task)]

        def get(task: int) -> Any:
            if not answers:
                return self.client.call("task.get", id=task)
            self.daemon.restart()
            return answers.pop()

        with mock.patch.object(self.client, "get", get), self.assertRaises(dld.CallError) as caught:
            self.wait(task)
        self.assertEqual(caught.exception.code, "task.not_found")


class Readme(Scene):
    def test_the_examples_run(self) -> None:
        """Each example of the README runs as it stands, but for its addresses."""
        self.origin.serve("/image.iso", b"content")
        (self.folder / "report.pdf").write_bytes(b"report")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        text = (CHECKOUT / "clients" / "python" / "README.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(examples), 1)
        with mock.patch.dict(os.environ, DLD_SOCKET=str(self.daemon.socket)), mock.patch("builtins.print"):
            for example in examples:
                exec(compile(example.replace("https://example.org", self.origin.url("")), "README.md", "exec"), {})
        self.assertEqual((self.folder / "image.iso").read_bytes(), b"content")


class LostAnswers(unittest.TestCase):
    """What a daemon does that dies, or hangs, at the worst moment."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="dld-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fake(self, *answers: str | None, **options: Any) -> tuple[FakeDaemon, dld.Client]:
        script = list(answers)

        def answer(line: bytes) -> bytes | None:
            text = script.pop(0)
            return None if text is None else text.replace("ID", str(json.loads(line)["id"])).encode()

        daemon = FakeDaemon(self.folder, answer)
        self.addCleanup(daemon.close)
        client = dld.Client(daemon.path, **options)
        self.addCleanup(client.close)
        return daemon, client

    def test_adding_is_repeated_with_the_same_token(self) -> None:
        daemon, client = self.fake(None, '{"id":ID,"result":{"tasks":[{"id":7}]}}\n')
        self.assertEqual(client.download("http://127.0.0.1/"), 7)
        tokens = [json.loads(line)["params"]["tasks"][0]["clientToken"] for line in daemon.lines]
        self.assertEqual(len(tokens), 2)
        self.assertEqual(tokens[0], tokens[1])

    def test_a_change_is_not_repeated(self) -> None:
        daemon, client = self.fake(None, '{"id":ID,"result":{}}\n')
        with self.assertRaises(dld.ConnectionLost):
            client.call("task.retry", all=True)
        self.assertEqual(client.call("task.retry", all=True), {})
        self.assertEqual(len(daemon.lines), 2)

    def test_a_daemon_that_shuts_down_is_waited_for(self) -> None:
        error = '{"code":-32042,"message":"It stops.","data":{"code":"daemon.shutting_down","retryable":true}}'
        daemon, client = self.fake(f'{{"id":ID,"error":{error}}}\n', '{"id":ID,"result":{}}\n')
        self.assertEqual(client.call("task.retry", all=True), {})
        self.assertEqual(len(daemon.lines), 2)

    def test_a_daemon_that_hangs_is_not_waited_for_for_ever(self) -> None:
        _, client = self.fake("", '{"id":1,"result":"late"}\n{"id":ID,"result":"now"}\n', timeout=0.05)
        with self.assertRaises(dld.NoAnswer):
            client.call("daemon.info")
        client.timeout = PATIENCE
        self.assertEqual(client.call("daemon.info"), "now")

    def test_an_answer_that_is_not_json_ends_the_connection(self) -> None:
        _, client = self.fake("oops\n")
        with self.assertRaisesRegex(dld.ConnectionLost, "not JSON"):
            client.call("task.retry", all=True)

    def test_a_path_longer_than_an_address_is_reached(self) -> None:
        self.fake()
        folder = self.folder / ("x" * 120)
        folder.symlink_to(self.folder)
        dld.Client(folder / "fake.sock").close()

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_another_users_daemon_is_refused(self) -> None:
        self.fake()
        with mock.patch("os.geteuid", return_value=4711), mock.patch("struct.unpack", return_value=(1, 4712, 1)):
            with self.assertRaisesRegex(dld.NoDaemon, "runs as user 4712"):
                dld.Client(self.folder / "fake.sock")
            dld.Client(self.folder / "fake.sock", system=True).close()


class SocketPaths(unittest.TestCase):
    SYSTEM = ["/run/dld/dld.sock", "/var/lib/dld/dld.sock"]

    def test_a_given_path_is_the_only_one(self) -> None:
        self.assertEqual(dld.socket_paths("x", environment={"DLD_SOCKET": "/y"}), ["x"])
        self.assertEqual(dld.socket_paths(environment={"DLD_SOCKET": "/y", "HOME": "/h"}), ["/y"])

    def test_the_state_folder_comes_first(self) -> None:
        runtime = f"/nowhere/{os.getpid()}"
        environment = {"HOME": "/h", "XDG_RUNTIME_DIR": runtime}
        rest = [runtime + "/dld/dld.sock", *self.SYSTEM]
        self.assertEqual(dld.socket_paths(environment=environment), ["/h/.local/state/dld/dld.sock", *rest])
        environment["XDG_STATE_HOME"] = "/s"
        self.assertEqual(dld.socket_paths(environment=environment), ["/s/dld/dld.sock", *rest])
        environment["STATE_DIRECTORY"] = "/a:/b"
        self.assertEqual(dld.socket_paths(environment=environment), ["/a/dld.sock", *rest])

    def test_what_is_not_usable_is_left_out(self) -> None:
        for runtime in ("relative", "/" + "x" * 100):
            self.assertEqual(dld.socket_paths(environment={"XDG_RUNTIME_DIR": runtime}), self.SYSTEM)
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
            self.assertEqual(dld.socket_paths(environment={"XDG_RUNTIME_DIR": "/"}), self.SYSTEM)

    def test_the_system_daemon_has_its_own(self) -> None:
        self.assertEqual(dld.socket_paths(system=True, environment={"HOME": "/h"}), self.SYSTEM)

    def test_a_missing_daemon_is_explained(self) -> None:
        with self.assertRaisesRegex(dld.NoDaemon, "dlctl start\n  /nowhere/dld.sock: No such file"):
            dld.Client("/nowhere/dld.sock")


if __name__ == "__main__":
    unittest.main()
