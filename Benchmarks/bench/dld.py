"""dld as a contender. A daemon that is already running gets the same job as the peers."""
import json
import time

#: The number of tasks in one task.add.
BATCH = 1000
#: Seconds after the last event in which the daemon still closes files and stores. This belongs to the work.
SETTLE = 0.3


def add_lines(specs, session=None):
    """Prepares task.add calls of `BATCH` tasks each."""
    named = {"session": session} if session else {}
    return [json.dumps({"jsonrpc": "2.0", "id": 1, "method": "task.add",
                        "params": {**named, "tasks": specs[start : start + BATCH]}},
                       separators=(",", ":")).encode() + b"\n" for start in range(0, len(specs), BATCH)]


def specs(job, **more):
    if job.source:
        return [{"kind": "upload", "url": job.upload_url, "source": {"path": str(job.source)},
                 "uploadProtocol": "put", **more}]
    if job.connections > 1:
        more["connections"] = job.connections
    return [{"url": url, "destination": {"path": str(path)}, **more} for url, path in job.pairs]


class Dld:
    """One daemon and one session of it, for all rounds of a workload."""

    def __init__(self, name, daemon, session=None, configuration=None):
        self.name, self.daemon, self.session = name, daemon, session
        if session:
            daemon.call("session.open", id=session, configuration=configuration or {})

    def run(self, job, watch=None):
        """Measures wall time from the first task.add to the last completion event. `watch` is told when this begins."""
        calls = add_lines(specs(job), self.session)
        endings = self.daemon.endings()
        meter = self.daemon.meter()
        if watch:
            watch.begin(self.daemon.pid)
        begun = time.monotonic()
        self.daemon.connection.pipeline(calls, depth=len(calls))
        wall = endings.wait(max(1, len(job.pairs))) - begun
        endings.close()
        time.sleep(SETTLE)
        return meter.end(wall)
