"""Makes the tables of one run, for the terminal and for Benchmarks/RESULTS.md."""
import sys

from bench.measure import median

UNITS = {"cpu": ("processor", "s", 1), "wall": ("wall", "s", 1), "flushed": ("wall, flushed", "s", 1),
         "share": ("meanwhile, of a core", "%", 1),
         "peak": ("peak memory", "MB", 1e-6)}
MET = {True: "yes", False: "**no**", None: ""}


def number(value):
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


class Report:
    def __init__(self, contenders, before):
        #: The names of peers in the order of the columns, and whether there is a column for another build.
        self.peers, self.before = contenders, before
        self.races, self.figures, self.flushes, self.notes = [], [], [], []
        #: Work that dld could not do. If there is any, the run's exit status is 1.
        self.failed = False

    def compare(self, race, figure, against=None, bar=None, dld="dld", label=None, ideal=None):
        """Adds a row of medians. The ratio is the median of the rounds' ratios of `dld` to `against`, or to `ideal`."""
        name, unit, scale = UNITS[figure]
        own = race.values(dld, figure)
        other = [ideal] * len(own) if ideal else race.values(against, figure) if against else []
        ratios = [mine / its for mine, its in zip(own, other) if its and mine is not None]
        ratio = median(ratios) if ratios else None
        own = [value for value in own if value is not None]
        medians = {each: number(median(values) * scale) for each in [*self.peers, f"{dld} before"]
                   if (values := [value for value in race.values(each, figure) if value is not None])}
        self.races.append({
            "work": label or race.work, "measure": f"{name}, {unit}",
            "dld": number(median(own) * scale) if own else "–",
            "before": medians.pop(f"{dld} before", ""), "peers": medians,
            "ratio": f"{number(ratio)} of {'the ideal' if ideal else against}" if ratio is not None else "",
            "bar": str(bar) if bar else "",
            "met": bar.met(ratio) if bar and ratio is not None else False if bar and not own else None})

    def figure(self, work, what, values, unit="", bar=None):
        """Adds a row about dld alone. `values` has the figures by name of the build."""
        own = values["dld"]
        self.figures.append({
            "work": work, "measure": what, "dld": f"{number(own)} {unit}".strip(),
            "before": number(values.get("dld before")), "bar": str(bar) if bar else "",
            "met": bar.met(own) if bar else None})

    def flush(self, **row):
        self.flushes.append(row)

    def failure(self, name, work, reason):
        self.failed = self.failed or name.startswith("dld")
        print(f"{work}: {name} FAILED: {reason}", file=sys.stderr, flush=True)
        self.note(f"{name} failed at “{work}”: {reason}")

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def tables(self):
        """Returns (title, header, rows) of each table that has rows."""
        before = ["before"] if self.before else []
        if self.races:
            peers = [name for name in self.peers if any(name in row["peers"] for row in self.races)]
            yield "Against others", ["work", "measure", "dld", *before, *peers, "ratio", "bar", "met"], [
                [row["work"], row["measure"], row["dld"], *([row["before"]] if before else []),
                 *(row["peers"].get(name, "") for name in peers), row["ratio"], row["bar"], MET[row["met"]]]
                for row in self.races]
        if self.figures:
            yield "By itself", ["work", "measure", "dld", *before, "bar", "met"], [
                [row["work"], row["measure"], row["dld"], *([row["before"]] if before else []), row["bar"],
                 MET[row["met"]]] for row in self.figures]
        if self.flushes:
            header = list(self.flushes[0])
            yield "Flushes", header, [[str(row.get(name, "")) for name in header] for row in self.flushes]

    def text(self):
        parts = []
        for title, header, rows in self.tables():
            widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
            lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
                     for line in [header, *rows]]
            parts.append("\n".join([title, "", *lines]))
        return "\n\n".join([*parts, "\n".join(self.notes)]).replace("**", "")

    def markdown(self, facts, command):
        parts = ["# Results", f"Written by `{command}`; [README.md](README.md) says what each row is. Medians of "
                 "paired rounds in one run: trust the ratios, the seconds are those of one shared machine.",
                 "\n".join(f"- {fact}" for fact in facts)]
        for title, header, rows in self.tables():
            parts += [f"## {title}", "\n".join(
                "| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows])]
        if self.notes:
            parts += ["## Notes", "\n".join(f"- {note}" for note in self.notes)]
        return "\n\n".join(parts) + "\n"
