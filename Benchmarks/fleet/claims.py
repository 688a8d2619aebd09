#!/usr/bin/env python3
"""Claims and ends jobs as fast as PostgreSQL allows, and prints what that cost as JSON.

Each node claims 100 jobs at a time and ends each of them. `--ends single` ends each in a transaction of its own, `batch`
ends all of a claim in one. PostgreSQL is a private one with its own defaults, fsync included.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Fleet"))

from support import Server, eventually  # noqa: E402

FINISH = "SELECT dld.finish(%s, %s, %s, 'done', '{\"size\":1}')"
FINISH_ALL = "SELECT dld.finish(%s, g.id, g.epoch, 'done', '{\"size\":1}') FROM unnest(%s::bigint[], %s::bigint[]) g (id, epoch)"


def work(server: Server, database: str, name: str, options: argparse.Namespace, start: object, done: object) -> None:
    count, spent = 0, 0.0
    with server.connect(database, "node_a", prepare_threshold=1) as node:
        instance = uuid.uuid4()
        node.execute("SELECT dld.register(%s, %s, '{default}', '{}', 100, '1.0')", (name, instance))
        start.wait()  # type: ignore[attr-defined]
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            before = time.monotonic()
            rows = node.execute("SELECT id, epoch FROM dld.claim(%s, %s, 100, '60 s')", (name, instance)).fetchall()
            spent += time.monotonic() - before
            if not rows:
                break
            if options.ends == "batch":
                node.execute(FINISH_ALL, (name, [row.id for row in rows], [row.epoch for row in rows]))
            elif options.ends == "single":
                for row in rows:
                    node.execute(FINISH, (name, row.id, row.epoch))
            count += len(rows)
    done.put((count, spent))  # type: ignore[attr-defined]


def fill(server: Server, database: str, options: argparse.Namespace) -> float:
    before = time.monotonic()
    with server.connect(database, "ann") as producer:
        for _ in range(0, options.jobs, 10_000):
            producer.execute(
                "SELECT count(*) FROM dld.enqueue_many('default', ARRAY(SELECT jsonb_build_object('url',"
                " format('https://host-%%s.example/%%s.iso', n %% %s, n)) FROM generate_series(1, 10000) n))", (options.hosts,))
    return time.monotonic() - before


def processor(server: Server) -> float:
    """Seconds of the processor that the ended connections of the server took."""
    assert server.process is not None
    words = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--limited", type=int, default=0, help="so many of the hosts have a limit of 4")
    parser.add_argument("--ends", choices=("single", "batch", "none"), default="batch")
    options = parser.parse_args()
    server = Server("fsync=on")
    try:
        server.start()
        server.prepare()
        database = server.create()
        with server.connect(database) as owner:
            for host in range(options.limited):
                owner.execute("SELECT dld.set_limit('default', %s, 4)", (f"host-{host}.example",))
            filled = fill(server, database, options)
            start, done = multiprocessing.Barrier(options.nodes + 1), multiprocessing.Queue()
            workers = [multiprocessing.Process(target=work, args=(server, database, f"n{n}", options, start, done))
                       for n in range(options.nodes)]
            for worker in workers:
                worker.start()
            eventually(lambda: owner.execute(
                "SELECT count(*) = 1 + %s FROM pg_stat_activity WHERE backend_type = 'client backend'",
                (options.nodes,)).fetchone()[0], "the producer is gone, the nodes are here")
            spent = processor(server)
            start.wait()
            before = time.monotonic()
            results = [done.get() for _ in workers]
            took = time.monotonic() - before
            for worker in workers:
                worker.join()
            spent = processor(server) - spent
            claims = sum(count for count, _ in results)
            owner.execute("SELECT pg_stat_force_next_flush()") if owner.info.server_version >= 150000 else None
            updates, hot = owner.execute(
                "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'jobs'").fetchone()
        print(json.dumps({
            "claimsPerSecond": round(claims / took), "enqueuedPerSecond": round(options.jobs / filled), "claims": claims,
            "processorMsPerJob": round(1000 * spent / max(claims, 1), 3),
            "msPerClaimCall": round(1000 * sum(s for _, s in results) / max(claims / 100, 1), 1),
            "updatesPerJob": round(updates / max(claims, 1), 2), "seconds": round(took, 1)}))
    finally:
        server.end()


if __name__ == "__main__":
    main()
