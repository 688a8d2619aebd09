"""Measures a daemon without tasks."""
import time

from bench import bars
from bench.measure import memory, wake_ups

WORK = "idle, no task"


def run(context):
    found = {build.name: one(context, build) for build in context.builds}
    for index, (what, unit, bar) in enumerate([
            ("resident memory", "MB", bars.IDLE_MEMORY), ("wake-ups of all threads", "/s", bars.IDLE_WAKE_UPS),
            ("processor", "ms/s", None), ("start-up to READY", "ms", None)]):
        context.report.figure(WORK, what, {name: values[index] for name, values in found.items()}, unit, bar)


def one(context, build):
    seconds = context.size(30, 6)
    with context.start(build) as daemon:
        time.sleep(5)
        meter = daemon.meter()
        woken = wake_ups(daemon.pid, seconds)
        return (memory(daemon.pid) / 1e6, woken, meter.end().cpu / seconds * 1000, daemon.ready_after * 1000)
