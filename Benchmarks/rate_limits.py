#!/usr/bin/env python3
"""How closely rate limits hold: bytes that arrive in 5 s against what the limit allows.

Starts dld on a folder of its own and a local server that sends as fast as it is read; measures a limit of the task,
of the session and of everything, each also changed while transfers run. Prints the deviation of each window.

    Benchmarks/rate_limits.py FOLDER-OF-BUILT-PROGRAMS
"""
import contextlib
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

WINDOW = 5.0
SIZE = 4 << 30


class Endless(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    block = os.urandom(1 << 16)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(SIZE // len(self.block)):
                self.wfile.write(self.block)

    def log_message(self, *arguments):
        pass


class Daemon:
    def __init__(self, program, folder):
        path = str(folder / "dld.sock")
        (folder / "empty.yaml").touch()
        self.process = subprocess.Popen(
            [program, "--config", str(folder / "empty.yaml"), "--state-dir", str(folder / "state"), "--socket", path,
             "--log-level", "error"])
        for _ in range(200):
            with contextlib.suppress(OSError):
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.connect(path)
                self.stream = self.socket.makefile("rw")
                return
            time.sleep(0.05)
        raise SystemExit("dld did not start")

    def call(self, method, **parameters):
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}), file=self.stream,
              flush=True)
        answer = json.loads(self.stream.readline())
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        return answer["result"]


def received(daemon, tasks):
    return sum(daemon.call("task.get", id=task)["bytesReceived"] for task in tasks)


def measure(daemon, name, tasks, limit):
    # The bucket's burst and the old limit's bytes in flight are over after this.
    time.sleep(1)
    before, start = received(daemon, tasks), time.monotonic()
    time.sleep(WINDOW)
    after, end = received(daemon, tasks), time.monotonic()
    rate = (after - before) / (end - start)
    print(f"{name:34} {limit / 1e6:6.1f} MB/s allowed  {rate / 1e6:7.3f} MB/s  {100 * (rate / limit - 1):+6.2f} %")


def main():
    programs = pathlib.Path(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        daemon = Daemon(str(programs / "dld"), folder)
        try:
            def add(count, **more):
                session = more.pop("session", None)
                specs = [{"url": url, "destination": {"path": str(folder / f"f{time.monotonic_ns()}-{n}")}, **more}
                         for n in range(count)]
                added = daemon.call("task.add", tasks=specs, **({"session": session} if session else {}))
                return [task["id"] for task in added["tasks"]]

            tasks = add(1, rateLimit=2_000_000)
            measure(daemon, "task", tasks, 2_000_000)
            daemon.call("task.update", id=tasks[0], rateLimit=20_000_000)
            measure(daemon, "task, raised while running", tasks, 20_000_000)
            daemon.call("task.cancel", all=True)
            daemon.call("session.open", id="s", configuration={"downloadRateLimit": 8_000_000})
            tasks = add(3, session="s")
            measure(daemon, "session, 3 tasks", tasks, 8_000_000)
            daemon.call("session.open", id="s", configuration={"downloadRateLimit": 3_000_000})
            measure(daemon, "session, lowered while running", tasks, 3_000_000)
            daemon.call("task.cancel", all=True)
            daemon.call("settings.set", downloadRateLimit=10_000_000)
            tasks = add(5)
            measure(daemon, "all transfers, 5 tasks", tasks, 10_000_000)
            daemon.call("task.cancel", all=True)
        finally:
            daemon.process.terminate()
            daemon.process.wait(timeout=10)


if __name__ == "__main__":
    main()
