"""Cases over TLS, HTTP/2 and proxies."""
from torture import answers
from torture.answers import cut, good
from torture.http2 import (CANCEL, DATA, ENHANCE_YOUR_CALM, HEADERS, INTERNAL_ERROR, REFUSED_STREAM, Origin2, frame, literal)
from torture.netscene import SILENCE, Scene, piece, resource
from torture.origin import Closed, Reset
from torture.proxies import HTTPProxy, SocksProxy

HELD = 300_000
#: Set by the run before its processes are forked.
CERTIFICATES = None


def scene_for(setup, end="completed", **more):
    return Scene(setup, [piece(end)], caFile=CERTIFICATES.authority_file, connections=1, **more)


def silence(is_due):
    """The members of a task for a silent server."""
    return {"timeoutIntervalForRequest": SILENCE} if is_due else {}


# TLS

def heals(spoil, code=None):
    """Something is wrong with the first connections, and nothing with the later ones."""
    def play(setup):
        scene, thing = scene_for(setup, **silence(code == "network.timeout" or spoil is MUTE)), resource()
        origin = scene.origin(good(thing), tls=CERTIFICATES.context())
        spoil(origin, thing)
        scene.start()
        scene.add(origin.url)
        if code:
            scene.await_event("task.waiting", code, "retry")
        scene.await_state("completed")
        scene.judge()
        return scene
    return play


def first_times(count, act):
    """Calls `act(connection)` for the first connections, before anything is read."""
    def spoil(origin, _):
        seen = []

        def door(connection):
            if len(seen) < count:
                seen.append(1)
                act(connection)
        origin.at_the_door = door
    return spoil


def after_hello(end):
    def act(connection):
        connection.recv(1 << 14)
        raise end
    return act


def in_handshake(end):
    def act(connection):
        connection.recv(1 << 14)
        # The start of a record that is never completed: handshake, TLS 1.2, 500 bytes.
        connection.sendall(b"\x16\x03\x03\x01\xf4" + bytes(100))
        raise end
    return act


def garbage(connection):
    connection.recv(1 << 14)
    connection.sendall(b"HTTP/1.0 400 This is plain HTTP\r\n\r\n")
    raise Closed


def silent(connection):
    try:
        while connection.recv(1 << 14):
            pass
    except OSError:
        pass
    raise Closed


def cut_body(after, end, lacks_length=False):
    """The socket under TLS is closed without close_notify."""
    def spoil(origin, thing):
        line = answers.to_the_close(thing, after) if lacks_length else cut(thing, after, end)
        origin.script[:] = [line, good(thing)]
    return spoil


def untrusted(name):
    def play(setup):
        scene = scene_for(setup, "failed")
        origin = scene.origin(good(resource()), tls=CERTIFICATES.context(name))
        scene.start()
        scene.add(origin.url)
        scene.await_state("failed", code="tls.untrusted")
        if origin.requests:
            scene.stage.report("it asked a server that it does not trust", 6)
        scene.judge()
        return scene
    return play


MUTE = first_times(1, silent)
TLS = {"reset after the first hello": heals(first_times(2, after_hello(Reset))),
       "closed after the first hello": heals(first_times(2, after_hello(Closed))),
       "reset in the handshake": heals(first_times(2, in_handshake(Reset))),
       "closed in the handshake": heals(first_times(2, in_handshake(Closed))),
       "silent in the handshake": heals(MUTE),
       "reset in the body": heals(cut_body(HELD, "reset"), "network.lost"),
       "closed in the body": heals(cut_body(HELD, "close"), "network.lost"),
       "silent in the body": heals(cut_body(HELD, "hang"), "network.timeout"),
       **{f"{name} certificate": untrusted(name) for name in ("expired", "another-name", "strange")}}


def plain_instead(setup):
    """A server that answers in plain HTTP although the client speaks TLS."""
    scene = scene_for(setup, "failed", retry={"attempts": 3, "firstDelay": 0.05, "longestDelay": 0.1})
    origin = scene.origin(good(resource()))
    origin.at_the_door = garbage
    scene.start()
    scene.add(origin.url.replace("http:", "https:"))
    scene.await_state("failed", code="tls.failed")
    scene.judge()
    return scene


def ends_without_a_word(setup):
    """A body without a length, whose connection ends without close_notify. libcurl cannot tell this from a regular
    end, so the task does not call the body verified (docs/reliability.md)."""
    scene, thing = scene_for(setup), resource()
    scene.stage.pieces[0] = piece(data=thing.bytes[:HELD])
    origin = scene.origin(answers.to_the_close(thing, HELD), tls=CERTIFICATES.context())
    scene.start()
    scene.add(origin.url)
    if scene.await_state("completed").get("verified") is not False:
        scene.stage.report("a body of unknown length that was cut off is called verified", 2)
    scene.judge()
    return scene


TLS |= {"plain HTTP for TLS": plain_instead, "cut off in a body of unknown length": ends_without_a_word}


# HTTP/2

def second(line, goes_on=True, times=1, is_mute=False):
    """The first answers (`times` of them) end by `line(resource)`. The next one is good."""
    def play(setup):
        scene, thing = scene_for(setup, **silence(is_mute)), resource()
        origin = scene.origin(*[line(thing)] * times, lambda stream: stream.good(thing), kind=Origin2,
                              tls=CERTIFICATES.context(protocols=["h2"]))
        scene.start()
        scene.add(origin.url)
        scene.await_state("completed")
        if not origin.requests:
            scene.stage.report("nothing was asked over HTTP/2")
        if goes_on and not any(request.first for request in origin.requests[1:]):
            scene.stage.report(f"it did not go on from where it was: {origin.firsts}", 3)
        scene.judge()
        return scene
    return play


def cut2(then, after=HELD):
    return lambda thing: lambda stream: stream.good(thing, cut=after, then=then)


def at_once(then):
    return lambda thing: then


def gone(stream):
    stream.goaway()
    raise Closed


def torn(stream):
    """Half of a frame, then the end of the connection."""
    stream.session.connection.sendall(frame(DATA, 0, stream.number, bytes(1000))[:500])
    raise Closed


def too_much(thing):
    """More bytes than the announced length."""
    def line(stream):
        stream.good(thing, cut=thing.size, then=lambda same: same.send(DATA, 1, b"more"))
    return line


def strange_frame(stream):
    stream.send(HEADERS, 4, b"\xff\xff\xff\xff\xff\xff")
    raise Closed


def interim(thing):
    """Interim answers, then the good one."""
    def line(stream):
        for _ in range(20):
            stream.send(HEADERS, 4, literal(":status", 103) + literal("link", "</x>"))
        stream.good(thing)
    return line


def reset_by(error):
    return lambda stream: stream.cancel(error)


HTTP2 = {"GOAWAY in the body, then the end": second(cut2(gone)),
         "GOAWAY before the answer": second(at_once(gone), goes_on=False),
         "GOAWAY that leaves the request out": second(at_once(lambda stream: stream.goaway(last=0)), goes_on=False),
         "GOAWAY for too much": second(at_once(lambda stream: stream.goaway(last=0, error=ENHANCE_YOUR_CALM)), goes_on=False),
         **{f"RST_STREAM {name} in the body": second(cut2(reset_by(error)))
            for name, error in (("INTERNAL_ERROR", INTERNAL_ERROR), ("CANCEL", CANCEL), ("ENHANCE_YOUR_CALM", ENHANCE_YOUR_CALM))},
         **{f"RST_STREAM {name} at once": second(at_once(reset_by(error)), goes_on=False, times=2)
            for name, error in (("REFUSED_STREAM", REFUSED_STREAM), ("INTERNAL_ERROR", INTERNAL_ERROR), ("CANCEL", CANCEL))},
         "half of a frame": second(cut2(torn)),
         "fields that are none": second(at_once(strange_frame), goes_on=False),
         "longer than it says": second(too_much, goes_on=False),
         "many interim answers": second(interim, goes_on=False),
         "silent in the body": second(cut2(lambda stream: None), is_mute=True)}


# Proxies

def dies(kind, scheme, *lines, url="http", code=None):
    """A proxy follows these lines, and then works."""
    def play(setup):
        scene, thing = scene_for(setup, **silence("hang" in lines[0])), resource()
        origin = scene.origin(good(thing), tls=CERTIFICATES.context() if url == "https" else None)
        proxy = scene.origin(*lines, ("pass",), kind=kind)
        scene.start()
        scene.add(origin.url, proxy=f"{scheme}://127.0.0.1:{proxy.port}")
        if code:
            scene.await_event("task.waiting", code, "retry")
        scene.await_state("completed")
        if not proxy.requests:
            scene.stage.report("nothing came through the proxy", 6)
        scene.judge()
        return scene
    return play


def refuses(kind, scheme, line, code, url="http"):
    """A proxy that refuses permanently."""
    def play(setup):
        scene = scene_for(setup, "failed", retry={"attempts": 3, "firstDelay": 0.05, "longestDelay": 0.1})
        origin = scene.origin(good(resource()), tls=CERTIFICATES.context() if url == "https" else None)
        proxy = scene.origin(line, kind=kind)
        scene.start()
        scene.add(origin.url, proxy=f"{scheme}://127.0.0.1:{proxy.port}")
        scene.await_state("failed", code=code)
        if origin.requests:
            scene.stage.report("it went past the proxy", 6)
        scene.judge()
        return scene
    return play


def comes_late(kind, scheme, url="http"):
    """At first nobody listens at the proxy's address, then the proxy does."""
    def play(setup):
        scene = scene_for(setup)
        origin = scene.origin(good(resource()), tls=CERTIFICATES.context() if url == "https" else None)
        proxy = scene.origin(("pass",), kind=kind)
        proxy.end()
        scene.start()
        scene.add(origin.url, proxy=f"{scheme}://127.0.0.1:{proxy.port}")
        scene.await_event("task.waiting", reason="retry")
        if origin.requests:
            scene.stage.report("it went past the proxy", 6)
        scene.origin(("pass",), kind=kind, port=proxy.port)
        scene.await_state("completed")
        scene.judge()
        return scene
    return play


def ways():
    """(name, kind, scheme of the proxy, scheme of the file)."""
    yield "HTTP proxy", HTTPProxy, "http", "http"
    yield "CONNECT", HTTPProxy, "http", "https"
    yield "SOCKS5", SocksProxy, "socks5h", "http"
    yield "SOCKS5 and TLS", SocksProxy, "socks5h", "https"


def proxies():
    found = {}
    for name, kind, scheme, url in ways():
        for end in ("close", "reset", "hang"):
            found[f"{name}: {end} at once"] = dies(kind, scheme, ("drop", end), url=url)
            found[f"{name}: {end} after {HELD}"] = dies(kind, scheme, ("pass", HELD, end), url=url)
        mail = ("raw", b"220 mail ESMTP\r\n")
        is_answer = kind is HTTPProxy and url == "http"
        found[f"{name}: no proxy at all"] = (refuses(kind, scheme, mail, "http.protocol", url) if is_answer
                                             else dies(kind, scheme, mail, url=url))
        found[f"{name}: comes late"] = comes_late(kind, scheme, url)
        if kind is HTTPProxy:
            for status in (502, 503, 504):
                found[f"{name}: {status}"] = dies(kind, scheme, ("status", status), ("status", status), url=url, code="http.status")
            found[f"{name}: 407"] = refuses(kind, scheme, ("status", 407), "auth.required", url)
            found[f"{name}: 403"] = refuses(kind, scheme, ("status", 403), "http.status", url)
        else:
            for reply in (1, 4, 5):
                found[f"{name}: refused with {reply}"] = dies(kind, scheme, ("refuse", reply), url=url)
    return found


PROXIES = proxies()
