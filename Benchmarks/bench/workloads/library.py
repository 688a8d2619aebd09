"""Fetches with TransferNetworking and with FoundationNetworking: one source, compiled against either. The daemon counts for
the first."""
import os
import pathlib
import socket
import statistics
import subprocess

from bench import bars
from bench.content import make_file
from bench.measure import Failed

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "library"
MEGABYTE = 1_000_000


def run(context):
    make_file(context.work / "www" / "tiny", 1000)
    large = context.work / "www" / "library"
    make_file(large, context.size(2000 * MEGABYTE, 250 * MEGABYTE))
    ours, theirs = programs(context)
    # Nobody accepts its connections.
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as nobody:
        silent = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
        compare(context, ours, theirs, silent)
    large.unlink()


def compare(context, ours, theirs, silent):
    origin = context.nginx.origin("http")
    tasks, flying = context.size(9_000, 900), context.size(1_000, 100)
    for what, unit, mode, url, count, index, bar in [
            (f"{tasks:,} data tasks", "wall, s", "data", f"{origin}/tiny", tasks, 0, bars.LIBRARY_WALL),
            ("2 GB to a file", "processor, s", "file", f"{origin}/library", 1, 1, bars.LIBRARY_PROCESSOR),
            (f"{flying:,} tasks in flight", "memory, MB", "flight", silent, flying, 2, bars.LIBRARY_MEMORY)]:
        found = {build.name: [] for build in context.builds}
        foundation = []
        for _ in range(context.rounds):
            for build in context.builds:
                with context.start(build, 64) as daemon:
                    found[build.name].append(measured(ours, daemon, mode, url, count)[index])
            foundation.append(measured(theirs, None, mode, url, count)[index])
        reference = statistics.median(foundation)
        values = {name: statistics.median(each) for name, each in found.items()}
        context.report.figure(f"library, {what}", unit, values, "")
        context.report.figure(f"FoundationNetworking, {what}", unit, {name: reference for name in values}, "")
        context.report.figure(f"library against FoundationNetworking, {what}", unit.split(",")[0],
                              {name: value / reference for name, value in values.items()}, "", bar)


def programs(context):
    """Builds the two programs, and returns their paths."""
    folder = context.work / "library"
    command = ["swift", "build", "-c", "release", "--package-path", str(SOURCE), "--scratch-path", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    path = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    theirs = context.work / "foundation"
    subprocess.run(["swiftc", "-O", "-swift-version", "6", "-parse-as-library", "-D", "FOUNDATION_NETWORKING", "-o", str(theirs),
                    str(SOURCE / "Sources" / "library" / "Library.swift")], check=True)
    return f"{path}/library", str(theirs)


def measured(program, daemon, mode, url, count):
    """Returns (wall in s, processor in s with the daemon's, memory in MB) of one run."""
    environment = dict(os.environ)
    if daemon:
        environment["DLD_SOCKET"] = daemon.path
        meter = daemon.meter()
    ended = subprocess.run([program, mode, url, str(count)], env=environment, capture_output=True, text=True, timeout=600)
    fields = ended.stdout.split()
    if len(fields) != 3:
        raise Failed(f"{program}: {ended.stdout} {ended.stderr}")
    wall, processor, memory = (float(field) for field in fields)
    if daemon:
        processor += meter.end().cpu
    return wall, processor, memory / 1000
