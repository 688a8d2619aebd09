"""Measures calls of daemon.info per second, from 1 and from 50 clients."""
import subprocess

from bench import bars
from bench.measure import median
from bench.race import say
from bench.rpc import line

#: (clients, unanswered calls of each, bar)
WORKS = [(1, 16, bars.CALLS_ONE_CLIENT), (50, 16, None), (1, 1, None)]


def run(context):
    for clients, depth, bar in WORKS:
        found = {build.name: [] for build in context.builds}
        for build in context.builds:
            with context.start(build) as daemon:
                for _ in range(context.rounds):
                    found[build.name].append(one(context, daemon, clients, depth))
        work = f"daemon.info, {clients} client{'s' if clients > 1 else ''}, {depth} in flight"
        for index, (what, unit) in enumerate([("calls answered", "calls/s"), ("processor for each", "µs")]):
            values = {name: median([sample[index] for sample in samples]) for name, samples in found.items()}
            context.report.figure(work, what, values, unit, bar if index == 0 else None)


def one(context, daemon, clients, depth):
    """Returns the calls per second, and the microseconds of the daemon's processor time for each call."""
    seconds = context.size(5, 2)
    meter = daemon.meter()
    printed = subprocess.run(
        [context.native("load"), "calls", daemon.path, str(clients), str(depth), str(seconds)],
        input=line("daemon.info", {}), stdout=subprocess.PIPE, check=True, timeout=60).stdout
    sample = meter.end()
    answered, taken = (float(word) for word in printed.split())
    say(f"daemon.info, {clients} × {depth}: {answered / taken:,.0f} calls/s")
    return answered / taken, sample.cpu / answered * 1e6
