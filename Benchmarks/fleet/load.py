"""What the load programs share: the queue of a private PostgreSQL with its own defaults, fsync included."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
import time
from collections.abc import Iterator
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Fleet"))

from support import CHECKOUT, Server, eventually, programs, record, value  # noqa: E402

__all__ = ["CHECKOUT", "FINISH_ALL", "Server", "eventually", "fill", "processor", "programs", "queue", "record", "updates", "value"]

FINISH_ALL = "SELECT dld.finish(%s, g.id, g.epoch, 'done', '{\"size\":1}') FROM unnest(%s::bigint[], %s::bigint[]) g (id, epoch)"


def fill(server: Server, database: str, jobs: int, hosts: int) -> float:
    """Adds jobs, and returns the seconds that took."""
    before = time.monotonic()
    with server.connect(database, "ann") as producer:
        for first in range(0, jobs, 10_000):
            producer.execute(
                "SELECT count(*) FROM dld.enqueue_many('default', ARRAY(SELECT jsonb_build_object('url',"
                " format('https://host-%%s.example/%%s.iso', n %% %s, n)) FROM generate_series(1, %s) n))",
                (hosts, min(10_000, jobs - first)))
    return time.monotonic() - before


@contextlib.contextmanager
def queue(options: argparse.Namespace) -> Iterator[tuple[Server, str, Any, float]]:
    """A server, its database, an owner's connection, and the seconds that the jobs took to fill it."""
    server = Server("fsync=on")
    try:
        server.start()
        server.prepare()
        database = server.create()
        with server.connect(database) as owner:
            for host in range(options.limited):
                owner.execute("SELECT dld.set_limit('default', %s, 4)", (f"host-{host}.example",))
            yield server, database, owner, fill(server, database, options.jobs, options.hosts)
    finally:
        server.end()


def processor(server: Server) -> float:
    """Seconds of the processor that the ended connections of the server took."""
    assert server.process is not None
    words = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")


def updates(owner: Any) -> int:
    """Updates of the table of jobs."""
    if owner.info.server_version >= 150000:
        owner.execute("SELECT pg_stat_force_next_flush()")
    return int(value(owner, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'jobs'"))
