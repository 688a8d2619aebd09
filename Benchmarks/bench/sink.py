"""A server that accepts uploads. It keeps lengths and digests, and counts bytes as they arrive."""
import hashlib
import socket
import threading

BLOCK = 1 << 20


class Sink:
    """Accepts requests with bodies. With `together`, no request is read beyond its first block until that many have begun."""

    def __init__(self, together=0, hashes=False):
        #: (length, digest) of each complete body, and the total of all bytes so far.
        self.arrived, self.received = [], 0
        self.hashes, self.lock = hashes, threading.Lock()
        self.begun = threading.Barrier(together) if together else None
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            head, rest = self.head(connection)
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            if fields.get(b"expect") == b"100-continue":
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            length = int(fields.get(b"content-length", 0))
            got, digest = self.body(connection, length, rest)
            if got == length:
                with self.lock:
                    self.arrived.append((got, digest))
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def head(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(1 << 16)
            if not piece:
                return data, b""
            data += piece
        head, _, rest = data.partition(b"\r\n\r\n")
        return head, rest

    def body(self, connection, length, rest):
        got, digest, waits = len(rest), hashlib.sha256(rest), self.begun is not None
        buffer = memoryview(bytearray(BLOCK))
        while got < length:
            try:
                count = connection.recv_into(buffer)
            except ConnectionError:
                break
            if not count:
                break
            if self.hashes:
                digest.update(buffer[:count])
            got += count
            with self.lock:
                self.received += count
            if waits and got >= min(BLOCK, length):
                waits = False
                self.begun.wait(timeout=120)
        return got, digest.digest() if self.hashes else None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.listener.close()
