"""Power cuts at any write. All writes to the disk are recorded, and the disk is rebuilt as it may be at any moment,
with some of the writes that were not flushed and without the others."""
import contextlib
import copy
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import time

from bench import children
from torture.filesystem import KINDS, FileSystem, run
from torture.problem import unique
from torture.stage import Result, Stage

WRITE, FLUSH = 1, 2
HEAD = struct.Struct("=IIQ")
BLOCK = 4096
LIMIT = 10.0
#: An unanswered question takes its default 60 s after it was asked. A later image would end otherwise than the recorded run.
IMAGES_WITHIN = 40.0


class Recorder:
    """`disk` is a file that records every write. `log` is the record."""

    def __init__(self, program, kind, folder):
        self.folder, self.log, self.size = folder / "recorded", folder / "log", KINDS[kind][1] << 20
        self.folder.mkdir()
        self.process = children.start([program, str(self.folder), str(self.size), str(self.log)])
        self.disk = self.folder / "disk"
        try:
            self.comes_up()
            run(*KINDS[kind][0], self.disk)
        except BaseException:
            self.end()
            raise

    def comes_up(self):
        deadline = time.monotonic() + LIMIT
        while not self.disk.exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise OSError("the recording disk does not come up")
            time.sleep(0.01)

    def position(self):
        return os.path.getsize(self.log)

    def end(self):
        subprocess.run(["umount", "-l", str(self.folder)], capture_output=True)
        self.process.terminate()
        self.process.wait()


class Log:
    """The records, and images of the disk between them."""

    def __init__(self, path, size):
        self.data, self.size = path.read_bytes(), size
        #: (kind, offset on the disk, offset and length of the data here, offset of the next record).
        self.records, place = [], 0
        while place < len(self.data):
            kind, length, offset = HEAD.unpack_from(self.data, place)
            place += HEAD.size
            self.records.append((kind, offset, place, length, place + length))
            place += length

    def between(self, start, end):
        """Numbers of the records that end in that part of the log."""
        return [number for number, record in enumerate(self.records) if start < record[4] <= end]

    def image(self, path, number, chance):
        """The disk as it may be if the power failed after record `number`: all flushed blocks, and each of the
        others or not. Some images have all of the others, some have none."""
        flushed = max((at for at, record in enumerate(self.records[:number + 1]) if record[0] == FLUSH), default=-1)
        share = chance.choice([0.0, 0.5, 0.5, 0.5, 0.9, 1.0])
        with open(path, "wb") as file:
            file.truncate(self.size)
            for at, (kind, offset, place, length, _) in enumerate(self.records[:number + 1]):
                if kind != WRITE:
                    continue
                if at < flushed or share == 1.0:
                    file.seek(offset)
                    file.write(self.data[place:place + length])
                    continue
                for start in range(0, length, BLOCK):
                    if chance.random() < share:
                        file.seek(offset + start)
                        file.write(self.data[place + start:place + min(start + BLOCK, length)])


def case(setup, recorder_program, kind, seed, count, plants=()):
    """Records runs and tries `count` images of them: a slow machine needs more than one. Returns a list of results."""
    name, results = f"{kind}:{seed}", []
    chance = random.Random(name)
    while len(results) < count:
        results += recording(setup, recorder_program, kind, name, chance, range(len(results), count), plants)
        if not results[-1].note:
            break  # The run itself failed, and has no images.
    return results


def recording(setup, recorder_program, kind, name, chance, indices, plants):
    """Records one run and tries as many images of it as there is time for, but at least one."""
    with contextlib.ExitStack() as held:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="blocks-", dir=setup.work))
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        recorder = Recorder(recorder_program, kind, folder)
        held.callback(recorder.end)
        disk = FileSystem(kind, folder, image=recorder.disk)
        held.callback(disk.end)
        stage = Stage(setup, disk.path, mark=recorder.position)
        held.callback(stage.end)
        disk.sync()
        start, deadline = recorder.position(), time.monotonic() + IMAGES_WITHIN
        for plant in plants:
            stage.control.plant(plant)
        with stage.judged():
            if not stage.live():
                stage.report(f"it died: {stage.victim.log()}")
        if stage.problems:
            return [Result(f"--only blocks --case {name}:{indices[-1] + 1}", stage.problems)]
        end = recorder.position()
        disk.unmount()
        recorder.end()
        log = Log(recorder.log, recorder.size)
        return list(images(stage, disk, log, log.between(start, end), name, chance, indices, deadline))


def images(stage, disk, log, numbers, name, chance, indices, deadline):
    told = stage.ledger
    disk.image = disk.folder / "image"
    for index in indices:
        begun, number = time.monotonic(), chance.choice(numbers)
        log.image(disk.image, number, chance)
        stage.ledger, stage.problems = copy.copy(told).at(log.records[number][4], exactly=True), []
        with stage.judged():
            disk.mount()
            stage.problems += stage.checker(after_power_loss=True).after_death(stage.ledger)
            stage.recover(boots=True)
            stage.problems += stage.checker(after_power_loss=True).at_the_end(stage.ledger)
        stage.victim.kill()
        disk.unmount()
        yield Result(f"--only blocks --case {name}:{index + 1}", unique(stage.problems), True,
                     f"image {index + 1}, after write {number} of {len(log.records)}", time.monotonic() - begun)
        if time.monotonic() > deadline:
            return


def cases(kinds, seed, count, each):
    return [(kind, seed + number, each) for number in range(count // each) for kind in kinds]
