"""Makes the requests of the table `members` for one user, then repeats each with a member that names a file of
another user.

Usage: members.py TABLE FOLDER NAME FILE… -- FOLDER…

The files and folders are those that the user who runs this may not use. A valid request is checked for its bytes, and
every other one must be refused with permission.denied. Prints every other result and the number of attempts. The exit
status is 1 if there was one.
"""

import copy
import json
import os
import socket
import sys
import time

TABLE, FOLDER, NAME = sys.argv[1:4]
FILES, FOLDERS = sys.argv[4 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
CONTENT = open("/tmp/sink/file", "rb").read()
# The values of a member, if they are not the path itself.
TRESPASSES = {
    "url": ["file://" + path for path in FILES], "destination.path": [path + "/x" for path in FOLDERS],
    "destination.directory": FOLDERS, "directory": FOLDERS,
    "directories.0.directory": FOLDERS,
}


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["data"]["code"]
        self.message = error["message"]


class Daemon:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect("/run/dld/dld.sock")
        self.lines = self.socket.makefile("rb")

    def call(self, method, **parameters):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.lines.readline())
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def add(self, spec, **more):
        return self.call("task.add", tasks=[spec], **more)["tasks"][0]["id"]

    def ended(self, task):
        """The task after it has ended, or as it is after a minute."""
        deadline = time.monotonic() + 60
        while True:
            view = self.call("task.get", id=task)
            if view["state"] in ("completed", "failed", "cancelled") or time.monotonic() > deadline:
                return view
            time.sleep(0.02)


    def asked(self, task):
        """The question of the task, or None if it asks nothing for a minute."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for question in self.call("decision.list", tasks=[task])["decisions"]:
                return question["decision"]
            time.sleep(0.02)


def rows():
    with open(TABLE) as table:
        for number, line in enumerate(line for line in table if line.strip() and not line.startswith("#")):
            member, method, text = line.split(None, 2)
            yield number, member, method, text.replace("FOLDER", FOLDER).replace("NAME", NAME)


def holder(parameters, method, member):
    """The object with the member, and the member's name in it."""
    value = {"task.add": lambda: parameters["tasks"][0], "task.update": lambda: parameters,
             "decision.answer": lambda: parameters,
             "session.open": lambda: parameters["configuration"]}[method]()
    *path, last = member.split(".")
    for name in path:
        value = value[int(name) if name.isdigit() else name]
    return value, last


def run(daemon, number, method, text, change=lambda parameters: None):
    """Makes the request and runs its task. Returns the task after it has ended."""
    parameters = json.loads(text)
    change(parameters)
    if method == "task.add":
        return daemon.ended(daemon.add(parameters["tasks"][0]))
    if method == "session.open":
        daemon.call(method, id="%s-%d" % (NAME, number), **parameters)
        task = daemon.add({"url": "https://localhost:8771/session.bin"}, session="%s-%d" % (NAME, number))
        return daemon.ended(task)
    if method == "decision.answer":
        session = "%s-%d" % (NAME, number)
        daemon.call("session.open", id=session, configuration={
            "asks": ["challenge"], "directory": FOLDER + "/asked-%d" % number, "caFile": FOLDER + "/ca.pem"})
        task = daemon.add({"url": "https://localhost:8771/asked.bin"}, session=session)
        daemon.call(method, **{**parameters, "id": daemon.asked(task)})
        return daemon.ended(task)
    task = daemon.add({
        "url": "https://localhost:8771/login/x", "destination": {"path": FOLDER + "/paused-%d" % number},
        "clientCertificate": {"certificate": FOLDER + "/both.pem"}, "startPaused": True,
    })
    try:
        daemon.call(method, **{**parameters, "id": task})
        daemon.call("task.resume", ids=[task])
        return daemon.ended(task)
    finally:
        daemon.call("task.cancel", ids=[task])


def problem_of_request(daemon, number, member, method, text):
    try:
        task = run(daemon, number, method, text)
    except Refused as refusal:
        return "%s: %s" % (refusal.code, refusal)
    if task["state"] != "completed":
        return "%s: %s" % (task["state"], task.get("error"))
    if "file" in task:
        with open(task["file"], "rb") as file:
            return None if file.read() == CONTENT else "it arrived as something else"
    place, last = holder(json.loads(text), method, member)
    with open(place[last], "rb") as sent, open("/tmp/sink/kept/" + os.path.basename(task["url"]), "rb") as kept:
        return None if sent.read() == kept.read() else "it was sent as something else"


def problem_of_trespass(daemon, number, member, method, text, path):
    def change(parameters):
        place, last = holder(parameters, method, member)
        place[last] = path

    try:
        task = run(daemon, number, method, text, change)
    except Refused as refusal:
        return None if refusal.code == "permission.denied" else "%s: %s" % (refusal.code, refusal)
    error = task.get("error") or {}
    return None if error.get("code") == "permission.denied" else "%s: %s" % (task["state"], error)


def main():
    daemon, tried, wrong = Daemon(), 0, 0
    for number, member, method, text in rows():
        problems = {"with what is there": problem_of_request(daemon, number, member, method, text)}
        for path in TRESPASSES.get(member, FILES):
            problems[path] = problem_of_trespass(daemon, number, member, method, text, path)
        tried += len(problems)
        for what, problem in problems.items():
            if problem is not None:
                wrong += 1
                print("%s of %s, %s: %s" % (member, method, what, problem))
    print("%d requests" % tried)
    sys.exit(1 if wrong else 0)


main()
