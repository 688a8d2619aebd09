"""Counts the flushes and commits of durable work, and measures the same work with 2 ms for each flush.

On virtual disks a flush often costs almost nothing. The counts and the time with slow flushes hold for real disks too."""
from bench.daemon import SyncCounters
from bench.dld import Dld
from bench.race import release

FLUSH_MILLISECONDS = 2


def count(context, work, make_job, check, tasks, configuration=None, against=None):
    """Makes a row: the counts of one run, and its wall time with fast and with slow flushes. `against` is a peer's
    median wall time."""
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
