"""What clients were told, which a daemon may never take back."""
import copy


class Ledger:
    def __init__(self, mark=lambda: 0):
        #: A clock that only grows, for attacks that return to an earlier moment.
        self.mark = mark
        #: fact -> {name of a task: mark of the answer}, and the same for all requests.
        self.facts, self.tried = {}, {}
        #: Name of a task -> id.
        self.ids = {}
        #: sequence -> (type, id of the task, mark of its arrival).
        self.seen = {}
        #: Answered and requested acknowledgements: [(sequence, mark)].
        self.acknowledged, self.acknowledging = [], []
        #: The number after which the durable subscriber began. None while it is unknown.
        self.began = self.began_at = None
        #: How often a refused password had arrived at its server when the failure of the task with it was known.
        self.refused = None
        #: The newest version that was removed from the cache.
        self.unstored = 0

    def asks(self, fact, name):
        self.tried.setdefault(fact, {}).setdefault(name, self.mark())

    def told(self, fact, name):
        self.facts.setdefault(fact, {}).setdefault(name, self.mark())

    def has(self, fact, name):
        return name in self.facts.get(fact, {})

    def has_tried(self, fact, name):
        return name in self.tried.get(fact, {})

    def names(self, fact):
        return list(self.facts.get(fact, {}))

    def see(self, event):
        """Returns what is wrong with an event that arrived, or None."""
        number, kind, task = event["sequence"], event["type"], event.get("task")
        known = self.seen.get(number)
        if known and known[:2] != (kind, task):
            return f"event {number} was {known[:2]} and is {(kind, task)}"
        if not known:
            self.seen[number] = (kind, task, self.mark())
        return None

    @property
    def acked(self):
        return max([number for number, _ in self.acknowledged], default=self.began or 0)

    @property
    def acked_at_most(self):
        return max([number for number, _ in self.acknowledging], default=self.began or 0)

    def ended(self, kinds=("task.completed", "task.cancelled", "task.failed")):
        """The ids of the tasks whose end was announced, with the type of the event."""
        return {task: kind for kind, task, _ in self.seen.values() if kind in kinds}

    def at(self, mark, exactly=False):
        """The ledger at that mark. Later requests are kept, because they may have been on their way, unless the mark
        is `exactly` what existed."""
        past, latest = copy.copy(self), mark if exactly else float("inf")
        past.tried = {fact: {name: at for name, at in names.items() if at <= latest} for fact, names in self.tried.items()}
        past.facts = {fact: {name: at for name, at in names.items() if at <= mark} for fact, names in self.facts.items()}
        past.ids = {name: number for name, number in self.ids.items() if name in past.facts.get("added", {})}
        past.seen = {number: event for number, event in self.seen.items() if event[2] <= mark}
        past.acknowledged = [pair for pair in self.acknowledged if pair[1] <= mark]
        past.acknowledging = [pair for pair in self.acknowledging if pair[1] <= latest]
        # At that moment these values were not known yet.
        past.refused, past.unstored = None, self.unstored if "page" in past.facts.get("unstored", {}) else 0
        past.began = self.began if self.began_at is not None and self.began_at <= mark else None
        return past
