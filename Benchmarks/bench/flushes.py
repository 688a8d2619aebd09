"""How many flushes and commits a durable piece of work takes, and what it takes where each flush lasts 2 ms.

Flushes of virtual disks often cost next to nothing; counts and a slow flush are what carries over to a real disk."""
from bench.daemon import SyncCounters
from bench.dld import Dld
from bench.race import release

FLUSH_MILLISECONDS = 2


def count(context, work, make_job, check, tasks, configuration=None, against=None):
    """A row: counts of one run, and the wall time of it with fast and with slow flushes; `against` is a peer's median
    wall time."""
    walls, counts = {}, {}
    build = context.builds[0]
    for milliseconds in (0, FLUSH_MILLISECONDS):
        folder = context.scratch("flushes")
        counters = SyncCounters(context.native, folder, milliseconds)
        with context.start(build, tasks, counters.environment) as daemon:
            contender = Dld("dld", daemon, "flushes", {**(configuration or {})})
            job = make_job(context.out())
            before = counters.read()
            walls[milliseconds] = contender.run(job).wall
            counts[milliseconds] = {name: value - before[name] for name, value in counters.read().items()}
            check(job)
            release(job)
    add_row(context, work, counts[0], walls[0], counts[FLUSH_MILLISECONDS], walls[FLUSH_MILLISECONDS], against)


def add_row(context, work, counts, wall, slow_counts, slow_wall, against=None):
    total = sum(counts[name] for name in counts if name != "range")
    slow = sum(slow_counts[name] for name in slow_counts if name != "range")
    context.report.flush(**{
        "work": work, "files": counts["file"], "folders": counts["folder"], "commits": counts["commit"],
        "all": total, "wall, s": f"{wall:.2f}", f"all, {FLUSH_MILLISECONDS} ms each": slow,
        f"wall, {FLUSH_MILLISECONDS} ms each": f"{slow_wall:.2f}",
        "slow ÷ fast": f"{slow_wall / wall:.2f}",
        "slow ÷ curl": f"{slow_wall / against:.2f}" if against else ""})
