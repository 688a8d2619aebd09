#!/usr/bin/env python3
"""What uploads cost while their server takes nothing: processor time of the daemon over 10 s, not wall time.

Starts dld on a folder of its own and a local server that reads the head of each request and then nothing more; with one
upload and with 64 of them, once everybody's send buffers are full, prints the share of a core that the daemon uses.

    Benchmarks/stalled_upload.py FOLDER-OF-BUILT-PROGRAMS
"""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

WINDOW = 10.0
SIZE = 64 << 20


def serve(listener, connections):
    while True:
        connection, _ = listener.accept()
        connection.recv(4096)
        connections.append(connection)


class Daemon:
    def __init__(self, program, folder):
        path = str(folder / "dld.sock")
        (folder / "empty.yaml").write_text("maximumConcurrentTasks: 64\nmaximumConcurrentTasksPerHost: 64\n")
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
            raise SystemExit(answer["error"]["message"])
        return answer["result"]

    def processor(self):
        """Seconds of user and system time so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure(program, count):
    connections = []
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    threading.Thread(target=serve, args=(listener, connections), daemon=True).start()
    port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "source"
        source.write_bytes(os.urandom(1 << 20) * (SIZE >> 20))
        daemon = Daemon(program, folder)
        try:
            daemon.call("task.add", tasks=[
                {"kind": "upload", "url": f"http://127.0.0.1:{port}/{index}", "source": {"path": str(source)},
                 "uploadProtocol": "put"} for index in range(count)])
            for _ in range(600):
                if len(connections) == count:
                    break
                time.sleep(0.05)
            time.sleep(2)
            before = daemon.processor()
            time.sleep(WINDOW)
            used = daemon.processor() - before
            print(f"{len(connections):3} stalled uploads: {used:.2f} s of processor time in {WINDOW:.0f} s "
                  f"({100 * used / WINDOW:.1f} % of a core)")
        finally:
            daemon.end()


for uploads in (1, 64):
    measure(sys.argv[1] + "/dld", uploads)
