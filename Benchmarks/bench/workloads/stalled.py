"""Measures uploads whose server reads only the header of each request."""
import socket
import threading
import time

from bench.content import make_file
from bench.measure import Failed

WINDOW = 10.0
SIZE = 64 << 20
COUNTS = [1, 64]


def run(context):
    source = context.work / "source"
    make_file(source, SIZE)
    for count in COUNTS:
        values = context.each_build(lambda daemon: one(daemon, source, count), count)
        context.report.figure(f"{count} stalled upload{'s' if count > 1 else ''}", "processor", values, "% of a core")
    source.unlink()


def serve(listener, connections):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.recv(4096)
        connections.append(connection)


def one(daemon, source, count):
    connections = []
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        threading.Thread(target=serve, args=(listener, connections), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        daemon.call("task.add", tasks=[
            {"kind": "upload", "url": f"{url}/{index}", "source": {"path": str(source)}, "uploadProtocol": "put"}
            for index in range(count)])
        deadline = time.monotonic() + 30
        while len(connections) < count:
            if time.monotonic() > deadline:
                raise Failed(f"{len(connections)} of {count} uploads began")
            time.sleep(0.05)
        # Until all send buffers are full.
        time.sleep(2)
        meter = daemon.meter()
        time.sleep(WINDOW)
        share = 100 * meter.end().cpu / WINDOW
        daemon.call("task.cancel", all=True)
        for connection in connections:
            connection.close()
    return share
