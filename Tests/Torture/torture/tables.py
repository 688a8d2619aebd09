"""The tables at the end of a run: one by attack, and one by promise and attack."""
from torture.problem import PROMISES

#: Attack -> the promises that its checks can find broken.
JUDGES = {
    "simulate": {0, 1, 2, 4, 5, 7},
    "kill": {0, 1, 2, 3, 4, 5, 6, 7},
    "storm": {0, 1, 2, 4, 5, 6, 7},
    "power": {0, 1, 2, 4, 5, 6, 7},
    "blocks": {0, 1, 2, 4, 5, 6, 7},
    "loss": {0, 1, 2, 3, 4, 5, 6, 7},
    "disks": {0, 1, 2, 4, 5, 6, 7},
    "real": {0, 1, 2, 4, 6, 7},
    "networks": {0, 1, 2, 3, 4, 5, 6, 7},
    "soak": {0, 2, 8},
    "sanitizer": {0},
}
#: Promise -> the tests outside these attacks that try to break it.
ELSEWHERE = {
    6: "three users against one daemon: Tests/EndToEnd/UsersTests",
    8: "a million tasks, a thousand transfers, processor by gigabyte: Benchmarks",
}


class Tally:
    """The cases of one kind of one attack. A case breaks a promise once, however many problems it shows."""

    def __init__(self, attack, title, is_planted=False):
        self.attack, self.title, self.is_planted = attack, title, is_planted
        self.cases = self.reached = self.failures = 0
        self.seconds, self.broken = 0.0, {}

    def add(self, result):
        self.cases += result.count
        self.reached += result.count if result.reached else 0
        self.failures += bool(result.problems)
        for promise in {problem.promise for problem in result.problems}:
            self.broken[promise] = self.broken.get(promise, 0) + 1


def by_attack(tallies):
    yield "| attack | cases | attacked | failures | seconds |"
    yield "|---|---|---|---|---|"
    for tally in tallies:
        yield f"| {tally.title} | {tally.cases:,} | {tally.reached:,} | {tally.failures} | {tally.seconds:.0f} |"


def by_promise(tallies):
    """Each cell: the number of cases that reached the attack and were judged by this promise, and how many of them
    broke it."""
    real = [tally for tally in tallies if not tally.is_planted]
    attacks = list(dict.fromkeys(tally.attack for tally in real))
    yield f"| promise | {' | '.join(attacks)} | all |"
    yield "|---" * (len(attacks) + 2) + "|"
    for promise, name in PROMISES.items():
        cells, total, broken = [], 0, 0
        for attack in attacks:
            mine = [tally for tally in real if tally.attack == attack]
            cases = sum(tally.reached for tally in mine) if promise in JUDGES[attack] else 0
            bad = sum(tally.broken.get(promise, 0) for tally in mine)
            total, broken = total + cases, broken + bad
            cells.append(f"{cases:,} / {bad}" if cases or bad else "–")
        label = f"{promise} {name}" if promise else name
        yield f"| {label} | {' | '.join(cells)} | {total:,} / **{broken}** |"
    for promise, where in ELSEWHERE.items():
        yield f"Promise {promise} also: {where}."
