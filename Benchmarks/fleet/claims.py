#!/usr/bin/env python3
"""Claims and ends jobs as fast as PostgreSQL allows, and prints what that cost as JSON.

Each node claims 100 jobs at a time and ends each of them. `--ends single` ends each in a transaction of its own, `batch`
ends all of a claim in one. PostgreSQL is a private one with its own defaults, fsync included.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import uuid
from typing import Any

from load import FINISH_ALL, Server, eventually, processor, queue, record, updates, value

FINISH = "SELECT dld.finish(%s, %s, %s, 'done', '{\"size\":1}')"


def work(server: Server, database: str, name: str, options: argparse.Namespace, start: Any, done: Any) -> None:
    count, spent = 0, 0.0
    with server.connect(database, "node_a", prepare_threshold=1) as node:
        instance = uuid.uuid4()
        node.execute("SELECT dld.register(%s, %s, '{default}', '{}', 100, '1.0')", (name, instance))
        start.wait()
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
    done.put((count, spent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--limited", type=int, default=0, help="so many of the hosts have a limit of 4")
    parser.add_argument("--ends", choices=("single", "batch", "none"), default="batch")
    options = parser.parse_args()
    with queue(options) as (server, database, owner, filled):
        start: Any = multiprocessing.Barrier(options.nodes + 1)
        done: Any = multiprocessing.Queue()
        workers = [multiprocessing.Process(target=work, args=(server, database, f"n{n}", options, start, done))
                   for n in range(options.nodes)]
        for worker in workers:
            worker.start()
        eventually(lambda: value(
            owner, "SELECT count(*) = 1 + %s FROM pg_stat_activity WHERE backend_type = 'client backend'",
            (options.nodes,)), "the producer is gone, the nodes are here")
        spent = processor(server)
        start.wait()
        before = time.monotonic()
        results = [done.get() for _ in workers]
        took = time.monotonic() - before
        for worker in workers:
            worker.join()
        spent = processor(server) - spent
        claims = sum(count for count, _ in results)
        changes = updates(owner)
    print(json.dumps({
        "claimsPerSecond": round(claims / took), "enqueuedPerSecond": round(options.jobs / filled), "claims": claims,
        "processorMsPerJob": round(1000 * spent / max(claims, 1), 3),
        "msPerClaimCall": round(1000 * sum(s for _, s in results) / max(claims / 100, 1), 1),
        "updatesPerJob": round(changes / max(claims, 1), 2), "seconds": round(took, 1)}))
    record(f"claims a second over {options.jobs:,} jobs, {options.nodes} nodes of the load program, with their ends",
           "≥ 5,000", f"{claims / took:,.0f}", claims / took >= 5000)


if __name__ == "__main__":
    main()
