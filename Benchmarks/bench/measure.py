"""Measures the cost of work: wall time, processor time and peak memory, as the operating system counts them."""
import dataclasses
import os
import pathlib
import statistics
import subprocess
import threading
import time


@dataclasses.dataclass
class Sample:
    """The cost of one run, in seconds and bytes."""

    wall: float
    user: float = 0.0
    system: float = 0.0
    peak: int = 0
    #: Other figures of a workload, by name.
    more: dict = dataclasses.field(default_factory=dict)

    @property
    def cpu(self):
        return self.user + self.system

    def figure(self, name):
        return self.more[name] if name in self.more else getattr(self, name)


def median(values):
    return statistics.median(values)


class Failed(Exception):
    """A run did not do its work, so its cost means nothing."""


def run_measured(native, command, folder, watch=None, limit=900):
    """Runs a command and returns the cost of it and its children. Raises `Failed` if its exit status is not 0. `watch`
    begins when the command runs."""
    report = folder / "measured"
    # Peers keep caches in the home folder. The user's own home folder must stay unchanged.
    variables = {**os.environ, "HOME": str(folder), "LC_ALL": "C"}
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen([native("measured"), str(report), *command], stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=variables)
        try:
            if watch:
                watch.begin(child_of(process.pid))
            process.wait(timeout=limit)
        finally:
            process.kill()
            process.wait()
    wall, user, system, peak, status = report.read_text().split()
    if status != "0":
        said = (folder / "output").read_text(errors="replace")[-500:]
        raise Failed(f"{os.path.basename(command[0])} ended with status {status}: {said}")
    return Sample(float(wall), float(user), float(system), int(peak))


def child_of(pid):
    """Returns the pid of the process that Benchmarks/native/measured.c started."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    for _ in range(1000):
        if text := children.read_text():
            return int(text.split()[0])
        time.sleep(0.001)
    raise Failed("the command did not start")


class Window:
    """Measures a process's share of a core between two moments of its work, so that its start and its end do not
    count."""

    def __init__(self, start, end):
        self.start, self.length, self.share = start, end - start, None

    def begin(self, pid):
        threading.Thread(target=self.sample, args=(pid,), daemon=True).start()

    def sample(self, pid):
        time.sleep(self.start)
        try:
            meter = ProcessMeter(pid, resets_peak=False)
            time.sleep(self.length)
            self.share = 100 * (meter.processor() - meter.clock) / (time.monotonic() - meter.start)
        except OSError:
            # The process ended before the second moment.
            self.share = None


class ProcessMeter:
    """Measures a running process between `begin` and `end`: the processor time of all its threads, including those that
    have ended, and its peak memory."""

    def __init__(self, pid, resets_peak=True):
        self.pid = pid
        if resets_peak:
            # proc(5): writing 5 resets the peak to the current resident memory.
            pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        self.start, self.clock, self.split = time.monotonic(), self.processor(), self.user_and_system()

    def end(self, wall=None):
        used, (user, system) = self.processor() - self.clock, self.user_and_system()
        user, system = user - self.split[0], system - self.split[1]
        # The process's clock counts nanoseconds, and /proc/PID/stat hundredths of a second. The clock gives the sum, and
        # stat the shares of user and system time.
        share = system / (user + system) if user + system > 0 else 0.0
        return Sample(time.monotonic() - self.start if wall is None else wall, used * (1 - share), used * share,
                      memory(self.pid, "VmHWM"))

    def processor(self):
        # The id of CPUCLOCK_SCHED of another process, computed as clock_getcpuclockid(3) does.
        return time.clock_gettime((~self.pid << 3) | 2)

    def user_and_system(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        hertz = os.sysconf("SC_CLK_TCK")
        return int(fields[11]) / hertz, int(fields[12]) / hertz


def memory(pid, field="VmRSS"):
    """Returns the bytes in a line of /proc/PID/status."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def wake_ups(pid, seconds):
    """Returns how often per second the threads of a process went to sleep voluntarily, which equals how often they woke."""
    total, known = 0, switches(pid)
    deadline = time.monotonic() + seconds
    # Sampled often, so that little is missed when threads end.
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = switches(pid)
        total += sum(count - known.get(thread, 0) for thread, count in now.items())
        known = now
    return total / seconds


def switches(pid):
    """Returns the voluntary context switches so far, by thread."""
    found = {}
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for line in (thread / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                found[thread.name] = int(line.split()[1])
    return found
