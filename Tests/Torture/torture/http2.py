"""Just enough of HTTP/2 (RFC 9113) to misbehave: frames written by hand, and only the part of HPACK that a range
needs."""
import struct

from torture.origin import Closed, Origin

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 0, 2, 7, 8, 11
#: The index of `range` in the static table (RFC 7541, appendix A).
RANGE = 50
#: The codes of the letters in a range (RFC 7541, appendix B): bits -> letter.
LETTERS = {"00000": "0", "00001": "1", "00010": "2", "011001": "3", "011010": "4", "011011": "5", "011100": "6", "011101": "7",
           "011110": "8", "011111": "9", "100000": "=", "010110": "-", "100011": "b", "1111010": "y", "01001": "t",
           "00101": "e", "01000": "s"}
WINDOW = 65_535


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """A field that is in no table (RFC 7541, section 6.2.2). Both parts are short."""
    name, value = name.lower().encode(), str(value).encode()
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


class Block:
    """A block of fields, decoded as far as the range needs."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, bits):
        limit = (1 << bits) - 1
        value = self.data[self.at] & limit
        self.at += 1
        shift = 0
        while value >= limit:
            byte = self.data[self.at]
            self.at += 1
            value += (byte & 127) << shift
            shift += 7
            if not byte & 128:
                break
        return value

    def text(self):
        is_coded = self.data[self.at] & 128
        length = self.number(7)
        data = self.data[self.at:self.at + length]
        self.at += length
        return decoded(data) if is_coded else data.decode("latin-1")

    def range(self):
        """The value of `range`, or None."""
        found = None
        while self.at < len(self.data):
            first = self.data[self.at]
            if first & 128:
                self.number(7)
                continue
            if first & 0xE0 == 0x20:
                self.number(5)
                continue
            index = self.number(6 if first & 64 else 4)
            name = RANGE if index == RANGE else self.text() if index == 0 else index
            value = self.text()
            if name in (RANGE, "range"):
                found = value
        return found


def decoded(data):
    """Decodes the letters of a range, and skips all others."""
    text, code = "", ""
    for bit in "".join(f"{byte:08b}" for byte in data):
        code += bit
        if code in LETTERS:
            text, code = text + LETTERS[code], ""
    return text


class Stream:
    """One request and its answer."""

    def __init__(self, session, number, asked):
        self.session, self.number = session, number
        self.first = int(asked[6:].partition("-")[0]) if asked and asked.startswith("bytes=") else None

    def send(self, kind, flags, payload=b"", stream=None):
        self.session.connection.sendall(frame(kind, flags, self.number if stream is None else stream, payload))

    def head(self, resource):
        first = self.first or 0
        fields = [(":status", 206 if first else 200), *resource.fields(), ("content-length", resource.size - first)]
        if first:
            fields.append(("content-range", f"bytes {first}-{resource.size - 1}/{resource.size}"))
        self.send(HEADERS, END_HEADERS, b"".join(literal(*field) for field in fields))
        return first

    def good(self, resource, cut=None, then=None):
        """The right answer. Calls `then(self)` after `cut` bytes."""
        first = self.head(resource)
        data = resource.bytes[first:][:cut]
        for at in range(0, len(data), 1 << 14):
            piece = data[at:at + (1 << 14)]
            self.session.await_room(self, len(piece))
            is_end = cut is None and at + len(piece) == len(data)
            self.send(DATA, END_STREAM if is_end else 0, piece)
        if then:
            then(self)

    def goaway(self, last=None, error=NO_ERROR):
        self.send(GOAWAY, 0, struct.pack(">II", self.number if last is None else last, error), stream=0)

    def cancel(self, error):
        self.send(RST_STREAM, 0, struct.pack(">I", error))


class Session:
    """One connection. Each request is answered by the next line of the script, which is a function of a `Stream`."""

    def __init__(self, origin, connection):
        self.origin, self.connection, self.rest = origin, connection, b""
        self.room, self.rooms, self.initial = WINDOW, {}, WINDOW
        self.waiting = []

    def read(self, count):
        while len(self.rest) < count:
            data = self.connection.recv(1 << 16)
            if not data:
                raise Closed
            self.rest += data
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def run(self):
        if self.read(len(PREFACE)) != PREFACE:
            raise Closed
        self.connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0)))
        while True:
            while self.waiting:
                stream = self.waiting.pop(0)
                with self.origin.lock:
                    self.origin.requests.append(stream)
                    line = self.origin.script.pop(0) if len(self.origin.script) > 1 else self.origin.script[0]
                line(stream)
            self.take()

    def take(self):
        """Reads one frame."""
        head = self.read(9)
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        number = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
        payload = self.read(length)
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, length, 6):
                name, value = struct.unpack(">HI", payload[at:at + 6])
                if name == 4:
                    self.initial = value
            self.connection.sendall(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self.connection.sendall(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(payload, "big")
            if number:
                self.rooms[number] = self.rooms.get(number, 0) + more
            else:
                self.room += more
        elif kind == HEADERS:
            if flags & PADDED:
                payload = payload[1:len(payload) - payload[0]]
            if flags & PRIORITY:
                payload = payload[5:]
            self.waiting.append(Stream(self, number, Block(payload).range()))

    def await_room(self, stream, count):
        """Waits until `count` bytes may be sent, and uses this window."""
        while self.room < count or self.initial + self.rooms.get(stream.number, 0) < count:
            self.take()
        self.room -= count
        self.rooms[stream.number] = self.rooms.get(stream.number, 0) - count


class Origin2(Origin):
    """Like `Origin`, but with HTTP/2. Its script has functions of a `Stream`."""

    def answer_all(self, connection):
        Session(self, connection).run()
