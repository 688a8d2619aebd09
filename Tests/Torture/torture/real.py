"""Real disk failures: full, read-only, frozen, removed. Needs root, except for the cases of the state folder."""
import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import threading
import time

from bench.rpc import Refused
from torture.client import Client, Gone
from torture.content import content
from torture.filesystem import FileSystem, available, run
from torture.scenario import DISK_CODES, KIB, RETRY
from torture.problem import Violation, unique
from torture.stage import Result, Stage

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
WAIT = 30.0
#: The number of small files for the frozen folder. There are more slots than that, and the files keep theirs.
FROZEN = 12
WATCHDOG_MICROSECONDS = 1_000_000


def wait(holds, what):
    deadline = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > deadline:
            raise Violation(f"{what} does not come in {WAIT:.0f} s", 7)
        time.sleep(0.02)


class Errands:
    """A few downloads besides the scenario, added one by one."""

    def __init__(self, stage):
        self.stage, self.client = stage, Client(stage.victim.path)
        self.client.call("session.open", id="firm", configuration={"retry": RETRY})

    def add(self, name, size, folder, **more):
        self.stage.server.sizes[name] = size
        folder.mkdir(parents=True, exist_ok=True)
        spec = {"url": f"{self.stage.server.url}/d/{name}", "connections": 1, "destination": {"path": str(folder / name)}, **more}
        return self.client.call("task.add", session="firm", tasks=[spec])["tasks"][0]["id"]

    def task(self, number):
        return self.client.call("task.get", id=number)

    def await_state(self, number, state, reason=None):
        def holds():
            task = self.task(number)
            if task["state"] == "failed":
                raise Violation(f"task {number} failed: {task['error']}", 7)
            return task["state"] == state and (reason is None or task.get("reason") == reason)
        try:
            wait(holds, f"{state} of task {number}")
        except Violation:
            task = self.task(number)
            raise Violation(f"task {number} does not become {state}: it is {task['state']}, {task.get('error')}", 7) from None

    def complete(self, number, file):
        self.await_state(number, "completed")
        if file.read_bytes() != content(file.name, file.stat().st_size) or file.stat().st_size != self.stage.server.sizes[file.name]:
            raise Violation(f"{file.name} has wrong bytes", 2)


def full_destination(stage, disk):
    """The whole scenario with a full destination disk, which gets space later."""
    ballast = disk.path / "ballast"
    fill(ballast, disk.path, leaving=300 * KIB)
    lift = threading.Timer(2.0, ballast.unlink)
    lift.start()
    finish(stage)
    lift.join()
    must_have_waited(stage)


def room(stage, _):
    """Planted: the disk is never full. The case must notice that it tests nothing."""
    finish(stage)
    must_have_waited(stage)


def must_have_waited(stage):
    if "code=disk.full" not in (stage.victim.folder / "log").read_text(errors="replace"):
        raise Violation("no task said that its disk is full", 7)


def full_state(stage, disk):
    """The same with a full state disk."""
    ballast = disk.path / "ballast"

    def squeeze():
        wait(lambda: stage.victim.control.calls > 900, "the middle of the scenario")
        fill(ballast, disk.path, leaving=0)
        time.sleep(2.0)
        ballast.unlink()
    squeezer = threading.Thread(target=squeeze, daemon=True)
    squeezer.start()
    refused = finish(stage)
    squeezer.join()
    if "disk.full" not in refused:
        raise Violation("nobody was told that the state folder is full", 7)


def fill(ballast, folder, leaving):
    room = os.statvfs(folder)
    with open(ballast, "wb") as file:
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, room.f_bfree * room.f_frsize - leaving)
        if not leaving:
            with contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    file.flush()
        with contextlib.suppress(OSError):
            file.close()


def finish(stage):
    """One daemon runs the scenario, and may say at any time that the disk fails. Returns the codes of these answers."""
    if not stage.victim.is_running:
        stage.victim.start()
    scenario = stage.scenario()
    scenario.is_patient = True
    scenario.run(stage.victim.path)
    if stage.victim.stop() != 0:
        stage.report(f"it ended with {stage.victim.process.returncode}: {stage.victim.log()}")
    stage.problems += stage.checker().at_the_end(stage.ledger)
    return scenario.refused


def read_only(stage, disk):
    """A destination that is read-only before its tasks run: they wait, others continue, and all are done in the end."""
    stage.victim.start()
    errands, folder = Errands(stage), disk.path / "in"
    held = [errands.add(f"held-{size}", size, folder, startPaused=True) for size in (4000, 700_000)]
    run("mount", "-o", "remount,ro", disk.path)
    try:
        errands.client.call("task.resume", ids=held)
        for number in held:
            errands.await_state(number, "waiting", "disk")
        errands.complete(errands.add("other", 300_000, stage.folder / "elsewhere"), stage.folder / "elsewhere" / "other")
    finally:
        run("mount", "-o", "remount,rw", disk.path)
    for number, size in zip(held, (4000, 700_000)):
        errands.complete(number, folder / f"held-{size}")


def read_only_under_writes(stage, disk):
    """The file system finds an error and becomes read-only under an open file. It is then checked and mounted again."""
    stage.victim.start()
    errands, folder = Errands(stage), disk.path / "in"
    stage.server.holds["long"] = 600 * KIB
    number = errands.add("long", 2000 * KIB, folder)
    wait(lambda: stage.server.sent.get("long", 0) >= 600 * KIB, "the first half of long")
    # What the error undoes is not part of this case.
    disk.sync()
    with open(f"/sys/fs/ext4/{os.path.basename(disk.device)}/trigger_fs_error", "w") as trigger:
        trigger.write("1")
    stage.server.holds.clear()
    errands.await_state(number, "waiting", "disk")
    errands.complete(errands.add("other", 300_000, stage.folder / "elsewhere"), stage.folder / "elsewhere" / "other")
    wait(lambda: is_unmounted(disk), "the end of all use of the disk")
    run("e2fsck", "-f", "-p", disk.image, fine=(0, 1, 2))
    disk.mount()
    errands.complete(number, folder / "long")


def is_unmounted(disk):
    with contextlib.suppress(OSError):
        disk.unmount()
    return not disk.is_mounted


def lifted(folder):
    """Removes the quota. Returns false if that needs space itself, which exists only after the written bytes are on
    the disk."""
    return subprocess.run(["btrfs", "qgroup", "limit", "none", str(folder)], capture_output=True).returncode == 0


def quota(stage, disk):
    """The whole scenario with a quota that is too small and is raised later: EDQUOT from the kernel itself."""
    shutil.rmtree(stage.out)
    run("btrfs", "quota", "enable", disk.path)
    run("btrfs", "subvolume", "create", stage.out)
    stage.move(out=stage.out)
    run("btrfs", "qgroup", "limit", str(1500 * KIB), stage.out)
    seen = []

    def lift():
        with contextlib.suppress(Gone, Refused, Violation):
            client = Client(stage.victim.path)
            wait(lambda: seen.extend(task["error"]["code"] for task in client.call("task.list", states=["waiting"])["tasks"]
                                     if task.get("reason") == "disk") or "disk.quota" in seen, "a task that waits for its quota")
            client.close()
        wait(lambda: lifted(stage.out), "the end of the quota")
    lifter = threading.Thread(target=lift, daemon=True)
    stage.victim.start()
    lifter.start()
    finish(stage)
    lifter.join()
    if "disk.quota" not in seen:
        raise Violation(f"no task said that its quota is used up: {sorted(set(seen))}", 7)


def frozen(stage, disk):
    """A destination that is frozen during a transfer: the watchdog is fed, requests are answered, and other transfers
    end."""
    stage.victim.more["WATCHDOG_USEC"] = str(WATCHDOG_MICROSECONDS)
    stage.victim.start()
    errands, folder = Errands(stage), disk.path / "in"
    stage.server.holds["cold"] = 600 * KIB
    cold = errands.add("cold", 2000 * KIB, folder)
    small = [errands.add(f"cold-{number}", 5000, folder, startPaused=True) for number in range(FROZEN)]
    wait(lambda: stage.server.sent.get("cold", 0) >= 600 * KIB, "the first half of cold")
    handle = os.open(disk.path, os.O_RDONLY)
    fcntl.ioctl(handle, FIFREEZE, 0)
    try:
        stage.server.holds.clear()
        errands.client.call("task.resume", ids=small)
        begun = time.monotonic()
        fed = feedings(stage.victim, 3.0)
        if fed < 3:
            raise Violation(f"the watchdog was fed {fed} times in 3 s")
        for number in range(5):
            name, place = f"warm-{number}", stage.folder / "elsewhere"
            errands.complete(errands.add(name, 100_000 * number + 10, place), place / name)
        if errands.task(cold)["state"] == "completed":
            raise Violation("a file was delivered into a frozen file system", 4)
        assert time.monotonic() - begun < WAIT
    finally:
        fcntl.ioctl(handle, FITHAW, 0)
        os.close(handle)
    errands.complete(cold, folder / "cold")
    for number in range(FROZEN):
        errands.complete(small[number], folder / f"cold-{number}")


def feedings(victim, seconds):
    """How often the watchdog is fed in this time."""
    address, count = str(victim.runtime / "notify"), 0
    os.unlink(address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(address)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            notices.settimeout(left)
            with contextlib.suppress(TimeoutError):
                count += b"WATCHDOG=1" in notices.recv(4096)
    return count


def state_moved(stage, _):
    """The state folder is moved away from the running daemon, which refuses requests and ends. Another folder takes
    its place, and then the first one comes back. Everything that was acknowledged exists in the end, and nothing was
    acknowledged that would have been lost."""
    stage.victim.start()
    errands, folder = Errands(stage), stage.folder / "in"
    answered = {"before": errands.add("before", 5000, folder)}
    errands.complete(answered["before"], folder / "before")
    stage.server.holds["long"] = 500 * KIB
    answered["long"] = errands.add("long", 1500 * KIB, folder)
    wait(lambda: stage.server.sent.get("long", 0) >= 500 * KIB, "the first half of long")
    away = stage.state.with_name("away")
    for replaces in (False, True):
        stage.state.rename(away)
        if replaces:
            stage.state.mkdir(mode=0o700)
        must_be_refused(errands, f"lost-{replaces}", folder)
        must_end(stage)
        stage.server.holds.clear()
        if replaces:
            shutil.rmtree(stage.state)
        away.rename(stage.state)
        stage.victim.start()
        errands = Errands(stage)
    answered["after"] = errands.add("after", 5000, folder)
    for name, number in answered.items():
        errands.complete(number, folder / name)
    restart(stage)
    errands = Errands(stage)
    for name, number in answered.items():
        if errands.task(number)["state"] != "completed":
            raise Violation(f"{name} is not completed after the restart", 1)


def state_removed(stage, _):
    """The state folder is deleted: no request is acknowledged any more, the daemon ends, and the next one starts
    empty."""
    stage.victim.start()
    errands, folder = Errands(stage), stage.folder / "in"
    errands.complete(errands.add("before", 5000, folder), folder / "before")
    shutil.rmtree(stage.state)
    must_be_refused(errands, "lost", folder)
    must_end(stage)
    stage.victim.start()
    errands = Errands(stage)
    errands.complete(errands.add("after", 5000, folder), folder / "after")


def must_be_refused(errands, name, folder):
    try:
        number = errands.add(name, 5000, folder)
    except Gone:
        return
    except Refused as refusal:
        if refusal.code not in (*DISK_CODES, "daemon.shutting_down"):
            raise
    else:
        raise Violation(f"task {number} was answered by a daemon whose state folder is gone", 1)


def must_end(stage):
    if not stage.victim.await_death():
        raise Violation("the daemon lives on without its state folder", 1)
    if stage.victim.process.returncode != 1:
        raise Violation(f"it ended with {stage.victim.process.returncode}: {stage.victim.log()}", 1)


def restart(stage):
    if stage.victim.stop() != 0:
        stage.report(f"it ended with {stage.victim.process.returncode}: {stage.victim.log()}")
    stage.victim.start()


#: Name -> (function, megabytes of the file system or None without one, whether it is for the state folder, kind).
CASES = {
    "full-destination": (full_destination, 24, False, "ext4"),
    "full-state": (full_state, 64, True, "ext4"),
    "quota": (quota, 160, False, "btrfs"),
    "read-only": (read_only, 64, False, "ext4"),
    "read-only-under-writes": (read_only_under_writes, 64, False, "ext4"),
    "frozen": (frozen, 64, False, "ext4"),
    "state-moved": (state_moved, None, True, ""),
    "state-removed": (state_removed, None, True, ""),
}
#: What the harness must notice.
CONTROLS = {"a disk with room": (room, 24, False, "ext4")}


def names():
    """The cases that are possible on this machine."""
    return [name for name, (*_, kind) in CASES.items() if not kind or available(kind)]


def case(setup, name):
    happens, megabytes, is_state, kind = {**CASES, **CONTROLS}[name]
    with contextlib.ExitStack() as stack:
        disk = None
        stage = Stage(setup)
        stack.callback(stage.end)
        if megabytes:
            disk = stack.enter_context(FileSystem(
                kind, stage.folder / "small", megabytes=megabytes,
                options="errors=remount-ro" if happens is read_only_under_writes else "defaults"))
            stage.move(state=disk.path / "state") if is_state else stage.move(out=disk.path / "out")
        with stage.judged():
            try:
                happens(stage, disk)
            except Gone as gone:
                stage.report(f"it died or does not answer: {gone}; {stage.victim.log()}")
        if not stage.problems and not stage.victim.is_running and happens not in (full_destination, full_state, quota, room):
            stage.report(f"it ended: {stage.victim.log()}")
        stage.victim.kill()
    return Result(f"--only real --case {name}", unique(stage.problems))
