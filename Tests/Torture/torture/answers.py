"""Lines of a script for origin.py: wrong answers of a server. Each function makes them for one resource."""
from torture.origin import Closed, Reset, Resource

PORTAL = b"<!DOCTYPE html><title>Welcome</title><p>Accept our terms to go on.</p>" * 20
HTML = ("Content-Type", "text/html; charset=utf-8")


def good(resource, **more):
    return lambda reply: reply.good(resource, **more)


def cut(resource, after, end):
    """`after`: a number of bytes of the body, "accept" (no answer at all), or "head" (half of the header)."""
    def line(reply):
        if after == "head":
            reply.send(b"HTTP/1.1 200 OK\r\nContent-Le")
        if after in ("accept", "head"):
            reply.end(end)
        reply.good(resource, cut=after, end=end)
    return line


def portal(status=200):
    """The login page of a network."""
    return lambda reply: reply.answer(status, [HTML], PORTAL)


def portal_by_redirect(reply):
    if reply.request.path == "/login":
        return reply.answer(200, [HTML], PORTAL)
    reply.answer(302, [("Location", "/login")])


def raw(data):
    def line(reply):
        reply.send(data)
        raise Closed
    return line


def reset(_):
    raise Reset


def shifted(resource, by):
    """A part from another offset, with the right label."""
    def line(reply):
        first = max(0, (reply.request.first or 0) + by)
        data = resource.bytes[first:]
        reply.answer(206, [*resource.fields(), ("Content-Range", f"bytes {first}-{resource.size - 1}/{resource.size}")], data)
    return line


def with_range(resource, text):
    """A part whose Content-Range is `text`."""
    return lambda reply: reply.answer(
        206, [*resource.fields(), *([("Content-Range", text)] if text else [])], resource.bytes[reply.request.first or 0:])


def multipart(resource):
    def line(reply):
        first = reply.request.first or 0
        body = (f"--b\r\nContent-Range: bytes {first}-{resource.size - 1}/{resource.size}\r\n\r\n".encode()
                + resource.bytes[first:] + b"\r\n--b--\r\n")
        reply.answer(206, [("Content-Type", "multipart/byteranges; boundary=b"), resource.mark or HTML], body)
    return line


def whole(resource, *more):
    """The entire file, whatever was requested."""
    return lambda reply: reply.answer(200, [*resource.fields(), *more], resource.bytes)


def unsatisfied(resource, text):
    return lambda reply: reply.answer(416, [*resource.fields(), *([("Content-Range", text)] if text else [])])


def length_of(resource, length):
    """The entire file with another Content-Length, then the end of the connection."""
    def line(reply):
        reply.head(200, [*resource.fields(), ("Content-Length", length)])
        reply.send(resource.bytes)
        raise Closed
    return line


def two_lengths(resource):
    def line(reply):
        reply.head(200, [*resource.fields(), ("Content-Length", resource.size), ("Content-Length", resource.size - 5)])
        reply.send(resource.bytes)
        raise Closed
    return line


def chunked(resource, tail):
    """The entire file in chunks, with `tail` in place of the last chunk."""
    def line(reply):
        reply.head(200, [*resource.fields(), ("Transfer-Encoding", "chunked")])
        for at in range(0, resource.size, 1 << 15):
            data = resource.bytes[at:at + (1 << 15)]
            reply.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        reply.send(tail)
        raise Closed
    return line


def to_the_close(resource, after=None):
    """Without any length: the end of the connection is the end of the body."""
    def line(reply):
        reply.head(200, [*resource.fields(), ("Connection", "close")])
        reply.send(resource.bytes[:after])
        raise Closed
    return line


def foreign(resource):
    """Bytes of another file with the right name, length and validator."""
    other = Resource(resource.name, resource.size, resource.validator, version=9)

    def line(reply):
        first, stop, is_part = reply.part(resource)
        fields = [*resource.fields(), ("Content-Length", stop - first)]
        if is_part:
            fields.append(("Content-Range", f"bytes {first}-{stop - 1}/{resource.size}"))
        reply.head(206 if is_part else 200, fields)
        reply.send(other.bytes[first:stop])
    return line


def wrong_answers(resource):
    """Name -> the answer to a request for the rest of a file of which a part is held. A good answer follows."""
    size = resource.size
    return {
        "part from a later place": shifted(resource, 7),
        "part from an earlier place": shifted(resource, -7),
        "part of another total": with_range(resource, f"bytes 300000-{size + 4}/{size + 5}"),
        "part without Content-Range": with_range(resource, None),
        "part with junk for Content-Range": with_range(resource, "bytes three"),
        "part that ends before it starts": with_range(resource, f"bytes 300000-2/{size}"),
        "part as multipart": multipart(resource),
        "part with another ETag": good(resource, ETag='"another"', Last_Modified=None),
        "part that is short": good(resource, cut=1000, end="close"),
        "416 without a length": unsatisfied(resource, None),
        "416 with another length": unsatisfied(resource, "bytes */17"),
        "whole to a range request": whole(resource),
        "whole with a Content-Range": whole(resource, ("Content-Range", f"bytes 300000-{size - 1}/{size}")),
        "longer than it says": length_of(resource, size - 100_000),
        "shorter than it says": length_of(resource, size + 1),
        "chunks without an end": chunked(resource, b""),
        "chunks with a wrong size": chunked(resource, b"zz\r\n"),
        "nothing at all": raw(b""),
        "no HTTP": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
        "a head without end": raw(b"HTTP/1.1 200 OK\r\nX: y\r\n"),
        "204": lambda reply: reply.head(204),
        "reset": reset,
        "500": lambda reply: reply.answer(500),
        "503 with Retry-After": lambda reply: reply.answer(503, [("Retry-After", "1")]),
        "429": lambda reply: reply.answer(429),
    }
