"""Keeps a queue full: one task that never ends has the only slot."""
import time

from bench.dld import BATCH

#: The text before, between and after the numbers of a task in a task.add.
PARTS = ('{"url":"%s/generated/', '","destination":{"path":"%s/', '"}}')


class Filling:
    """Makes task.add calls. Every task has its own URL and destination."""

    def __init__(self, daemon, origin, folder):
        self.daemon, self.folder, self.next = daemon, folder, 0
        self.parts = (PARTS[0] % origin, PARTS[1] % folder, PARTS[2])

    def calls(self, count, batch=BATCH):
        url, path, end = self.parts
        calls = []
        for start in range(self.next, self.next + count, batch):
            tasks = ",".join([f"{url}{number}{path}{number}{end}" for number in range(start, start + batch)])
            calls.append(b'{"jsonrpc":"2.0","id":1,"method":"task.add","params":{"tasks":[%s]}}\n' % tasks.encode())
        self.next += count
        return calls


def blocked(daemon, server):
    """Gives the only slot to a transfer that would take days."""
    endings = daemon.endings(types=["task.started"])
    daemon.blocker = daemon.call("task.add", tasks=[{
        "url": server.origin + "/trickle", "priority": 1, "destination": {"path": str(daemon.folder / "trickle")},
        "conflictPolicy": "rename"}])["tasks"][0]["id"]
    mark = b'"task":%d,' % daemon.blocker
    while not any(mark in event for event in endings.connection.lines()):
        pass
    endings.close()


def released(daemon):
    """Frees the slot."""
    daemon.call("task.cancel", ids=[daemon.blocker])


def alone(daemon):
    """Returns when no other task runs. The blocker's priority keeps it running when the limit returns to one."""
    while daemon.call("daemon.stats")["tasks"]["running"] > 1:
        time.sleep(0.05)
