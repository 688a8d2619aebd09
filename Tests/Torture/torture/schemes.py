"""Helpers for two schemes that dld does not know. `many` serves all requests in one process. `one` serves one
request per process and writes the part file itself. Both fetch from the scenario's server, and die once in the
middle of a frail task."""
import os
import pathlib
import signal
import sys
import time

from torture.problem import Problem

SCHEMES = ("many", "one")
#: Seconds in which processes must end after their daemon.
LIMIT = 5.0
#: Planted: a file in the home folder that makes a helper outlive its daemon.
STAYS = "stays"

PROGRAM = f"""#!{sys.executable} -SE
import base64, json, os, signal, socket, sys, threading, time

IS_MANY = os.path.basename(sys.argv[0]) == "many"
HOME = os.environ["HOME"]
OUTPUT, RUNNING = threading.Lock(), {{}}


def say(kind, **members):
    with OUTPUT:
        print(json.dumps({{"type": kind, **members}}), flush=True)


def die_once(name):
    try:
        os.close(os.open(f"{{HOME}}/{{name}}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def content(body):
    if "file" in body:
        with open(body["file"], "rb") as file:
            return file.read()
    return base64.b64decode(body.get("base64", ""))


def load(order):
    number, offset = order["id"], order["offset"]
    address, _, path = order["url"].partition("://")[2].partition("/")
    host, _, port = address.partition(":")
    name, data = path.rpartition("/")[2], content(order.get("body") or {{}})
    lines = [f"{{order['method']}} /{{path}} HTTP/1.1", f"Host: {{address}}", f"Content-Length: {{len(data)}}", "Connection: close"]
    if offset:
        lines += [f"Range: bytes={{offset}}-", f"If-Range: {{order['validator']}}"]
    try:
        with socket.create_connection((host, int(port))) as connection:
            RUNNING[number] = connection
            connection.sendall("\\r\\n".join([*lines, "", ""]).encode() + data)
            answer(number, name, connection.makefile("rb"))
    except OSError as error:
        if number in RUNNING:
            say("failed", id=number, code="network.lost", message=str(error), retryable=True)
    finally:
        RUNNING.pop(number, None)


def answer(number, name, reader):
    status, fields = int(reader.readline().split()[1]), {{}}
    for line in iter(reader.readline, b"\\r\\n"):
        field, _, value = line.decode().strip().partition(": ")
        fields[field.lower()] = value
    first, _, whole = fields.get("content-range", f"bytes 0-/{{fields['content-length']}}")[6:].partition("/")
    at, length = int(first.partition("-")[0]), int(whole)
    say("response", id=number, offset=at, status=200 if status == 206 else status, length=length, validator=fields.get("etag"))
    if not IS_MANY:
        os.ftruncate(3, at)
        os.lseek(3, at, os.SEEK_SET)
    while at < length:
        piece = reader.read1(32 << 10)
        if not piece:
            if number in RUNNING:
                say("failed", id=number, code="network.lost", message="cut off", retryable=True)
            return
        at += len(piece)
        if IS_MANY:
            say("data", id=number, base64=base64.b64encode(piece).decode())
        else:
            while piece:
                piece = piece[os.write(3, piece):]
            say("wrote", id=number, offset=at)
        if name.startswith("frail") and at > length // 2:
            die_once(name)
    say("finished", id=number)


if os.path.exists(f"{{HOME}}/{STAYS}"):
    import ctypes
    ctypes.CDLL(None).prctl(1, 0)
say("hello", version=1, resume=True, upload=True, many=IS_MANY)
for line in sys.stdin:
    order = json.loads(line)
    if order["type"] == "load" and IS_MANY:
        threading.Thread(target=load, args=(order,), daemon=True).start()
    elif order["type"] == "load":
        load(order)
    elif order["type"] == "cancel" and order["id"] in RUNNING:
        RUNNING.pop(order["id"]).shutdown(socket.SHUT_RDWR)
if os.path.exists(f"{{HOME}}/{STAYS}"):
    time.sleep(60)
"""


def install(home):
    """Installs the helpers below the user's home folder, as a user would."""
    folder = home / ".local" / "lib" / "dld" / "schemes"
    folder.mkdir(parents=True)
    for scheme in SCHEMES:
        (folder / scheme).write_text(PROGRAM)
        (folder / scheme).chmod(0o700)


def orphans(folder):
    """One problem for each process of a case that outlives its daemon. The processes are ended."""
    found, deadline = processes(str(folder)), time.monotonic() + LIMIT
    while (found := {number: command for number, command in found.items() if is_alive(number)}) and time.monotonic() < deadline:
        time.sleep(0.01)
    for number in found:
        os.kill(number, signal.SIGKILL)
    return [Problem(0, f"processes outlive their daemon: {list(found.values())}")] if found else []


def processes(word):
    """Number -> command of each process that has `word` in its arguments."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if word in command:
            found[int(entry.name)] = command
    return found


def is_alive(number):
    """A zombie counts as ended, because it has no open files any more."""
    try:
        return pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def after_resuming(server):
    """The problems of a run in which no daemon died: when a helper dies, no byte that it had reported is lost."""
    firsts = {name: server.firsts.get(name, []) for name in ("frail-many", "frail-one")}
    wrong = {name: all for name, all in firsts.items() if len(all) != 2 or all[1] <= server.sizes[name] // 2}
    return [Problem(3, f"helpers died in the middle, and their files were asked for from {wrong}")] if wrong else []
