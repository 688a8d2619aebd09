"""Runs interleaved rounds. In each round every contender does the same job once and is checked. The order rotates."""
import os
import sys

from bench.measure import Failed, Window


def say(text):
    print(text, file=sys.stderr, flush=True)


class Race:
    """Runs one workload. `samples` has a list of figures for each contender, one per round."""

    def __init__(self, context, work, make_job, check, after=None, window=None):
        """`make_job(folder)` returns the job, `check(job)` raises if it was not done, and `after(job, sample)` may add
        figures. `window` is the part of each run, in seconds, for which the share of a core is measured."""
        self.context, self.work, self.make_job, self.check = context, work, make_job, check
        self.after, self.window = after, window
        self.samples, self.left_out = {}, {}

    def run(self, contenders, rounds=None):
        for turn in range(rounds or self.context.rounds):
            shift = turn % len(contenders)
            for contender in contenders[shift:] + contenders[:shift]:
                if contender.name not in self.left_out:
                    self.once(contender, turn)
        return self

    def once(self, contender, turn):
        job = self.make_job(self.context.out())
        if hasattr(contender, "command") and contender.command(job) is None:
            self.left_out[contender.name] = "cannot"
            return
        # Dirty pages of earlier runs must not be written during this one.
        os.sync()
        try:
            watch = Window(*self.window) if self.window else None
            sample = contender.run(job, watch)
            self.check(job)
            if watch:
                sample.more["share"] = watch.share
        except Failed as failure:
            # A contender that fails is named, and left out of the remaining rounds.
            self.left_out[contender.name] = str(failure)
            self.context.report.failure(contender.name, self.work, failure)
            return
        if self.after:
            self.after(job, sample)
        self.samples.setdefault(contender.name, []).append(sample)
        say(f"{self.work}, round {turn + 1}, {contender.name}: {sample.wall:.2f} s, processor {sample.cpu:.2f} s "
            f"({sample.user:.2f} + {sample.system:.2f}), {sample.peak / 1e6:.0f} MB")
        release(job)

    def values(self, name, figure):
        """Returns one figure per round. The share of a run that ended within its window is None."""
        return [sample.figure(figure) for sample in self.samples.get(name, [])]


def release(job):
    """Frees the space of one large file. Many small files stay: see `Context.out`."""
    if len(job.pairs) == 1:
        job.pairs[0][1].unlink()
