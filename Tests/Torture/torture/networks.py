"""Networks that fail: each case simulates one failure, and the checker judges what the daemon leaves."""
import random
import time

from torture import netlinks, netplain, netsecure
from torture.answers import foreign, good
from torture.certificates import Certificates
from torture.client import Gone
from torture.netscene import Scene, piece, resource
from torture.problem import Problem, Violation, unique
from torture.stage import Result

GROUPS = {"cut connections": netplain.CUTS, "refusals and uploads": netplain.REFUSALS, "silence": netplain.SILENCES,
          "wrong answers": netplain.WRONGS, "captive portals": netplain.PORTALS, "TLS": netsecure.TLS, "HTTP/2": netsecure.HTTP2,
          "proxies": netsecure.PROXIES, "links, names and black holes": netlinks.CASES}
#: How many cases of a group run in the short form.
SAMPLE = {"cut connections": 5, "wrong answers": 5, "captive portals": 3, "HTTP/2": 3, "proxies": 3, "TLS": 3}


def unseen_splice(setup):
    """Planted: the server mixes two files under one validator. No client can notice it, but the checker must."""
    scene, thing = Scene(setup, [piece()], connections=1), resource()
    origin = scene.origin(good(thing, cut=300_000, end="close"), foreign(thing))
    scene.start()
    scene.add(origin.url)
    scene.await_state("completed")
    scene.judge()
    return scene


def never(setup):
    """Planted: no file ever comes. The wait for the end must notice it."""
    scene = Scene(setup, [piece()])
    origin = scene.origin(lambda reply: reply.answer(500))
    scene.start()
    scene.add(origin.url)
    scene.await_state("completed", seconds=3)
    return scene


CONTROLS = {"a file of two": unseen_splice, "a file that never comes": never}
ALL = {**CONTROLS, **{name: play for group in GROUPS.values() for name, play in group.items()}}


def begin(work):
    netsecure.CERTIFICATES = Certificates(work / "certificates")


def groups(seed, is_short):
    """Name of a group -> names of its cases. In the short form a sample of those that need neither root nor much
    time."""
    if not is_short:
        return {group: list(cases) for group, cases in GROUPS.items() if cases}
    chance = random.Random(f"networks {seed}")
    return {group: chance.sample(sorted(GROUPS[group]), count) for group, count in SAMPLE.items()}


def case(setup, name):
    if netsecure.CERTIFICATES is None:
        begin(setup.work)
    begun, problems = time.monotonic(), []
    made = Scene.made = []
    try:
        ALL[name](setup)
    except Violation as violation:
        problems.append(violation.problem)
    except Gone as gone:
        problems.append(Problem(0, f"it died or does not answer: {gone}"))
    except (OSError, KeyError, IndexError) as error:
        problems.append(Problem(0, f"{type(error).__name__}: {error}"))
    finally:
        for scene in made:
            problems += scene.stage.problems
            scene.end()
    return Result(f"--only networks --case '{name}'", unique(problems), True, "", time.monotonic() - begun)
