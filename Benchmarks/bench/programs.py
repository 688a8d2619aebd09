"""Checks started programs against scripts/programs.txt. A program without a row there would be missing on a fresh machine."""
import os
import pathlib
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
TABLE = CHECKOUT / "scripts" / "programs.txt"


def known(use):
    """Returns the programs that are installed for this use."""
    rows = [line.split() for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return {row[0] for row in rows if {"any", "build", use} & set(row[2].split(","))}


def hold_to_table(use):
    """Makes it an error to start a system program that is not in the table."""
    programs = known(use)

    def audit(event, arguments):
        if event not in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
            return
        path = os.fsdecode(arguments[0])
        if "/" in path and not path.startswith(("/bin/", "/sbin/", "/usr/")):
            return
        if os.path.basename(path) not in programs:
            raise RuntimeError(f"{path} is started: {TABLE.name} has no row for it with the use {use}")

    sys.addaudithook(audit)
