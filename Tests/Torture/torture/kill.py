"""Kills the daemon at every call that changes a file or makes a change durable: before the call, in the middle of a
write, after it."""
import random

from torture import schemes
from torture.problem import unique
from torture.stage import Result, Stage

HOWS = ["before", "within", "after"]


def clean(setup):
    """(number of calls in a run without attack, their descriptions, problems)."""
    stage = Stage(setup)
    with stage.judged():
        if not stage.live():
            stage.report(f"it died: {stage.victim.log()}")
        stage.problems += schemes.after_resuming(stage.server) + schemes.orphans(stage.folder)
        stage.problems += stage.checker().at_the_end(stage.ledger)
    notes = [stage.control.note(number) for number in range(1, stage.control.calls + 1)]
    stage.end()
    return len(notes), notes, stage.problems


def case(setup, call, how, plants=()):
    stage = Stage(setup)
    stage.control.kill_at(call, how)
    if "orphan" in plants:
        (stage.folder / "home" / schemes.STAYS).touch()
    for plant in set(plants) - {"lost-journal", "orphan"}:
        stage.control.plant(plant, early="big")
    note, reached = "", False
    with stage.judged():
        survived = stage.live()
        reached, note = stage.control.is_dead, stage.control.note(call)
        if not survived:
            if not reached:
                stage.report(f"it died by itself, with {stage.victim.process.returncode}: {stage.victim.log()}")
            stage.problems += schemes.orphans(stage.folder)
            stage.problems += stage.checker().after_death(stage.ledger)
            stage.problems += stage.checker().after_answers(stage.ledger)
            stage.problems += stage.checker().after_credentials(stage.ledger)
            held, asked = stage.checker().held(stage.ledger), {name: len(all) for name, all in stage.server.firsts.items()}
            if "lost-journal" in plants:
                (stage.state / "offsets.journal").unlink(missing_ok=True)
            stage.recover()
            stage.problems += stage.checker().after_resuming(held, asked) + schemes.orphans(stage.folder)
        stage.problems += stage.checker().at_the_end(stage.ledger)
    stage.end()
    return Result(f"--only kill --case {call}:{how}", unique(stage.problems), reached, note)


def cases(notes, seed, calls=None, limit=None):
    """(call, how) of every case, in an order that follows from the seed. `within` occurs only for writes that can be
    cut."""
    # Runs differ a little in their number of calls, so a few more are tried than the clean run had.
    first, last = calls or (1, len(notes) + 20)
    every = [(call, how) for call in range(first, last + 1) for how in HOWS
             if how != "within" or (call <= len(notes) and "write" in notes[call - 1])]
    random.Random(seed).shuffle(every)
    return every[:limit]


#: Planted defect -> the calls to die at, as shares of a clean run's calls. Each defect must be noticed at one of them
#: at least.
CONTROLS = {
    "lost-log": [0.5, 0.7, 0.9, 0.6, 0.8],
    "early-name": [0.4, 0.5, 0.6, 0.45, 0.55, 0.65],
    "no-unlink": [0.9, 0.95, 0.85, 0.97, 0.8, 0.92, 0.87],
    "lost-write": [0.8, 0.9, 0.7, 0.85, 0.95],
    "orphan": [0.5, 0.6, 0.4, 0.7],
    "lost-journal": [0.45, 0.5, 0.55, 0.4, 0.6, 0.35, 0.65],
}
