"""How many bytes are fetched again: the daemon or the machine dies during a steady download, which then continues."""
import os
import pathlib
import random
import signal
import tempfile
import threading
import time

from torture.client import Client
from torture.filesystem import FileSystem
from torture.problem import Problem, unique
from torture.scenario import KIB, RETRY, Piece
from torture.stage import Result, Stage

NAMES = {"kill": "kill -9", "ext4": "a power cut on ext4", "xfs": "a power cut on xfs"}
NAME = "steady"
SIZE = 40 << 20
#: Seconds between two pieces of 64 KiB, which gives about 4 MiB per second.
PAUSE = 0.015
#: What may be lost: the bytes of the running write, and the bytes of the last seconds if the disk flushes within
#: `PROMPT` seconds.
IN_FLIGHT, SECONDS, PROMPT = 1 << 20, 2.0, 0.5
#: Bytes that may be on their way between the counts of the server and the daemon.
UNDER_WAY = 512 * KIB


class Flushes(threading.Thread):
    """Measures the longest flush of a small file on the tested disk, because the promise is only for fast disks."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.path, self.longest, self.is_over = folder / "flushed", 0.0, threading.Event()

    def run(self):
        with open(self.path, "wb") as file:
            while not self.is_over.wait(0.1):
                begun = time.monotonic()
                try:
                    file.write(b"x" * 100)
                    file.flush()
                    os.fdatasync(file.fileno())
                except OSError:
                    return
                self.longest = max(self.longest, time.monotonic() - begun)

    def end(self):
        """The file is closed when this returns. A disk in use cannot be removed."""
        self.is_over.set()
        if self.is_alive():
            self.join()


def case(setup, how, seed, number, forgets=False):
    """`how`: see NAMES. `forgets` plants a defect: the daemon's offsets are lost too."""
    chance = random.Random(f"loss {how} {seed} {number}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="loss-", dir=setup.work))
    disk = FileSystem(how, folder) if how != "kill" else None
    piece = Piece(NAME, SIZE, session=chance.choice(["firm", "loose"]), more={"connections": 1})
    stage = Stage(setup, disk.path if disk else None, pieces=[piece], mark=time.monotonic)
    flushes = Flushes(disk.path if disk else folder)
    note, prompt = "", True
    try:
        with stage.judged():
            stage.server.pause = PAUSE
            begin(stage, piece)
            flushes.start()
            time.sleep(chance.uniform(2.5, 5.0))
            flushes.end()
            held, note = die(stage, disk, forgets)
            prompt = flushes.longest < PROMPT
            asked = len(stage.server.firsts[NAME])
            go_on(stage, disk is not None)
            firsts = stage.server.firsts[NAME][asked:]
            first = firsts[0] if firsts else SIZE
            note += f"; asked again from {first}"
            if first < held and prompt:
                stage.report(f"at least {held} bytes had to be kept, and it was fetched again from {first}", 3)
            stage.problems += stage.checker(after_power_loss=disk is not None).at_the_end(stage.ledger)
    finally:
        flushes.end()
        stage.end()
        if disk:
            disk.end()
    return Result(f"--only loss --case {how}:{seed}:{number}", unique(stage.problems), prompt, note)


def begin(stage, piece):
    stage.victim.start()
    client = Client(stage.victim.path)
    for session, durability in (("firm", "full"), ("loose", "relaxed")):
        client.call("session.open", id=session, configuration={"durability": durability, "retry": RETRY})
    stage.ledger.asks("added", NAME)
    stage.ledger.ids[NAME] = client.call("task.add", session=piece.session, tasks=[stage.scenario().spec(piece)])["tasks"][0]["id"]
    stage.ledger.told("added", NAME)
    client.close()


def die(stage, disk, forgets):
    """(bytes that must not be fetched again, what happened)."""
    arrived = arrivals(stage, 0 if disk is None else SECONDS)
    if disk:
        disk.cut()
    stage.victim.process.send_signal(signal.SIGKILL)
    stage.victim.process.wait()
    if disk is None:
        held = stage.checker().held(stage.ledger).get(NAME, 0)
        if forgets:
            (stage.state / "offsets.journal").unlink()
        return held - IN_FLIGHT, f"{held} bytes in the file"
    disk.unmount()
    disk.mount()
    return arrived - UNDER_WAY, f"{arrived} bytes {SECONDS:.0f} s before the cut"


def arrivals(stage, seconds):
    """The bytes that the server had sent `seconds` ago."""
    moment = time.monotonic() - seconds
    return max((at for when, at in list(stage.server.progress) if when <= moment), default=0)


def go_on(stage, boots):
    """Continues with another daemon to the end, at full speed."""
    stage.server.pause = 0
    if boots:
        boot = stage.new_boot()
        stage.control.disarm()
        stage.victim.start(attacked=False, boot=boot)
    else:
        stage.victim.start(attacked=False)
    watcher = Client(stage.victim.path)
    watcher.call("events.subscribe", after="start")
    deadline = time.monotonic() + 60
    while stage.ledger.ids[NAME] not in stage.ledger.ended() and time.monotonic() < deadline:
        for event in watcher.drain(0.1):
            if event.get("sequence") is not None and (wrong := stage.ledger.see(event)):
                stage.problems.append(Problem(5, wrong))
    watcher.close()
    stage.victim.stop()


def cases(how, seed, count):
    return [(how, seed, number) for number in range(count)]
