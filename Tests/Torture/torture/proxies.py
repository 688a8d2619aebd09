"""Proxies that die: HTTP with CONNECT, HTTP for plain requests, and SOCKS5. Each follows a script."""
import select
import socket
import struct

from torture.origin import Closed, Origin, Reset

PIECE = 1 << 14


def relay(one, other, limit=None, end="close"):
    """Copies in both directions until one side ends, or until `limit` bytes have come back. Then `end`: close, reset
    or hang."""
    came = 0
    while True:
        ready = select.select([one, other], [], [], 60)[0]
        for source in ready or []:
            data = source.recv(PIECE)
            if not data:
                raise Closed
            if source is one:
                other.sendall(data)
                continue
            if limit is not None and came + len(data) > limit:
                one.sendall(data[:limit - came])
                return finish(one, end)
            came += len(data)
            one.sendall(data)
        if not ready:
            raise Closed


def finish(connection, end):
    if end == "hang":
        while connection.recv(PIECE):
            pass
    raise Reset if end == "reset" else Closed


class HTTPProxy(Origin):
    """Lines of the script: ("pass", limit, end), ("status", code), ("raw", bytes), ("drop", end)."""

    def answer_all(self, connection):
        text = b""
        while b"\r\n\r\n" not in text:
            data = connection.recv(PIECE)
            if not data:
                return
            text += data
        with self.lock:
            self.requests.append(text)
            line = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if line[0] == "status":
            connection.sendall(f"HTTP/1.1 {line[1]} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        elif line[0] == "raw":
            connection.sendall(line[1])
        elif line[0] == "drop":
            finish(connection, line[1])
        else:
            self.forward(connection, text, *line[1:])

    def forward(self, connection, text, limit=None, end="close"):
        method, target = text.split(b" ")[:2]
        place = target if method == b"CONNECT" else target.split(b"/")[2]
        host, _, port = place.decode().partition(":")
        with socket.create_connection((host, int(port))) as server:
            if method == b"CONNECT":
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                path = b"/" + target.split(b"/", 3)[3]
                server.sendall(text.replace(target, path, 1))
            relay(connection, server, limit, end)


class SocksProxy(Origin):
    """Lines of the script: ("pass", limit, end), ("refuse", reply code), ("raw", bytes), ("drop", end)."""

    def answer_all(self, connection):
        greeting = connection.recv(PIECE)
        with self.lock:
            self.requests.append(greeting)
            line = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if line[0] == "drop":
            finish(connection, line[1])
        if line[0] == "raw":
            return connection.sendall(line[1])
        connection.sendall(b"\x05\x00")
        request = connection.recv(PIECE)
        if line[0] == "refuse":
            return connection.sendall(bytes([5, line[1], 0, 1]) + bytes(6))
        host = socket.inet_ntoa(request[4:8]) if request[3] == 1 else request[5:5 + request[4]].decode()
        with socket.create_connection((host, struct.unpack(">H", request[-2:])[0])) as server:
            connection.sendall(bytes([5, 0, 0, 1]) + bytes(6))
            relay(connection, server, *line[1:])
