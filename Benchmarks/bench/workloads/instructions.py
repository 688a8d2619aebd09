"""Counts the instructions in user space for one more small download, with callgrind. The figures repeat within a few percent."""
import pathlib
import re
import subprocess

from bench import bars
from bench.context import Build
from bench.content import make_small_files
from bench.dld import Dld
from bench.jobs import downloads
from bench.measure import Failed

FILE_BYTES = 4096
PARALLEL = 64
WORK = "one more small download"
COUNTED = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)
#: The longest time, in seconds, that one contender may take for the larger of two jobs.
LIMIT = 1800


def run(context):
    few, many = context.size(1_000, 100), context.size(3_000, 300)
    files = Files(context, many)
    own = {build.name: files.difference(few, many, lambda job: by_daemon(context, build, job))
           for build in context.builds}
    context.report.figure(WORK, "instructions", own, "", bars.SMALL_INSTRUCTIONS)
    for peer in context.peers:
        if peer.name in ("curl", "aria2c"):
            count = files.difference(few, many, lambda job: by_peer(context, peer, job))
            context.report.figure(WORK, f"instructions of {peer.name}", {"dld": count})


def of_daemon(context, few, many):
    """Returns the figure of the first build alone."""
    return Files(context, many).difference(few, many, lambda job: by_daemon(context, context.builds[0], job))


class Files:
    """The job: many small files of one server."""

    def __init__(self, context, count):
        self.context, self.origin = context, context.nginx.origin("http") + "/counted"
        self.names = make_small_files(context.work / "www" / "counted", count, FILE_BYTES)

    def difference(self, few, many, measure):
        """Returns the instructions for one more file. The difference between many and few files does not contain the
        cost of a start."""
        counts = [measure(downloads(self.origin, self.names[:count], self.context.out(), parallel=PARALLEL))
                  for count in (few, many)]
        return (counts[1] - counts[0]) / (many - few)


def callgrind(out):
    return ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]


def by_daemon(context, build, job):
    out = context.scratch("count") / "out"
    with context.start(readable(context, build), PARALLEL, wrapper=callgrind(out)) as daemon:
        Dld("dld", daemon).run(job)
    return check(job, out)


def readable(context, build):
    """Makes a copy of the build without debugging information, at which valgrind would stop."""
    folder = context.work / f"readable{build.suffix}"
    folder.mkdir(exist_ok=True)
    subprocess.run(["strip", "--strip-debug", "-o", str(folder / "dld"), str(build.folder / "dld")], check=True)
    return Build(build.suffix, folder)


def by_peer(context, peer, job):
    out = context.scratch("count") / "out"
    done = subprocess.run([*callgrind(out), *peer.command(job)], timeout=LIMIT, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{peer.name} ended with {done.returncode}: {done.stderr[-500:]}")
    return check(job, out)


def check(job, out):
    """Returns the instructions of a run, after checking that it delivered all files."""
    missing = [path for _, path in job.pairs if not path.exists() or path.stat().st_size != FILE_BYTES]
    if missing:
        raise Failed(f"{len(missing)} of {len(job.pairs)} files are missing, {missing[0]} among them")
    counted = COUNTED.search(pathlib.Path(out).read_text())
    if not counted:
        raise Failed(f"callgrind wrote no total to {out}")
    return int(counted[1])
