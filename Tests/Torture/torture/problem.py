"""What went wrong, and which promise that breaks (README, docs/reliability.md)."""
import dataclasses

#: Number -> the promise in a few words. 0 stands for what all of them need.
PROMISES = {
    0: "the daemon lives, answers and ends; its store is intact",
    1: "acknowledged is durable",
    2: "one version or nothing",
    3: "bounded loss",
    4: "atomic delivery",
    5: "no event is lost",
    6: "nobody else's",
    7: "failure is explained",
    8: "it stays small",
}


@dataclasses.dataclass(frozen=True)
class Problem:
    promise: int
    text: str

    def __str__(self):
        return f"promise {self.promise}: {self.text}" if self.promise else self.text


class Violation(Exception):
    """A broken promise, with its number."""

    def __init__(self, text, promise=0):
        super().__init__(text)
        self.problem = Problem(promise, text)


def unique(problems):
    return list(dict.fromkeys(problems))
