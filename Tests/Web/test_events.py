"""Server-sent events: each stored event once, in order and without a gap, whatever ends meanwhile."""

from __future__ import annotations

import http.server
import socket
import threading
import time
import unittest
from typing import Any

from support import HouseTest, Stream, eventually


class Origin(http.server.BaseHTTPRequestHandler):
    """Sends a body at once, or slowly until the client goes."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "10000000" if self.path == "/slow" else "5")
        self.end_headers()
        try:
            if self.path == "/slow":
                for _ in range(10_000):
                    self.wfile.write(b"x" * 1000)
                    if self.server.ends.wait(0.005):  # type: ignore[attr-defined]
                        return
            else:
                self.wfile.write(b"bytes")
        except OSError:
            pass

    def log_message(self, *_: Any) -> None:
        pass


class EventTest(HouseTest):
    origin: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
        server.ends = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def end() -> None:
            server.ends.set()  # type: ignore[attr-defined]
            server.shutdown()
            thread.join()
            server.server_close()

        cls.addClassCleanup(end)
        cls.origin = f"http://127.0.0.1:{server.server_address[1]}"

    def setUp(self) -> None:
        self.browser = self.house.browser()

    def stream(self, after: int | None = None) -> Stream:
        stream = self.browser.events(after)
        self.addCleanup(stream.close)
        return stream

    def fetch(self, path: str = "/file") -> int:
        [task] = self.house.add({"url": self.origin + path, "destination": {"directory": str(self.house.folder / "files")}})
        return task

    def stored(self, after: int = 0) -> list[dict[str, Any]]:
        """The daemon's own log."""
        events: list[dict[str, Any]] = []
        position: int | None = after
        while position is not None:
            page = self.house.call("events.list", {"after": position, "limit": 1000})
            events += page["events"]
            position = page.get("nextAfter")
        return events

    @staticmethod
    def logged(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [event["data"] for event in events if event["event"] == "log"]

    def completed(self, task: int) -> Any:
        return lambda event: event["event"] == "log" and event["data"].get("task") == task \
            and event["data"]["type"] == "task.completed"


class Following(EventTest):
    def test_it_begins_with_hello_and_follows_from_the_head(self) -> None:
        done = self.fetch()
        eventually(lambda: self.house.call("task.get", {"id": done})["state"] == "completed", "the first download")
        stream = self.stream()
        hello = stream.next()
        self.assertEqual((hello["event"], hello["retry"], hello["data"]["daemon"]), ("hello", "1000", "up"))
        self.assertEqual(hello["data"]["head"], self.house.call("daemon.stats")["head"])
        task = self.fetch()
        events = stream.until(self.completed(task))
        logged = self.logged(events)
        self.assertEqual(logged, self.stored(hello["data"]["head"])[: len(logged)])
        self.assertEqual([int(event["id"]) for event in events if event["event"] == "log"],
                         [event["sequence"] for event in self.logged(events)])

    def test_what_was_missed_comes_once_and_in_order(self) -> None:
        tasks = [self.fetch() for _ in range(5)]
        stream = self.stream(after=0)
        tasks.append(self.fetch())
        events = stream.until(self.completed(tasks[-1]))
        numbers = [event["sequence"] for event in self.logged(events)]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_a_gap_longer_than_memory_is_read_from_the_log(self) -> None:
        specs = [{"url": self.origin + "/file", "startPaused": True} for _ in range(2500)]
        for _ in range(2):
            self.house.add(*specs)
        before = self.house.call("daemon.stats")["head"]
        self.assertGreater(before, 4096)
        stream = self.stream(after=0)
        events = stream.until(lambda event: event["event"] == "log" and int(event["id"]) >= before)
        numbers = [event["sequence"] for event in self.logged(events)]
        self.assertEqual(numbers, list(range(1, before + 1)))

    def test_the_header_wins(self) -> None:
        self.fetch()
        head = eventually(lambda: self.house.call("daemon.stats")["head"], "an event")
        connection = socket.create_connection(("127.0.0.1", self.house.port), timeout=60)
        self.addCleanup(connection.close)
        connection.sendall(
            f"GET /events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{self.house.port}\r\nCookie: {self.browser.cookie}\r\n"
            f"Last-Event-ID: {head - 1}\r\n\r\n".encode())
        text = b""
        while b"event: log" not in text:
            text += connection.recv(65536)
        first = int(text.split(b"event: log")[1].split(b"id: ")[1].split(b"\n")[0])
        self.assertEqual(first, head)

    def test_a_number_beyond_the_head_starts_anew(self) -> None:
        stream = self.stream(after=10**9)
        [resync] = [event for event in stream.until(lambda event: event["event"] == "resync") if event["event"] == "resync"]
        self.assertEqual(resync["data"]["head"], self.house.call("daemon.stats")["head"])
        task = self.fetch()
        stream.until(self.completed(task))

    def test_bad_numbers_are_refused(self) -> None:
        for after in ("-1", "x", "1.5", "99999999999999999999"):
            self.assertEqual(self.browser.request("GET", f"/events?after={after}").status, 400, after)

    def test_progress_and_figures_come_without_a_number(self) -> None:
        stream = self.stream()
        task = self.fetch("/slow")
        progress: list[float] = []
        stats: dict[str, Any] = {}
        for event in stream:
            if event["event"] == "progress":
                self.assertEqual((event["data"]["task"], "id" in event), (task, False))
                progress.append(time.monotonic())
            if event["event"] == "stats":
                stats = event["data"]
            if len(progress) >= 4 and stats.get("activeTransfers") == 1:
                break
        # At most two a second for a task.
        self.assertGreaterEqual(progress[3] - progress[0], 1.2)
        self.assertIn("tasks", stats)
        self.house.call("task.cancel", {"ids": [task]})

    def test_a_reader_that_stops_begins_anew(self) -> None:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        self.addCleanup(connection.close)
        connection.connect(("127.0.0.1", self.house.port))
        connection.sendall(
            f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.house.port}\r\nCookie: {self.browser.cookie}\r\n\r\n".encode())
        text = b""
        while b"event: hello" not in text:
            text += connection.recv(4096)
        other = self.stream()
        # More than the kernel's buffers and the stream's bound hold.
        specs = [{"url": self.origin + "/file", "startPaused": True, "description": "d" * 1000} for _ in range(5000)]
        for _ in range(4):
            self.house.add(*specs)
        head = self.house.call("daemon.stats")["head"]
        other.until(lambda event: event["event"] == "log" and int(event["id"]) >= head)
        task = self.fetch()
        text = b""
        while b"event: resync" not in text:
            piece = connection.recv(1 << 20)
            self.assertTrue(piece, "the stream ended")
            text = (text + piece)[-(1 << 20):]
        while f'"task":{task}'.encode() not in text:
            text = (text + connection.recv(1 << 20))[-(1 << 20):]


class Endings(EventTest):
    def test_a_killed_daemon_loses_no_event(self) -> None:
        stream = self.stream(after=0)
        first = self.fetch()
        events = stream.until(self.completed(first))
        self.house.daemon.kill()
        events += stream.until(lambda event: event["event"] == "daemon" and event["data"]["state"] == "away")
        self.assertEqual(self.browser.request("GET", "/healthz").status, 503)
        answer = self.browser.post([{"jsonrpc": "2.0", "id": 1, "method": "daemon.info"}])
        self.assertEqual((answer.status, answer.json[0]["error"]["data"]["code"]), (503, "daemon.away"))
        self.assertTrue(answer.json[0]["error"]["data"]["retryable"])
        self.assertEqual(self.browser.request("GET", "/session").json["daemon"], {"state": "away"})
        self.assertIn(b"dld_up 0", self.browser.request("GET", "/metrics").body)
        self.house.start_daemon()
        events += stream.until(lambda event: event["event"] == "daemon" and event["data"]["state"] == "up")
        second = self.fetch()
        events += stream.until(self.completed(second))
        self.assertEqual(self.logged(events), self.stored()[: len(self.logged(events))])
        self.assertEqual(self.browser.request("GET", "/healthz").status, 204)

    def test_a_killed_server_loses_no_event(self) -> None:
        stream = self.stream(after=0)
        events = stream.until(self.completed(self.fetch()))
        self.house.web.kill()
        last = int([event for event in events if event["event"] == "log"][-1]["id"])
        missed = self.fetch()
        eventually(lambda: self.house.call("task.get", {"id": missed})["state"] == "completed", "the download")
        self.house.start_web()
        more = self.stream(after=last).until(self.completed(missed))
        self.assertEqual(self.logged(events) + self.logged(more), self.stored()[: len(self.logged(events + more))])

    def test_another_log_starts_anew(self) -> None:
        for _ in range(3):
            self.fetch()
        stream = self.stream(after=0)
        stream.until(lambda event: event["event"] == "log" and int(event["id"]) >= 3)
        self.house.daemon.kill()
        for file in (self.house.folder / "state").glob("*"):
            if file.is_file():
                file.unlink()
        self.house.start_daemon()
        stream.until(lambda event: event["event"] == "resync")
        stream.until(self.completed(self.fetch()))

    def test_calls_work_at_once_after_a_restart(self) -> None:
        for _ in range(8):
            self.browser.call("daemon.info")
        self.house.daemon.kill()
        self.house.start_daemon()
        eventually(lambda: self.browser.request("GET", "/healthz").status == 204, "dld is back")
        for _ in range(8):
            self.assertEqual(self.browser.post({"jsonrpc": "2.0", "id": 1, "method": "daemon.info"}).status, 200)

    def test_the_page_waits_for_a_daemon_that_comes_later(self) -> None:
        self.house.web.stop()
        self.house.daemon.stop()
        self.house.start_web()
        stream = self.stream()
        self.assertEqual(stream.next()["data"]["daemon"], "away")
        ahead = self.stream(after=10**9)
        self.assertEqual(ahead.next()["data"]["daemon"], "away")
        self.house.start_daemon()
        told = ahead.until(lambda event: event["event"] == "daemon")
        self.assertEqual((told[-1]["data"]["state"], "resync" in [event["event"] for event in told]), ("up", True))
        stream.until(lambda event: event["event"] == "daemon" and event["data"]["state"] == "up")
        stream.until(self.completed(self.fetch()))


if __name__ == "__main__":
    unittest.main()
