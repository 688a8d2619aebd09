"""Compares what a daemon left on the disk with what it told. Reads the database itself, and knows only the daemon's
promises."""
import json
import pathlib
import re
import shutil
import sqlite3
import tempfile

from torture.content import content, digest, file_digest
from torture.problem import Problem
from torture.scenario import SECRET, SUBSCRIBER

#: Ends without a file under the final name. All except the first may leave a part file for a later resumption.
FILELESS = ("cancelled", "failed", "waiting", "queued", "paused")
MIB = 1 << 20
CODES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "errors.md"
STATE_FILES = {"dld.sqlite", "dld.sqlite-wal", "dld.sqlite-shm", "lock", "reserve", "offsets.journal", "dld.sock", "cache"}
PART = re.compile(r"^\..*\.[0-9A-Za-z]+-([0-9]+)(-[0-9]+)?\.dldpart$")


class Checker:
    """`after_power_loss`: files of relaxed sessions may be cut or missing, even if their end was announced. `log` is
    the daemon's standard error."""

    def __init__(self, state, out, server, pieces, after_power_loss=False, log=None, far=None):
        self.state, self.out, self.server = pathlib.Path(state), pathlib.Path(out), server
        #: The folder of files whose destination changes.
        self.far = pathlib.Path(far or out)
        self.log = log
        self.pieces = {piece.name: piece for piece in pieces}
        self.after_power_loss = after_power_loss
        self.problems = []

    def report(self, promise, condition, text):
        if not condition:
            self.problems.append(Problem(promise, text))

    def after_death(self, ledger):
        """Checks the disk after the daemon's death, at any moment."""
        with self.database() as database:
            if database is None:
                self.report(1, not any(ledger.facts.values()) and not ledger.seen, "there is no database, and answers were given")
            else:
                self.check_database(database, ledger)
            self.check_files(ledger, database)
        return self.problems

    def at_the_end(self, ledger):
        """Checks the disk after everything is done and the daemon has ended."""
        self.after_death(ledger)
        with self.database() as database:
            if database is None:
                self.report(1, False, "there is no database")
                return self.problems
            ends = self.check_ends(database, ledger)
        self.after_credentials(ledger)
        unfinished = {str(ledger.ids[name]) for name, end in ends.items() if end in FILELESS[1:]}
        names = {entry.name for entry in self.entries() if not self.is_part_of(entry.name, unfinished)}
        wanted = {name for name, end in ends.items() if self.pieces[name].kind == "download" and end not in FILELESS}
        wanted |= {piece.name for piece in self.pieces.values() if piece.before}
        # A file that was delivered when the daemon died, and whose task was cancelled before the next daemon recorded
        # it, stays complete.
        wanted |= {name for name in names if ends.get(name) == "cancelled" and "completed" in self.pieces[name].end}
        if self.after_power_loss:
            # A relaxed file that was announced may be missing.
            wanted -= {name for name in wanted - names if not self.pieces[name].is_firm}
            wanted |= names & self.second_copies()
        self.report(4, names == wanted, f"destination: {sorted(names ^ wanted)[:8]} too many or too few")
        left = {entry.name for entry in self.state.iterdir()} - STATE_FILES
        self.report(4, not left, f"state folder: {sorted(left)} was left there")
        for name, end in ends.items():
            self.check_body(self.pieces[name], end)
        return self.problems

    def is_part_of(self, file, numbers):
        part = PART.match(file)
        return part is not None and part[1] in numbers

    # The database

    def database(self):
        return Copy(self.state)

    def check_database(self, database, ledger):
        verdict = database.execute("PRAGMA integrity_check").fetchall()
        self.report(0, verdict == [("ok",)], f"integrity_check: {verdict[:3]}")
        self.report(0, not database.execute("PRAGMA foreign_key_check").fetchall(), "foreign keys lead nowhere")
        tasks = {row[0]: row for row in database.execute("SELECT id, state, description FROM task")}
        self.check_tasks(tasks, ledger)
        self.check_events(database, ledger)
        counts = dict(database.execute("SELECT state, sum(count) FROM task_count GROUP BY state HAVING sum(count) > 0"))
        real = dict(database.execute("SELECT state, count(*) FROM task GROUP BY state"))
        self.report(0, counts == real, f"counters say {counts}, rows {real}")
        self.check_reasons(database)
        self.check_secrets(database)

    def check_tasks(self, tasks, ledger):
        by_name = {}
        for number, state, name in tasks.values():
            self.report(1, name not in by_name, f"{name} was added twice")
            by_name[name] = (number, state)
        for name in ledger.names("added"):
            number, state = by_name.get(name, (None, None))
            if number is None:
                self.report(1, ledger.has_tried("removed", name), f"{name} was answered and is not there")
                continue
            self.report(1, number == ledger.ids[name], f"{name} was task {ledger.ids[name]} and is {number}")
            self.report(1, not ledger.has("removed", name), f"{name} was removed and is there")
            if ledger.has("cancelled", name):
                self.report(1, state == "cancelled", f"{name} was cancelled and is {state}")
            if ledger.has("paused", name) and not ledger.has_tried("resumed", name):
                self.report(1, state == "paused", f"{name} was paused and is {state}")
        ended = ledger.ended()
        for number, kind in ended.items():
            if number in tasks:
                self.report(5, kind == f"task.{tasks[number][1]}", f"task {number}: {kind} was announced, it is {tasks[number][1]}")

    def check_events(self, database, ledger):
        events = {row[0]: row[1:] for row in database.execute("SELECT sequence, type, task FROM event ORDER BY sequence")}
        self.report(5, list(events) == list(range(1, len(events) + 1)), f"event numbers have a gap: {len(events)} up to {max(events, default=0)}")
        for number, (kind, task, _) in ledger.seen.items():
            self.report(5, events.get(number) == (kind, task), f"event {number} was {(kind, task)} and is {events.get(number)}")
        for kind in ("task.added", "task.completed", "task.cancelled", "task.removed"):
            tasks = [task for type_, task in events.values() if type_ == kind]
            self.report(5, len(tasks) == len(set(tasks)), f"{kind} stands there twice of one task")
        row = database.execute("SELECT sequence FROM subscriber WHERE name = ?", (SUBSCRIBER,)).fetchone()
        if ledger.acknowledged:
            self.report(5, row is not None and ledger.acked <= row[0] <= ledger.acked_at_most,
                        f"{ledger.acked} was acknowledged, {row} is stored")

    def check_reasons(self, database):
        """A task that does not run gives a documented error code, and the time of its next try."""
        known = set(re.findall(r"^\| `([a-z.0-9_]+)` \|", CODES.read_text(), re.MULTILINE))
        for number, state, reason, due, text in database.execute(
                "SELECT id, state, reason, next_attempt_at, error FROM task WHERE state IN ('failed', 'waiting')"):
            error = json.loads(text) if text else {}
            self.report(7, state == "waiting" or error, f"task {number} failed and does not say why")
            self.report(7, not error or error.get("code") in known, f"task {number} is {state} for {error.get('code')}, which no document knows")
            self.report(7, not error or error.get("message"), f"task {number} is {state} without a sentence")
            self.report(7, state == "failed" or reason, f"task {number} waits and does not say for what")
            self.report(7, reason != "retry" or due, f"task {number} waits for its next attempt and does not say when")

    def check_secrets(self, database):
        """Nobody else can open the stored files, and secrets are only in them."""
        for entry in [self.state, *self.state.glob("dld.sqlite*"), *self.state.glob("offsets.journal")]:
            mode = entry.stat().st_mode & 0o777
            self.report(6, not mode & 0o077, f"{entry.name} is open to others: {mode:o}")
        told = database.execute("SELECT count(*) FROM event WHERE payload LIKE ?", (f"%{SECRET}%",)).fetchone()[0]
        self.report(6, not told, f"{told} events tell a secret")
        if self.log and self.log.exists():
            told = self.log.read_text(errors="replace")
            self.report(6, SECRET not in told, "the log tells a secret")
        for entry in (self.state / "cache").rglob("*"):
            if entry.is_file():
                self.report(6, not entry.stat().st_mode & 0o077, f"{entry.name} of the cache is open to others")
                self.report(6, SECRET.encode() not in entry.read_bytes(), f"{entry.name} of the cache has a secret")

    def check_ends(self, database, ledger):
        """The end of each task, by its name."""
        states = dict(database.execute("SELECT id, state FROM task"))
        ends = {name: states.get(number, "removed") for name, number in ledger.ids.items()}
        for name, state in ends.items():
            wanted = self.pieces[name].end
            self.report(7, state in wanted.split("|"), f"{name} is {state} at the end, not {wanted}")
        self.report(1, set(states) <= set(ledger.ids.values()), f"tasks that nobody added: {set(states) - set(ledger.ids.values())}")
        for table in ("checkpoint", "upload", "upload_ending"):
            rows = database.execute(f"SELECT task FROM {table}").fetchall()
            self.report(4, not [row for row in rows if states.get(row[0]) in ("completed", None)],
                        f"{table} still speaks of tasks that are over: {rows}")
        # After a failure of the disk, the row may be kept for another try, but the file may not.
        moved = {ledger.ids.get(piece.name) for piece in self.pieces.values() if piece.is_moved}
        left = [name for folder, name, task in database.execute("SELECT folder, name, task FROM left_part")
                if task in moved and pathlib.Path(folder, name).exists()]
        self.report(4, not left, f"parts were left behind: {left}")
        return ends

    # Files

    def entries(self):
        """The files in all destination folders."""
        return [entry for folder in {self.out, self.far} if folder.exists() for entry in folder.iterdir()]

    def place(self, piece):
        return self.far if piece.is_moved else self.out

    def check_files(self, ledger, database):
        known = dict(database.execute("SELECT id, state FROM task")) if database else {}
        for entry in self.entries():
            part = PART.match(entry.name)
            if part:
                self.report(4, int(part[1]) in known, f"{entry.name} is nobody's part")
                continue
            piece = self.pieces.get(entry.name)
            if self.after_power_loss and entry.name in self.second_copies():
                continue
            if piece is None or piece.kind != "download" or piece.end == "cancelled":
                self.report(4, False, f"{entry.name} is nobody's file")
                continue
            self.report(4, entry.parent == self.place(piece), f"{entry.name} is where it was to be no more")
            found = file_digest(entry)
            allowed = {piece.sha} | ({digest(piece.before)} if piece.before else set())
            self.report(2, found in allowed or (self.after_power_loss and not piece.is_firm),
                        f"{entry.name} has wrong bytes: {entry.stat().st_size} of {piece.size}")
        ended = ledger.ended()
        for piece in self.pieces.values():
            if piece.kind != "download" or ended.get(ledger.ids.get(piece.name)) != "task.completed":
                continue
            if self.after_power_loss and not piece.is_firm:
                continue
            file = self.place(piece) / piece.name
            self.report(4, file.exists() and file_digest(file) == piece.sha, f"{piece.name} was announced and is not whole")

    def held(self, ledger):
        """Name -> the number of correct bytes in its part file, for files with one connection."""
        found = {}
        for entry in self.entries():
            part = PART.match(entry.name)
            names = [name for name, number in ledger.ids.items() if part and str(number) == part[1]]
            if names and self.pieces[names[0]].more.get("connections") == 1:
                piece = self.pieces[names[0]]
                count = common(entry.read_bytes(), content(piece.name, piece.size))
                # An unfinished copy is next to its original.
                found[piece.name] = max(count, found.get(piece.name, 0))
        return found

    def after_resuming(self, held, asked, loss=MIB):
        """`held`: the result of `held` when the daemon died. `asked`: name -> number of its requests by then."""
        for name, count in held.items():
            firsts = self.server.firsts.get(name, [])[asked.get(name, 0):]
            self.report(3, not firsts or firsts[0] >= count - loss,
                        f"{name}: {count} bytes were there, and it was fetched again from {firsts[:1]}")
        return self.problems

    def after_answers(self, ledger):
        """Cookies and HSTS fields that a server sent are stored by the end of the task."""
        ended = ledger.ended()

        def completed(session):
            return [piece.name for piece in self.pieces.values()
                    if piece.session == session and ended.get(ledger.ids.get(piece.name)) == "task.completed"]
        for session, what, query in [("crumbs", "cookies", "SELECT name FROM cookie"),
                                     ("sworn", "hosts", "SELECT replace(domain, '.dld.localhost', '') FROM hsts_host")]:
            if done := completed(session):
                with self.database() as database:
                    names = {row[0] for row in database.execute(query)}
                self.report(1, names.issuperset(done), f"{done} have ended, and of their {what} only {names} are stored")
        return self.problems

    def after_credentials(self, ledger):
        """Stored credentials exist, and a refusal by a server is remembered once the task has failed."""
        kept = ledger.names("kept")
        if kept:
            with self.database() as database:
                rows = dict(database.execute("SELECT realm, is_refused FROM credential"))
            self.report(1, set(rows).issuperset(kept), f"credentials for {kept} were stored, and {list(rows)} are there")
            failed = ledger.ended(("task.failed",))
            if any(piece.session == "refused" and ledger.ids.get(name) in failed for name, piece in self.pieces.items()):
                self.report(1, rows.get("refused") == 1, "a server has refused a credential, and it is not marked")
        return self.problems

    def second_copies(self):
        """The names of second copies of relaxed files: the power loss left the first copy, maybe cut, and removed
        the record of its end."""
        return {f"{piece.name} (1)" for piece in self.pieces.values() if not piece.is_firm}

    def check_body(self, piece, end):
        if piece.kind != "upload" or end != "completed":
            return
        wanted = content(piece.name, piece.size)
        came = self.server.bodies.get(piece.name, [])
        came = came + [bytes(upload[2]) for upload in list(self.server.uploads.values())
                       if upload[0] == piece.name and len(upload[2]) == upload[1]]
        self.report(2, came and all(body == wanted for body in came), f"{piece.name} did not arrive as it is")


class Copy:
    """The database as the next daemon would find it. The checker reads a copy, so that the original does not change."""

    def __init__(self, state):
        self.state, self.folder, self.database = state, None, None

    def __enter__(self):
        if not (self.state / "dld.sqlite").exists():
            return None
        self.folder = tempfile.mkdtemp(prefix="torture-")
        try:
            for name in ("dld.sqlite", "dld.sqlite-wal"):
                if (self.state / name).exists():
                    shutil.copy(self.state / name, self.folder)
            self.database = sqlite3.connect(f"{self.folder}/dld.sqlite")
            known = self.database.execute("SELECT 1 FROM sqlite_master WHERE name = 'subscriber'").fetchone()
        except BaseException:
            # Python calls `__exit__` only after this has returned.
            self.__exit__()
            raise
        return self.database if known else None

    def __exit__(self, *_):
        if self.database:
            self.database.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def common(one, other, step=1 << 16):
    """The number of equal bytes at the start of both, in whole steps or all of them."""
    at = 0
    while at < min(len(one), len(other)) and one[at:at + step] == other[at:at + len(one[at:at + step])]:
        at += step
    return min(at, len(one), len(other))
