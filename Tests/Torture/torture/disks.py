"""Disks that fail: calls fail as the harness says, once, for a few calls, or until the fault is lifted."""
import errno
import random
import threading
import time

from torture.client import Gone
from torture.control import (ATTRIBUTE, CREATION, DATABASE, ELSEWHERE, LOG, NAME, READ, STATE, SYNC, TRUNCATION, WRITE)
from torture.problem import unique
from torture.stage import Result, Stage

CHANGE = WRITE | TRUNCATION | CREATION | NAME | ATTRIBUTE
#: Name -> (kinds of calls, places, errors).
FAULTS = {
    "destination": (CHANGE, ELSEWHERE, ["ENOSPC", "EDQUOT", "EIO"]),
    "store": (CHANGE, LOG | DATABASE | STATE, ["ENOSPC", "EDQUOT", "EIO"]),
    "flush": (SYNC, LOG | DATABASE | STATE, ["EIO"]),
    "delivery": (SYNC, ELSEWHERE, ["EIO"]),
    "read": (READ, LOG | DATABASE, ["EIO"]),
}
#: Name -> the most calls that fail, and the seconds after the first failure until the fault is lifted. A daemon whose
#: store fails waits for seconds before it tries again, so many failing calls in a row would take longer than any case.
LENGTHS = {"once": (1, None), "some": (15, 8), "while": (1 << 60, 0.6)}


class Lifter(threading.Thread):
    """Lifts the fault some time after its first failure."""

    def __init__(self, control, seconds):
        super().__init__(daemon=True)
        self.control, self.seconds, self.is_over = control, seconds, threading.Event()

    def run(self):
        while not self.control.failed and not self.is_over.wait(0.005):
            pass
        self.is_over.wait(self.seconds)
        self.control.lift()


def counts(setup):
    """The number of calls in a run at which each fault could happen."""
    found = {}
    for name, (kinds, places, _) in FAULTS.items():
        stage = Stage(setup)
        stage.control.fail(kinds, places, errno.EIO, first=1 << 60)
        stage.live()
        found[name] = stage.control.matched
        stage.end()
    return found


def case(setup, fault, error, length, call, plants=()):
    kinds, places, _ = FAULTS[fault]
    stage = Stage(setup)
    control = stage.control
    for plant in plants:
        control.plant(plant)
    calls, seconds = LENGTHS[length]
    control.fail(kinds, places, getattr(errno, error), call, calls)
    lifter = Lifter(control, seconds) if seconds else None
    if lifter:
        lifter.start()
    with stage.judged():
        begin(stage)
        scenario = stage.scenario()
        scenario.is_patient = True
        try:
            scenario.run(stage.victim.path)
            control.lift()
            if stage.victim.stop() != 0:
                stage.report(f"it ended with {stage.victim.process.returncode}: {stage.victim.log()}")
        except Gone as gone:
            stage.report(f"it died or does not answer: {gone}; {stage.victim.log()}")
        stage.problems += stage.checker().at_the_end(stage.ledger)
    if lifter:
        lifter.is_over.set()
        lifter.join()
    reached = control.failed > 0
    stage.end()
    return Result(f"--only disks --case {fault}:{error}:{length}:{call}", unique(stage.problems), reached)


def begin(stage):
    """Starts the daemon. If it cannot open its store, it says so and ends. It is then started again, as systemd
    would do."""
    for _ in range(40):
        try:
            return stage.victim.start()
        except Gone:
            if stage.victim.process.wait() != 1:
                raise
            time.sleep(0.05)
    raise Gone("it does not start although the fault is over")


def cases(found, seed, count):
    chance = random.Random(f"disks {seed}")
    names = list(FAULTS)
    picked = []
    for number in range(count):
        name = names[number % len(names)]
        picked.append((name, chance.choice(FAULTS[name][2]), chance.choice(list(LENGTHS)), chance.randrange(1, found[name] + 1)))
    return picked
