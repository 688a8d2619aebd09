"""Streams one file of 2 GB to its client, and compares this with a plain download of the same file."""
import statistics
import subprocess

from bench import bars
from bench.content import make_file
from bench.dld import Dld
from bench.jobs import downloads
from bench.measure import Failed, memory
from bench.race import release

GIGABYTE = 10**9
#: The bytes of credit that the client maintains.
WINDOW = 8 << 20
#: No other workload may have a file of this name: nginx keeps files open, and would send the earlier one.
NAME = "streamed"


def run(context):
    source = context.work / "www" / NAME
    size = context.size(2 * GIGABYTE, GIGABYTE // 4)
    make_file(source, size)
    url = f"{context.nginx.origin('http')}/{NAME}"
    found = context.each_build(lambda daemon: one(context, daemon, source, url))
    for index, (what, unit, bar) in enumerate([
            ("rate, stream", "MB/s", bars.STREAM_RATE), ("rate, download", "MB/s", None),
            ("processor time, stream", "s", None), ("processor time, download", "s", None),
            ("memory grew by, stream", "MB", bars.STREAM_MEMORY)]):
        context.report.figure("2 GB stream", what, {name: values[index] for name, values in found.items()}, unit, bar)
    source.unlink()


def one(context, daemon, source, url):
    """Returns the medians of (rate, rate, processor, processor, growth). Stream and download take turns."""
    # Checks the content. Also, memory that only the first stream adds must not count as growth.
    stream(context, daemon, url, str(source))
    rounds = [(*streamed(context, daemon, url), *downloaded(context, daemon)) for _ in range(context.rounds)]
    rate, cpu, grown, download_rate, download_cpu = (statistics.median(values) for values in zip(*rounds))
    return rate, download_rate, cpu, download_cpu, grown


def stream(context, daemon, url, *check):
    """Returns (bytes, seconds)."""
    command = [context.native("stream"), daemon.path, url, str(WINDOW), *check]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    if ended.returncode != 0:
        raise Failed(ended.stderr.strip())
    count, seconds = ended.stdout.split()
    return int(count), float(seconds)


def streamed(context, daemon, url):
    before, meter = memory(daemon.pid), daemon.meter()
    count, seconds = stream(context, daemon, url)
    sample = meter.end()
    return count / seconds / 1e6, sample.cpu, (sample.peak - before) / 1e6


def downloaded(context, daemon):
    job = downloads(context.nginx.origin("http"), [NAME], context.out())
    sample = Dld("dld", daemon).run(job)
    size = job.pairs[0][1].stat().st_size
    release(job)
    return size / sample.wall / 1e6, sample.cpu
