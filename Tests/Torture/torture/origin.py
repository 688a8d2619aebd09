"""A server that misbehaves by a script. Each request is answered by the next line of the script, and the last line
stays."""
import dataclasses
import email.utils
import socket
import ssl
import struct
import threading
import time

from torture.content import content

PIECE = 1 << 16
CHANGED = email.utils.formatdate(time.time() - 100 * 86400, usegmt=True)
CHANGED_LATER = email.utils.formatdate(time.time() - 50 * 86400, usegmt=True)


@dataclasses.dataclass(frozen=True)
class Resource:
    """The content of an address. `validator`: strong, weak, date or none. A later `version` has other bytes, its own
    validator and, unless `size` says otherwise, the same length."""

    name: str
    size: int
    validator: str = "strong"
    ranges: bool = True
    version: int = 1
    media: str = "application/octet-stream"

    @property
    def bytes(self):
        return content(self.name if self.version == 1 else f"{self.name} {self.version}", self.size)

    @property
    def mark(self):
        """The field that names the version, or None."""
        tag = f'"{self.name}-{self.version}"'
        return {"strong": ("ETag", tag), "weak": ("ETag", f"W/{tag}"), "none": None,
                "date": ("Last-Modified", CHANGED if self.version == 1 else CHANGED_LATER)}[self.validator]

    def fields(self):
        more = [self.mark] if self.mark else []
        return [("Content-Type", self.media), ("Date", email.utils.formatdate(usegmt=True)),
                ("Accept-Ranges", "bytes" if self.ranges else "none"), *more]


class Request:
    def __init__(self, text):
        lines = text.decode("latin-1").split("\r\n")
        self.method, self.path, _ = (lines[0] + "  ").split(" ", 2)
        self.fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
        self.first, self.last = None, None
        if self.fields.get("range", "").startswith("bytes="):
            first, _, last = self.fields["range"][6:].partition("-")
            self.first, self.last = int(first), int(last) if last else None


class Reply:
    """One answer on one connection, which may use TLS."""

    def __init__(self, origin, connection, request, rest=b""):
        """`rest`: the bytes that came together with the header."""
        self.origin, self.connection, self.request, self.rest = origin, connection, request, rest

    def read(self, count):
        """Returns `count` bytes of the body. Raises `Closed` if there are fewer."""
        while len(self.rest) < count:
            data = self.connection.recv(PIECE)
            if not data:
                raise Closed
            self.rest += data
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def send(self, data):
        self.connection.sendall(data)

    def head(self, status, fields=(), reason="Whatever"):
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in fields), "", ""]
        self.send("\r\n".join(lines).encode())

    def answer(self, status, fields=(), body=b""):
        self.head(status, [*fields, ("Content-Length", len(body))])
        self.send(body)

    def part(self, resource):
        """(first, end) of the right answer, and whether it is a part."""
        request, mark = self.request, resource.mark
        asked = request.first is not None and resource.ranges
        if asked and "if-range" in request.fields and (not mark or request.fields["if-range"] != mark[1]):
            asked = False
        if not asked:
            return 0, resource.size, False
        return request.first, min(resource.size, (request.last if request.last is not None else resource.size - 1) + 1), True

    def good(self, resource, cut=None, end="close", **other):
        """The right answer, of which `cut` bytes are sent before `end`: close, reset, hang or drip. `other` replaces
        fields of the header by name, with _ for -. None leaves a field out."""
        first, stop, is_part = self.part(resource)
        if is_part and first >= resource.size:
            return self.answer(416, [("Content-Range", f"bytes */{resource.size}")])
        fields = dict(resource.fields())
        fields["Content-Length"] = stop - first
        if is_part:
            fields["Content-Range"] = f"bytes {first}-{stop - 1}/{resource.size}"
        for name, value in other.items():
            fields[name.replace("_", "-")] = value
        self.head(206 if is_part else 200, [(name, value) for name, value in fields.items() if value is not None])
        data = resource.bytes[first:stop]
        if cut is None:
            return self.send(data)
        self.send(data[:cut])
        self.end(end, data[cut:])

    def end(self, how, rest=b""):
        if how == "hang":
            return self.hang()
        if how == "drip":
            return self.drip(rest)
        raise Reset if how == "reset" else Closed

    def hang(self):
        """Sends nothing more until the other side has closed the connection."""
        self.connection.settimeout(0.2)
        while not self.origin.is_over.is_set():
            try:
                if not self.connection.recv(1 << 12):
                    break
            except TimeoutError:
                continue
        raise Closed

    def drip(self, rest, seconds=1.0):
        for at in range(len(rest)):
            self.send(rest[at:at + 1])
            if self.origin.is_over.wait(seconds):
                raise Closed


class Closed(Exception):
    """The connection must be closed."""


class Reset(Exception):
    """The connection must be reset."""


class Origin:
    """`script` has functions of a `Reply`. `port` 0 means any free port. With `tls` (an ssl.SSLContext) the server
    uses TLS."""

    def __init__(self, script=(), host="127.0.0.1", port=0, tls=None, greets=True):
        self.script, self.tls, self.greets = list(script), tls, greets
        self.requests, self.lock, self.is_over = [], threading.Lock(), threading.Event()
        self.host = host
        #: Called for each new connection before anything else. May raise `Reset` or `Closed`.
        self.at_the_door = lambda connection: None
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.port = self.listener.getsockname()[1]
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}/file"

    @property
    def firsts(self):
        """The first byte of each request for the file, or None for the entire file."""
        return [request.first for request in list(self.requests)]

    def end(self):
        """From now on no connection is accepted."""
        if self.is_over.is_set():
            return
        self.is_over.set()
        # Closing alone does not wake a thread in accept(2).
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self):
        while not self.is_over.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        plain = connection
        try:
            self.at_the_door(connection)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)
            self.answer_all(connection)
        except Reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except (OSError, Closed, ssl.SSLError, ValueError):
            pass
        finally:
            for each in (connection, plain):
                each.close()

    def answer_all(self, connection):
        rest = b""
        while True:
            while b"\r\n\r\n" not in rest:
                data = connection.recv(1 << 16)
                if not data:
                    return
                rest += data
            text, _, rest = rest.partition(b"\r\n\r\n")
            request = Request(text)
            with self.lock:
                self.requests.append(request)
                line = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            reply = Reply(self, connection, request, rest)
            line(reply)
            rest = reply.rest
