"""Programs on this machine that can do what dld does, each with the options that make it fastest."""
import os
import pathlib
import re
import shutil
import subprocess

from bench.measure import run_measured

#: The largest --parallel-max that curl 7.88 accepts.
CURL_LIMIT = 300


class Peer:
    """One program. `command` returns its command line for a job, or None if it cannot do the job."""

    name = ""

    def __init__(self, native, folder):
        self.native, self.folder = native, folder
        self.program = found(self.name)

    def version(self):
        said = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout
        match = re.search(r"\d+(\.\d+)+", said)
        return match.group() if match else "?"

    def run(self, job, watch=None):
        return run_measured(self.native, self.command(job), self.folder, watch)

    def command(self, job):
        raise NotImplementedError

    def list_file(self, text):
        path = self.folder / f"{self.name}.list"
        path.write_text(text)
        return str(path)


class Curl(Peer):
    name = "curl"

    def command(self, job):
        base = [self.program, "-sSf"] + (["--cacert", job.authority] if job.authority else [])
        if job.source:
            return [*base, "-T", str(job.source), job.upload_url]
        if job.connections > 1 or job.parallel > CURL_LIMIT:
            return None
        if len(job.pairs) == 1:
            (url, path), = job.pairs
            return [*base, "-o", str(path), url]
        text = "".join(f'url = "{url}"\noutput = "{path}"\n' for url, path in job.pairs)
        # Without TLS there is no HTTP/2 to multiplex, and so no reason to open connections one after the other.
        more = [] if job.authority else ["--parallel-immediate"]
        return [*base, "--parallel", *more, "--parallel-max", str(job.parallel), "--config", self.list_file(text)]


class Aria2(Peer):
    name = "aria2c"
    #: Without these options it writes files twice, and a control file for each.
    options = ["--file-allocation=none", "--auto-save-interval=0"]

    def command(self, job):
        if job.source:
            return None
        text = "".join(f"{url}\n out={path.name}\n" for url, path in job.pairs)
        return [self.program, "-q", "--no-conf=true", *self.options, "-d", str(job.folder),
                "-i", self.list_file(text), f"-j{job.parallel}", f"-x{min(job.connections, 16)}",
                f"-s{job.connections}", "-k1M", *self.trust(job)]

    def trust(self, job):
        return ["--ca-certificate=" + job.authority] if job.authority else []


class Aria2Next(Aria2):
    name = "aria2-next"
    options = ["--file-allocation=none"]


class Wget2(Peer):
    name = "wget2"

    def command(self, job):
        # With --chunk-size it requests one chunk after the other, no matter how many threads it may use.
        if job.source or job.connections > 1:
            return None
        base = [self.program, "-q", "--no-config", "--no-hsts", "--no-ocsp", f"--max-threads={job.parallel}"]
        if job.authority:
            base += ["--ca-certificate=" + job.authority]
        if len(job.pairs) == 1:
            (url, path), = job.pairs
            return [*base, "-O", str(path), url]
        return [*base, "-P", str(job.folder), "-i", self.list_file("".join(f"{url}\n" for url, _ in job.pairs))]


class Floor(Peer):
    """Only recv and pwrite, or read and send (Benchmarks/native/floor.c)."""

    name = "floor"

    def __init__(self, native, folder):
        self.native, self.folder = native, folder
        self.program = native("floor")

    def version(self):
        return "recv + pwrite"

    def command(self, job):
        url, path = (job.upload_url, job.source) if job.source else job.pairs[0]
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/.*)", url)
        if not match or job.connections > 1 or len(job.pairs) > 1:
            return None
        return [self.program, "put" if job.source else "get", match[1], match[2], str(path)]


def found(name):
    """Returns the path of a program, which may come from PyPI (Benchmarks/prepare)."""
    own = pathlib.Path(__file__).resolve().parents[2] / ".build-bench" / "venv" / "bin"
    return shutil.which(name, path=f"{own}:{os.environ.get('PATH', '')}")


def all_peers(native, folder, wanted):
    """Returns those of the wanted peers that this machine has, and the names of the missing ones."""
    peers, missing = [], []
    for kind in (Curl, Aria2, Wget2, Aria2Next, Floor):
        if wanted and kind.name not in wanted:
            continue
        if kind is Floor or found(kind.name):
            peers.append(kind(native, folder))
        else:
            missing.append(kind.name)
    return peers, missing
