"""Power cuts: the file system of state and destination is cut off at a random call, and mounted again."""
import pathlib
import random
import signal
import tempfile
import threading
import time

from bench.rpc import Refused
from torture import schemes
from torture.client import Gone
from torture.filesystem import FileSystem
from torture.problem import Violation, unique
from torture.stage import Result, Stage


class Cutter(threading.Thread):
    """Cuts the power after the daemon has made `call` calls or has ended. The daemon dies a little later."""

    def __init__(self, disk, victim, call):
        super().__init__(daemon=True)
        self.disk, self.victim, self.control, self.call = disk, victim, victim.control, call
        self.is_over, self.was_cut, self.began = threading.Event(), False, None

    def run(self):
        while self.control.calls < self.call and not self.is_over.is_set():
            time.sleep(0.0003)
        if not self.is_over.is_set():
            self.began = time.monotonic()
            self.disk.cut()
            self.was_cut = True
            time.sleep(0.05)
            self.victim.process.send_signal(signal.SIGKILL)


def case(setup, kind, call, plants=()):
    name = f"--only power --case {kind}:{call}"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="power-", dir=setup.work))
    with FileSystem(kind, folder) as disk:
        stage = Stage(setup, disk.path, mark=time.monotonic)
        disk.sync()
        for plant in plants:
            stage.control.plant(plant)
        cutter = Cutter(disk, stage.victim, call)
        note = ""
        with stage.judged():
            cutter.start()
            try:
                stage.victim.start()
                scenario = stage.scenario()
                scenario.interrupted = lambda: cutter.was_cut
                scenario.run(stage.victim.path)
            except (Gone, Refused):
                pass
            except Violation as violation:
                # What the daemon reports of a missing disk is tested by another attack.
                note = str(violation)
            finally:
                cutter.is_over.set()
                cutter.join()
            if note and not cutter.was_cut:
                stage.report(note)
            stage.victim.kill()
            note = stage.control.note(call)
            if cutter.was_cut:
                # Nobody gets an answer from a machine without power, so later answers do not count. (A flush that is
                # running when the file system is shut down may even be reported as successful.)
                stage.ledger = stage.ledger.at(cutter.began)
            stage.problems += schemes.orphans(stage.folder)
            disk.unmount()
            disk.mount()
            stage.problems += stage.checker(after_power_loss=True).after_death(stage.ledger)
            stage.recover(boots=True)
            stage.problems += stage.checker(after_power_loss=True).at_the_end(stage.ledger)
        stage.end()
    return Result(name, unique(stage.problems), cutter.was_cut, note)


def cases(kinds, calls, seed, count):
    chance = random.Random(f"power {seed}")
    return [(kind, chance.randrange(1, calls)) for _ in range(count) for kind in kinds]
