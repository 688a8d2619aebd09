"""Seeded worlds: the simulation that Tests/Simulation builds, some hundred worlds at a time."""
import pathlib
import re
import subprocess

from torture.problem import Problem
from torture.stage import Result

EACH = 100
LIMIT = 1200
PLANTS = ["splice", "forget", "unname", "stuck", "misplace", "skip", "overtake", "sick", "greed", "relaunch", "linger", "gush", "count",
          "unpinned", "roam"]
#: Words in the simulator's messages -> promise.
SUBJECTS = [("subscriber", 5), ("acknowledged", 1), ("no version", 2), ("part file", 4), ("nobody wanted", 4), ("its file", 4),
            ("left of", 4), ("beside the sources", 4), ("has not all", 2), ("finished uploads", 2),
            ("acted", 2), ("the source", 2), ("sends a request to", 6), ("event", 5), ("never end", 7), ("failed without", 7)]


def program(dld):
    """The optimized simulator next to the tested daemon, or that of a debug build. None if neither was built.

    It is built separately from the daemon, because a program that contains Swift's run-time library cannot replace
    parts of it.
    """
    checkout = pathlib.Path(__file__).resolve().parents[3]
    places = [pathlib.Path(dld).parent / "simulate", checkout / ".build-simulate" / "release" / "simulate",
              checkout / ".build" / "debug" / "simulate"]
    return next((place for place in places if place.exists()), None)


def promise_of(sentence):
    return next((promise for word, promise in SUBJECTS if word in sentence), 0)


def worlds(simulator, first, count):
    """The result of `count` worlds from seed `first`."""
    done = subprocess.run([str(simulator), "--seeds", str(count), "--first", str(first)], capture_output=True, text=True,
                          timeout=LIMIT)
    name = f"--only simulate --case {first}:{count}"
    ran = re.search(r"^([0-9]+) worlds", done.stdout, re.MULTILINE)
    if done.returncode == 0 and ran:
        return Result(name, [], count=int(ran[1]))
    text = (done.stdout + done.stderr).strip()
    return Result(name, [Problem(promise_of(text), text[-600:])], count=count)


def caught(simulator, plant, first):
    """The simulator's output for this planted defect. Empty if it does not notice the defect."""
    done = subprocess.run([str(simulator), "--seeds", "300", "--first", str(first), "--plant", plant], capture_output=True,
                          text=True, timeout=LIMIT)
    return [done.stdout.strip()] if done.returncode == 0 and "found" in done.stdout else []


def cases(seed, count):
    """(first seed, worlds) of each part."""
    return [(seed + start, min(EACH, count - start)) for start in range(0, count, EACH)]
