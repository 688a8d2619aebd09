"""Holds what is started to scripts/programs.txt: a program without a row there would be missing on a fresh machine."""
import os
import pathlib
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
TABLE = CHECKOUT / "scripts" / "programs.txt"


def known(use):
    """The programs that whoever prepares for this use has installed."""
    rows = [line.split() for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return {row[0] for row in rows if {"any", "build", use} & set(row[2].split(","))}


def hold_to_table(use):
    """From now on, starting a program of the system that is not in the table is an error."""
    programs = known(use)

    def audit(event, arguments):
        if event not in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
            return
        path = os.fsdecode(arguments[0])
        if "/" in path and not path.startswith(("/bin/", "/sbin/", "/usr/")):
            return
        if os.path.basename(path) not in programs:
            raise RuntimeError(f"{path} is started: {TABLE.name} needs a row of it with {use} among its uses")

    sys.addaudithook(audit)
