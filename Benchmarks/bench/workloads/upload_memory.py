"""Measures resident memory before, during and after an upload of 4 GiB, and 100 uploads at a time."""
import hashlib

from bench import bars
from bench.measure import Failed, memory
from bench.sink import BLOCK, Sink

GIBIBYTE = 1 << 30
MARK_EVERY = 64 << 20


def run(context):
    source = context.work / "source"
    whole = context.size(4 * GIBIBYTE, GIBIBYTE // 2)
    each = context.size(64 << 20, 16 << 20)
    for work, count, size in [(f"upload {whole / GIBIBYTE:g} GiB", 1, whole), ("100 uploads at once", 100, each)]:
        digest = make_sparse(source, size)
        found = context.each_build(lambda daemon: one(daemon, source, count, size, digest), 128)
        for index, what in enumerate(["memory before", "memory at most", "memory after"]):
            context.report.figure(work, what, {name: figures[index] / 1e6 for name, figures in found.items()}, "MB")
        context.report.figure(
            work, "memory grew by", {name: (most - before) / 1e6 for name, (before, most, _) in found.items()}, "MB",
            bars.UPLOAD_MEMORY)
    source.unlink()


def make_sparse(path, size):
    """Makes a file of holes with marks, so that misplaced bytes are noticed. Returns its digest."""
    with open(path, "wb") as file:
        file.truncate(size)
        for offset in range(0, size, MARK_EVERY):
            file.seek(offset)
            file.write(f"offset {offset}".encode())
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def one(daemon, source, count, size, digest):
    """Returns the resident bytes before, at most during, and after `count` uploads of `source`."""
    # Memory that only the first upload adds (libcurl's code, the first buffers) must not count as growth.
    small = daemon.folder / "small"
    small.write_bytes(bytes(BLOCK))
    send(daemon, small, 1, BLOCK, hashlib.sha256(bytes(BLOCK)).digest())
    before, meter = memory(daemon.pid), daemon.meter()
    send(daemon, source, count, size, digest)
    return before, meter.end().peak, memory(daemon.pid)


def send(daemon, source, count, size, digest):
    endings = daemon.endings()
    with Sink(together=count, hashes=True) as sink:
        daemon.call("task.add", tasks=[
            {"kind": "upload", "url": f"{sink.url}{index}", "source": {"path": str(source)}, "uploadProtocol": "put"}
            for index in range(count)])
        endings.wait(count)
        if sink.arrived != [(size, digest)] * count:
            raise Failed(f"{len(sink.arrived)} of {count} files arrived, and not all of them are right")
    endings.close()
