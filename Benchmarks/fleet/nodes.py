#!/usr/bin/env python3
"""Plays many nodes on few connections, and prints what they did as JSON.

Each node registers under its own name and instance, and then claims, renews and ends jobs until none is left: most are done,
some fail for a while, some are handed back. It fails if a job was held twice at a time, is lost or ended twice, if a lease
was lost, or if a host had more leases than its limit in any snapshot. PostgreSQL is a private one, with fsync.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import time
import uuid
from collections import Counter
from typing import Any

from load import FINISH_ALL, Server, eventually, queue, record, updates, value

CAPACITY = 16
RENEW = "SELECT * FROM dld.renew(%s, %s, %s::bigint[], %s::bigint[], array_fill(%s::jsonb, ARRAY[%s::int]), '120 s', NULL)"
#: Hosts with more leases than their limit, and jobs that have not ended: one snapshot.
LOOK = """
    SELECT (SELECT count(*) FROM dld.limits WHERE in_flight > max_leases) AS above,
           (SELECT count(*) FROM dld.jobs WHERE ended_at IS NULL) AS left,
           (SELECT count(*) FROM dld.jobs WHERE state = 'leased') AS leased"""


class PlayedNode:
    def __init__(self, connection: Any, name: str) -> None:
        self.connection, self.name, self.instance = connection, name, uuid.uuid4()
        self.dice = random.Random(name)
        self.held: list[Any] = []
        self.took: dict[str, list[float]] = {"claim": [], "renew": []}
        self.claimed: list[tuple[int, int]] = []
        self.renewed = 0
        self.wrong: list[Any] = []
        connection.execute("SELECT dld.register(%s, %s, '{default}', '{}', %s, '1.0')", (name, self.instance, CAPACITY))

    def turn(self) -> bool:
        """One claim, one renewal, and the ends of about half of what it holds. Whether there was something to do."""
        rows = self.timed("claim", "SELECT id, epoch, attempt FROM dld.claim(%s, %s, %s, '120 s')",
                          (self.name, self.instance, CAPACITY - len(self.held)))
        self.claimed += [(row.id, row.epoch) for row in rows]
        self.held += rows
        if not self.held:
            return False
        progress = json.dumps({"bytes": len(self.claimed), "total": -1, "rate": 0, "at": "2026-01-31T08:00:00.000Z"})
        verdicts = self.timed("renew", RENEW, (self.name, self.instance, [row.id for row in self.held],
                                               [row.epoch for row in self.held], progress, len(self.held)))
        self.renewed += len(verdicts)
        self.wrong += [row for row in verdicts if row.verdict != "ok"]
        self.end(self.held[:CAPACITY // 2])
        self.held = self.held[CAPACITY // 2:]
        return True

    def end(self, rows: list[Any]) -> None:
        good = []
        for row in rows:
            chance = self.dice.random()
            if chance < 0.02:
                self.expect("queued", "SELECT dld.release(%s, %s, %s, NULL)", (self.name, row.id, row.epoch))
            elif chance < 0.06 and row.attempt < 4:
                self.expect("queued", "SELECT dld.finish(%s, %s, %s, 'transient', '{\"code\":\"x\"}', '0.1 s')",
                            (self.name, row.id, row.epoch))
            else:
                good.append(row)
        self.expect("done", FINISH_ALL, (self.name, [row.id for row in good], [row.epoch for row in good]))

    def expect(self, state: str, query: str, arguments: Any) -> None:
        self.wrong += [(self.name, row) for row in self.connection.execute(query, arguments) if row[0] != state]

    def timed(self, what: str, query: str, arguments: Any) -> list[Any]:
        before = time.monotonic()
        rows = list(self.connection.execute(query, arguments))
        self.took[what].append(time.monotonic() - before)
        return rows


def work(server: Server, database: str, names: list[str], start: Any, over: Any, done: Any) -> None:
    with server.connect(database, "node_a", prepare_threshold=1) as connection:
        nodes = [PlayedNode(connection, name) for name in names]
        start.wait()
        while not over.is_set():
            # Not a list of calls that `any` cuts short.
            if not sum(node.turn() for node in nodes):
                over.wait(0.1)
        done.put([(node.claimed, node.renewed, node.took, node.wrong) for node in nodes])


def play(server: Server, database: str, options: argparse.Namespace) -> tuple[list[Any], float, list[str]]:
    """What each node did, how long it took, and what was wrong with the limits."""
    names = [f"node-{number}" for number in range(options.nodes)]
    start, over = multiprocessing.Barrier(options.connections + 1), multiprocessing.Event()
    done: Any = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(server, database, names[n::options.connections], start, over, done))
               for n in range(options.connections)]
    for worker in workers:
        worker.start()
    try:
        start.wait(600)
        before, wrong, looks, most = time.monotonic(), [], 0, 0
        with server.connect(database) as owner:
            left = options.jobs
            while left:
                [(above, left, leased)] = owner.execute(LOOK).fetchall()
                looks, most = looks + 1, max(most, leased)
                wrong += [f"{above} hosts were above their limits"] if above else []
                if time.monotonic() - before > options.patience:
                    raise AssertionError(f"{left} jobs have not ended")
                time.sleep(0.2)
        took = time.monotonic() - before
        over.set()
        return [node for _ in workers for node in done.get(timeout=60)], took, wrong
    finally:
        over.set()
        for worker in workers:
            worker.join(60)
            if worker.is_alive():
                worker.kill()


def check(owner: Any, results: list[Any], options: argparse.Namespace) -> list[Any]:
    """What the nodes and the table say about the same jobs."""
    wrong = [row for _, _, _, rows in results for row in rows]
    claims = Counter(pair for claimed, _, _, _ in results for pair in claimed)
    wrong += [f"claimed twice: {pair}" for pair, count in claims.items() if count > 1]
    newest: Counter[int] = Counter()
    for id, epoch in claims:
        newest[id] = max(newest[id], epoch)
    rows = owner.execute("SELECT id, state, lease_epoch, history FROM dld.jobs").fetchall()
    wrong += [f"{len(rows)} jobs"] if len(rows) != options.jobs else []
    for row in rows:
        ends = Counter(entry["end"] for entry in row.history)
        if (row.state, row.lease_epoch, ends["done"], ends["expired"]) != ("done", newest[row.id], 1, 0):
            wrong.append(row)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--limited", type=int, default=50, help="so many of the hosts have a limit of 4")
    parser.add_argument("--patience", type=float, default=900, help="seconds until it gives up")
    options = parser.parse_args()
    with queue(options) as (server, database, owner, _):
        results, took, wrong = play(server, database, options)
        wrong += check(owner, results, options)
        registered = value(owner, "SELECT count(DISTINCT instance) FROM dld.nodes")
        wrong += [f"{registered} nodes are registered"] if registered != options.nodes else []
        changes = eventually(lambda: updates(owner), "updates are counted")
    claims, renewals = (sum(counts) for counts in zip(*((len(c), r) for c, r, _, _ in results), strict=True))
    calls = {what: sorted(t for _, _, times, _ in results for t in times[what]) for what in ("claim", "renew")}
    print(json.dumps({
        "nodes": options.nodes, "connections": options.connections, "jobs": options.jobs, "seconds": round(took, 1),
        "claimsPerSecond": round(claims / took), "renewalsPerSecond": round(renewals / took), "claims": claims,
        "renewals": renewals, "updatesPerJob": round(changes / options.jobs, 2), "wrong": len(wrong),
        **{f"{what}Calls": len(times) for what, times in calls.items()},
        **{f"{what}Ms": [round(1000 * times[int(len(times) * part)], 1) for part in (0.5, 0.99)]
           for what, times in calls.items()}}))
    what = f"{options.nodes:,} played nodes, {options.connections} connections, {options.jobs:,} jobs"
    record(f"{what}: double claims, lost jobs, lost leases, hosts above their limit", "0", f"{len(wrong)}", not wrong)
    record("the same: claims a second, renewals a second", "–", f"{claims / took:,.0f}, {renewals / took:,.0f}")
    for name, times in calls.items():
        middle, late = (1000 * times[int(len(times) * part)] for part in (0.5, 0.99))
        record(f"the same: a call of `{name}`, median and 99 %", "–", f"{middle:,.0f} ms, {late:,.0f} ms")
    if wrong:
        raise SystemExit(f"{len(wrong)} mistakes, for example: {wrong[:5]}")


if __name__ == "__main__":
    main()
