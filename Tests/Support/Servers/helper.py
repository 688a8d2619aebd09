#!/usr/bin/env python3
"""A scripted helper. It serves the file that its URL's query names, and does what `do` says at byte `at`:
SCHEME://host/NAME?file=PATH&do=WORD&at=N&once=PATH&gate=FIFO. With `once` it does so only the first time. A helper with
the name `many` serves many requests in one process. With any other name it serves one. Its arguments and requests are
in ~/helper.log.
"""
import base64
import hashlib
import json
import os
import queue
import sys
import threading
import urllib.parse

NAME = os.path.basename(sys.argv[0])
MANY = "many" in NAME
OUTPUT = threading.Lock()
ANSWERS = {}


def note(**members):
    with OUTPUT, open(os.path.join(os.environ["HOME"], "helper.log"), "a") as log:
        print(json.dumps({"pid": os.getpid(), **members}), file=log)


def raw(line):
    with OUTPUT:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def say(kind, **members):
    raw(json.dumps({"type": kind, **members}).encode())


def nothing_more(query):
    """Waits until another process opens the FIFO for writing."""
    with open(query["gate"], "rb") as gate:
        gate.read()


def act(word, name, query):
    if word == "die":
        os._exit(3)
    elif word == "stall":
        nothing_more(query)
    elif word == "finish":
        say("finished", id=name)
        return True
    elif word == "fail":
        say("failed", id=name, code=query.get("code", "demo.broken"), message="told to", retryable="retry" in query)
        return True
    elif word == "garbage":
        raw(b"this is not JSON")
    elif word == "utf8":
        raw(b'{"type": "data", "id": %d, "base64": "\xff"}' % name)
    elif word == "long":
        raw(b"x" * (17 << 20))
    elif word == "type":
        say("dance", id=name)
    elif word == "base64":
        say("data", id=name, base64="!!!")
    elif word == "twice":
        say("response", id=name, offset=0)
    elif word == "stranger":
        say("data", id=999, base64="AAAA")
    elif word == "beyond":
        say("wrote", id=name, offset=1 << 40)
    return False


def serve(order):
    name, offset = order["id"], order["offset"]
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(order["url"]).query))
    word, place = query.get("do", ""), int(query.get("at", "0"))
    if "once" in query:
        if os.path.exists(query["once"]):
            word = ""
        else:
            open(query["once"], "w").close()
    print(f"serves {order['url']}", file=sys.stderr, flush=True)
    if word == "redirect":
        return say("redirect", id=name, url=query["to"])
    if word == "challenge":
        say("challenge", id=name, protectionSpace={"realm": "demo", "method": "httpBasic"})
        answer = ANSWERS[name].get()
        given = answer.get("credential", {})
        if (given.get("username"), given.get("password")) != ("anna", "right"):
            say("challenge", id=name, protectionSpace={"realm": "demo", "method": "httpBasic"})
            if ANSWERS[name].get()["decision"] != "useCredential":
                return say("failed", id=name, code="auth.required", message="no credential", retryable=False)
    if word == "optional":
        say("challenge", id=name, protectionSpace={"realm": "demo", "method": "httpBasic"})
        ANSWERS[name].get()
    if "body" in order:
        body = order["body"]
        given = base64.b64decode(body["base64"]) if "base64" in body else open(body["file"], "rb").read()
        with open(query["save"], "wb") as file:
            file.write(given)
    data = open(query["file"], "rb").read() if "file" in query else b""
    validator = query.get("validator") or hashlib.sha1(data).hexdigest()
    start = offset if order["validator"] in (None, validator) else 0
    if word == "early":
        say("data", id=name, base64="AAAA")
    if word == "elsewhere":
        start += 7
    length = len(data) + (int(query["more"]) if "more" in query else 0)
    members = {"length": length, "validator": validator}
    if "unknown" in query:
        members = {"length": None}
    if "rest" in query:
        members["length"] = length - start
    if "suggest" in query:
        members["suggestedFilename"] = query["suggest"]
    if "status" in query:
        members["status"] = int(query["status"])
    say("response", id=name, offset=start, headers={"Content-Type": "application/x-demo"}, **members)
    step = int(query.get("step", 64 << 10))
    while start < len(data) or word:
        if word and start >= place:
            if act(word, name, query):
                return
            word = ""
        end = min(len(data), start + step, place if word and place > start else len(data))
        if end > start:
            if MANY:
                say("data", id=name, base64=base64.b64encode(data[start:end]).decode())
            else:
                os.pwrite(3, data[start:end], start)
                say("wrote", id=name, offset=end)
        start = end
    say("finished", id=name)


def main():
    note(started=NAME, descriptors=sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1])
    if NAME == "eager":
        os.pwrite(3, b"", 0)  # fails without the file, so the helper cannot start
    if NAME == "mute":
        raw(b"hello?")
    if NAME == "silent":
        threading.Event().wait()
    say("hello", version=2 if NAME == "newer" else 1, resume="forgetful" not in NAME, upload="stray" not in NAME, many=MANY)
    if "stray" in NAME:
        say("finished", id=1)
    for line in sys.stdin:
        order = json.loads(line)
        note(**order)
        if order["type"] == "load":
            ANSWERS[order["id"]] = queue.Queue()
            threading.Thread(target=serve, args=(order,), daemon=True).start()
        elif order["type"] == "answer":
            ANSWERS[order["id"]].put(order)
    if "stubborn" in NAME:
        threading.Event().wait()


main()
