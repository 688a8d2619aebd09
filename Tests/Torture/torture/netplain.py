"""Cases over plain HTTP: connections that are refused, reset or silent, wrong answers, captive portals."""
import hashlib

from torture import answers
from torture.answers import PORTAL, cut, good, portal, portal_by_redirect
from torture.content import content
from torture.netscene import NAME, SILENCE, SIZE, Scene, piece, resource

HELD = 300_000
PLACES = ["accept", "head", 1, 1 << 16, HELD, SIZE - 1]
SHA = hashlib.sha256(content(NAME, SIZE)).hexdigest()
CHECKSUM = {"checksum": {"algorithm": "sha-256", "value": SHA}}


def finish(scene):
    scene.await_state("completed")
    scene.judge()


# Cuts

def broken(validator, ranges, after, end, connections):
    """One break, then a good server: the file is complete in the end, and no held and proven byte is fetched again."""
    def play(setup):
        scene, thing = Scene(setup, [piece()], connections=connections), resource(validator=validator, ranges=ranges)
        origin = scene.origin(cut(thing, after, end), good(thing))
        scene.start()
        scene.add(origin.url)
        scene.await_state("completed")
        goes_on = ranges and validator in ("strong", "date") and isinstance(after, int) and connections == 1
        if goes_on and end == "close" and origin.firsts[1:2] != [after]:
            scene.stage.report(f"{after} bytes were there, and it went on from {origin.firsts[1:]}", 3)
        if not ranges and any(first for first in origin.firsts[2:]):
            scene.stage.report(f"it asked for parts that the server does not give: {origin.firsts}", 2)
        scene.judge()
        return scene
    return play


def cuts():
    return {f"{validator}, {'parts' if ranges else 'no parts'}, {end} after {after}, {connections} at once":
            broken(validator, ranges, after, end, connections)
            for validator in ("strong", "date", "weak", "none") for ranges in (True, False) for after in PLACES
            for end in ("reset", "close") for connections in (1, 3)}


def refused(setup):
    """First no server listens, then one does."""
    scene = Scene(setup, [piece()])
    origin = scene.origin(good(resource()))
    origin.end()
    scene.start()
    scene.add(origin.url)
    scene.await_event("task.waiting", "network.connect", "retry")
    scene.origin(good(resource()), port=origin.port)
    finish(scene)
    return scene


def refused_for_good(setup):
    scene = Scene(setup, [piece("failed")], retry={"attempts": 3, "firstDelay": 0.05, "longestDelay": 0.1})
    origin = scene.origin(good(resource()))
    origin.end()
    scene.start()
    scene.add(origin.url)
    scene.await_state("failed", code="network.connect")
    scene.judge()
    return scene


def broken_many_times(setup):
    """Twelve cuts, each a little further on. Progress never starts over from nothing."""
    scene, thing = Scene(setup, [piece()], connections=1), resource()
    origin = scene.origin(*[cut(thing, 50_000, "close")] * 12, good(thing))
    scene.start()
    scene.add(origin.url)
    scene.await_state("completed")
    if origin.firsts != [None, *range(50_000, 650_000, 50_000)]:
        scene.stage.report(f"it did not go on from where it was: {origin.firsts}", 3)
    scene.judge()
    return scene


# Silence

def silent(after, connections):
    def play(setup):
        scene, thing = Scene(setup, [piece()], connections=connections), resource()
        origin = scene.origin(cut(thing, after, "hang"), good(thing))
        scene.start()
        scene.add(origin.url, timeoutIntervalForRequest=SILENCE)
        if connections == 1:
            scene.await_event("task.waiting", "network.timeout", "retry")
        finish(scene)
        return scene
    return play


def drips(setup):
    """A byte per second is not silence: the task continues until its resource timeout, and does not delay others."""
    scene = Scene(setup, [piece("failed"), piece(name="other")], timeoutIntervalForRequest=30)
    origin = scene.origin(cut(resource(), 1000, "drip"))
    other = scene.origin(lambda reply: reply.answer(200, [], content("other", SIZE)))
    scene.start()
    scene.add(origin.url, timeoutIntervalForResource=4)
    scene.add(other.url.replace("/file", "/other"), "other")
    scene.await_state("completed", name="other")
    scene.await_state("failed", code="deadline.exceeded")
    scene.judge()
    return scene


def drips_too_slowly(setup):
    """A byte every few seconds is silence."""
    scene, thing = Scene(setup, [piece()]), resource()

    def slow(reply):
        reply.good(thing, cut=1000, end="hang")
    origin = scene.origin(slow, good(thing))
    scene.start()
    scene.add(origin.url, timeoutIntervalForRequest=SILENCE)
    scene.await_event("task.waiting", "network.timeout", "retry")
    finish(scene)
    return scene


# Wrong answers

def wrong(name, validator, connections, dies):
    """A part is held, the answer to the request for the rest is wrong, and then the server is good. `dies`: the
    daemon dies in between, so the next one has to judge by the stored state."""
    def play(setup):
        scene, thing = Scene(setup, [piece()], connections=connections), resource(validator=validator)
        origin = scene.origin(cut(thing, HELD, "hang" if dies else "close"), answers.wrong_answers(thing)[name], good(thing))
        scene.start()
        scene.add(origin.url, timeoutIntervalForRequest=30 if dies else 3)
        if dies:
            scene.until(lambda: scene.task()["bytesReceived"] >= HELD, "the first part")
            scene.restart()
        if name in FINAL:
            scene.await_state("failed", code=FINAL[name])
            origin.script[:] = [good(thing)]
            scene.client.call("task.retry", ids=[scene.stage.ledger.ids[NAME]])
            scene.await_event("task.queued")
        scene.await_state("completed")
        if not origin.requests[2:] and name.startswith("part from"):
            scene.stage.report("it took a part from another place", 2)
        scene.judge()
        return scene
    return play


#: Answers that end a task, with their codes. A retry continues in any case.
FINAL = {"no HTTP": "http.protocol"}


def wrongs():
    names = list(answers.wrong_answers(resource()))
    return {f"{name}, {validator}, {connections} at once{', daemon dies' if dies else ''}": wrong(name, validator, connections, dies)
            for name in names for validator in ("strong", "date") for connections in (1, 3) for dies in (False, True)
            if not (dies and connections == 3)}


def replaced(validator, connections, dies):
    """The version changes in the middle: the new version arrives completely."""
    def play(setup):
        later = resource(validator=validator, version=2)
        scene = Scene(setup, [piece(data=later.bytes)], connections=connections)
        origin = scene.origin(cut(resource(validator=validator), HELD, "hang" if dies else "close"), good(later))
        scene.start()
        scene.add(origin.url, timeoutIntervalForRequest=30 if dies else 3)
        if dies:
            scene.until(lambda: scene.task()["bytesReceived"] >= HELD, "the first part")
            scene.restart()
        finish(scene)
        return scene
    return play


def foreign(setup):
    """Bytes of another file under the right name: the checksum notices it, and the first time is forgiven."""
    scene, thing = Scene(setup, [piece()], **CHECKSUM), resource()
    origin = scene.origin(cut(thing, HELD, "close"), answers.foreign(thing), good(thing))
    scene.start()
    scene.add(origin.url, connections=1)
    scene.await_event("task.restarted", "integrity.checksum")
    finish(scene)
    return scene


def foreign_for_good(setup):
    scene = Scene(setup, [piece("failed")], **CHECKSUM)
    origin = scene.origin(answers.foreign(resource()))
    scene.start()
    scene.add(origin.url)
    scene.await_state("failed", code="integrity.checksum")
    scene.judge()
    return scene


def failing(line, code):
    """An answer that no later attempt can improve."""
    def play(setup):
        scene = Scene(setup, [piece("failed")])
        origin = scene.origin(line)
        scene.start()
        scene.add(origin.url)
        scene.await_state("failed", code=code)
        scene.judge()
        return scene
    return play


# Captive portals

def portal_midway(line, validator, connections, dies):
    """After a part has arrived, a captive portal answers. Its page is no version of the file."""
    def play(setup):
        scene, thing = Scene(setup, [piece()], connections=connections), resource(validator=validator)
        origin = scene.origin(cut(thing, HELD, "hang" if dies else "close"), *[line] * 4, good(thing))
        scene.start()
        scene.add(origin.url, timeoutIntervalForRequest=30 if dies else 3)
        if dies:
            scene.until(lambda: scene.task()["bytesReceived"] >= HELD, "the first part")
            scene.restart()
        scene.await_event("task.waiting", reason="retry")
        finish(scene)
        return scene
    return play


def portal_first(setup):
    """Nothing is known of the file yet, except its digest."""
    scene, thing = Scene(setup, [piece()], **CHECKSUM), resource()
    origin = scene.origin(portal(), good(thing))
    scene.start()
    scene.add(origin.url)
    scene.await_event("task.restarted", "integrity.checksum")
    finish(scene)
    return scene


def portal_unknown(setup):
    """Nothing is known of the file yet. The page is the server's answer, and is delivered as such
    (docs/reliability.md)."""
    scene = Scene(setup, [piece(data=PORTAL)])
    origin = scene.origin(portal())
    scene.start()
    scene.add(origin.url)
    task = scene.await_state("completed")
    if "text/html" not in str(task.get("response")):
        scene.stage.report(f"the task does not say that it is a page: {task.get('response')}", 7)
    scene.judge()
    return scene


def portal_says_so(setup):
    """511 (RFC 6585) never comes from the server itself."""
    scene = Scene(setup, [piece()])
    origin = scene.origin(portal(511), portal(511), good(resource()))
    scene.start()
    scene.add(origin.url)
    scene.await_event("task.waiting", "http.status", "retry")
    finish(scene)
    return scene


def upload_broken(after, end):
    """A PUT whose answer never comes is sent again from the start."""
    def play(setup):
        scene = Scene(setup, [piece(name="put", kind="upload", size=SIZE)])

        def take(reply, until):
            if "100-continue" in reply.request.fields.get("expect", ""):
                reply.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            return reply.read(until)

        def bad(reply):
            take(reply, after)
            reply.end(end)

        def well(reply):
            scene.stage.server.bodies.setdefault("put", []).append(take(reply, SIZE))
            reply.answer(201)
        origin = scene.origin(bad, well)
        scene.start()
        scene.add(origin.url, "put", uploadProtocol="put")
        scene.await_state("completed", name="put")
        scene.judge()
        return scene
    return play


CUTS = cuts()
REFUSALS = {"refused, then not": refused, "refused for good": refused_for_good, "twelve cuts": broken_many_times,
            **{f"upload, {end} after {after}": upload_broken(after, end) for end in ("reset", "close") for after in (1, HELD, SIZE)}}
SILENCES = {**{f"silent after {after}, {connections} at once": silent(after, connections)
               for after in PLACES[:5] for connections in (1, 3)},
            "a byte a second": drips, "silent after some": drips_too_slowly}
WRONGS = {**wrongs(), "other bytes, known digest": foreign, "other bytes for good": foreign_for_good,
          "two lengths": failing(answers.two_lengths(resource()), "http.protocol"),
          "404": failing(lambda reply: reply.answer(404), "http.status"),
          "401": failing(lambda reply: reply.answer(401, [("WWW-Authenticate", "Basic")]), "auth.required"),
          "redirects without end": failing(lambda reply: reply.answer(302, [("Location", "/again")]), "http.redirect_limit"),
          **{f"another version, {validator}, {connections} at once{', daemon dies' if dies else ''}":
             replaced(validator, connections, dies)
             for validator in ("strong", "date", "weak", "none") for connections in (1, 3) for dies in (False, True)
             if not (dies and connections == 3)}}
PORTALS = {**{f"portal {how} midway, {validator}, {connections} at once{', daemon dies' if dies else ''}":
              portal_midway(line, validator, connections, dies)
              for how, line in (("at once", portal()), ("by redirect", portal_by_redirect)) for validator in ("strong", "date")
              for connections in (1, 3) for dies in (False, True) if not (dies and connections == 3)},
           "portal first, known digest": portal_first, "portal first, nothing known": portal_unknown,
           "portal that says 511": portal_says_so}
