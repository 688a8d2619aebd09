"""Damages the files of a good run in every way that the checker claims to notice. It must notice each of them."""
import shutil
import sqlite3

from torture.checker import Checker
from torture.scenario import SECRET

SQL = {
    "a gap in the event numbers": "DELETE FROM event WHERE sequence = (SELECT max(sequence) / 2 FROM event)",
    "an event that is another": "UPDATE event SET type = 'task.queued' WHERE type = 'task.completed'",
    "an end that came twice": "INSERT INTO event (sequence, time, type, owner, session, task) "
                              "SELECT (SELECT max(sequence) + 1 FROM event), time, type, owner, session, task "
                              "FROM event WHERE type = 'task.completed' LIMIT 1",
    "an acknowledgement taken back": "UPDATE subscriber SET sequence = sequence - 1",
    "a task that is gone": "DELETE FROM task WHERE description = 'middle'",
    "a task in another state": "UPDATE task SET state = 'completed' WHERE description = 'never'",
    "a reason that is none": "UPDATE task SET state = 'failed', error = '{}' WHERE description = 'never'",
    "a code that no document knows": "UPDATE task SET state = 'failed', error = '{\"code\": \"oops\", \"message\": \"Oops.\"}' "
                                     "WHERE description = 'never'",
    "a secret that was told": f"UPDATE event SET payload = '{{\"url\": \"http://a:{SECRET}@b/\"}}' WHERE sequence = 3",
    "a counter that is wrong": "UPDATE task_count SET count = count + 1",
    "a credential that is gone": "DELETE FROM credential WHERE realm = 'vault'",
    "a refusal that is forgotten": "UPDATE credential SET is_refused = 0",
}


def flipped(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def emptied(file):
    data = file.read_bytes()
    file.write_bytes(data[:len(data) // 4] + bytes(len(data) // 2) + data[len(data) * 3 // 4:])


FILES = {
    "a wrong byte": lambda out, state: flipped(out / "big"),
    "a missing end": lambda out, state: (out / "parts").write_bytes((out / "parts").read_bytes()[:-1]),
    "a file twice": lambda out, state: shutil.copy(out / "tiny", out / "tiny (1)"),
    "a part without a task": lambda out, state: (out / ".tiny.0123456789abcdef-999.dldpart").touch(),
    "a file that is gone": lambda out, state: (out / "middle").unlink(),
    "something in the state folder": lambda out, state: (state / "spool").touch(),
    "a database that others may read": lambda out, state: (state / "dld.sqlite").chmod(0o644),
    "half of the database": lambda out, state: [emptied(file) for file in state.glob("dld.sqlite*")],
}

#: Damage -> the promise that it breaks. None means any.
PROMISES = {
    "a gap in the event numbers": 5,
    "an event that is another": 5,
    "an end that came twice": 5,
    "an acknowledgement taken back": 5,
    "a task that is gone": 1,
    "a task in another state": 1,
    "a reason that is none": 7,
    "a code that no document knows": 7,
    "a secret that was told": 6,
    "a counter that is wrong": 0,
    "a credential that is gone": 1,
    "a refusal that is forgotten": 1,
    "a wrong byte": 2,
    "a missing end": 2,
    "a file twice": 4,
    "a part without a task": 4,
    "a file that is gone": 4,
    "something in the state folder": 4,
    "a database that others may read": 6,
    "half of the database": None,
}


def unseen(stage):
    """The names of damages that the checker does not notice for what they are. The run of `stage` was good."""
    names = []
    for name, damage in {**SQL, **FILES}.items():
        copy = stage.folder / "damaged"
        shutil.copytree(stage.out, copy / "out")
        shutil.copytree(stage.far, copy / "far")
        # A killed daemon leaves a socket, which cannot be copied.
        shutil.copytree(stage.state, copy / "state", ignore=shutil.ignore_patterns("*.sock"))
        if isinstance(damage, str):
            with sqlite3.connect(copy / "state" / "dld.sqlite") as database:
                database.execute(damage)
            database.close()
        else:
            damage(copy / "out", copy / "state")
        broken = found(copy, stage)
        if not broken or PROMISES[name] not in broken | {None}:
            names.append(name)
        shutil.rmtree(copy)
    return names


def found(copy, stage):
    """The promises that the checker finds broken."""
    try:
        problems = Checker(copy / "state", copy / "out", stage.server, stage.pieces, far=copy / "far").at_the_end(stage.ledger)
    except sqlite3.DatabaseError:
        return {0}
    return {problem.promise for problem in problems}
