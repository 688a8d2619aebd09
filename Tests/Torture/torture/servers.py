"""The single server of the scenario: ranges with strong ETags, bodies that stop halfway, PUT and tus, passwords, and
answers that may be stored."""
import base64
import gzip
import http.server
import os
import select
import threading
import time

from torture.certificates import Certificates
from torture.content import content

PIECE = 1 << 16
#: A part of some tasks' headers and passwords that must never be shown.
SECRET = "hush-4f1c9b"
#: The password for /REALM/NAME. The last realm accepts none.
REALMS = {"vault": SECRET, "helped": f"{SECRET}-helped", "refused": None}


def versioned(name, version):
    """A body that fits into the database, or one that needs its own file."""
    return content(f"{name}-{version}", 40_000 if name == "blob" else 700)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, work):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.reset()
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.space = {"host": "127.0.0.1", "port": self.server_port, "protocol": "http"}
        self.certificates = Certificates(work / f"certificates-{os.getpid()}")
        self.certificates.issue("hosts", "ca", "DNS:*.dld.localhost")
        self.secure = Secure(self)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def reset(self):
        """Forgets everything. Handlers that still wait for a body end without it."""
        #: Sizes of the files at /d/NAME, the bytes after which a name's body waits, and the received bodies by name.
        self.sizes, self.holds, self.bodies = {}, {}, {}
        #: Upload resources of tus: number -> [name, length, bytes so far].
        self.uploads, self.next_upload = {}, 0
        #: The furthest byte sent of a name, and the seconds between two pieces.
        self.sent, self.pause = {}, 0.0
        #: The first byte of each request for a name, in order of arrival.
        self.firsts = {}
        #: Realm -> passwords, in order of arrival.
        self.passwords = {}
        #: Versions of /c/NAME. Each request gets another one.
        self.versions = {}
        #: (time, furthest byte) of slow bodies.
        self.progress = []

    def handle_error(self, request, client_address):
        """Ignored, because daemons often die in the middle of a request."""

    def end(self):
        self.shutdown()
        self.server_close()


class Secure(http.server.ThreadingHTTPServer):
    """The same server over TLS, for every name below dld.localhost. Each of these hosts asks for HSTS."""
    daemon_threads = True

    def __init__(self, plain):
        self.plain = plain
        super().__init__(("127.0.0.1", 0), Handler)
        # The thread of the connection does the handshake.
        self.socket = plain.certificates.context("hosts").wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __getattr__(self, name):
        return getattr(self.__dict__["plain"], name)

    def url(self, name):
        return f"https://{name}.dld.localhost:{self.server_port}"

    def handle_error(self, request, client_address):
        """As for the other server."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    timeout = 60

    def log_message(self, *_):
        pass

    def answer(self, status, fields=(), body=b""):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, str(value))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    # Downloads

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        if self.path.startswith("/led/"):
            return self.answer(302, [("Location", f"/d/{name}")])
        if self.path.startswith("/astray/"):
            return self.answer(302, [("Location", "/d/tiny")])
        if self.path.startswith("/crumb/"):
            return self.answer(302, [("Location", f"/fed/{name}"), ("Set-Cookie", f"{name}=1; Path=/; Max-Age=99999")])
        if self.path.startswith("/fed/") and f"{name}=1" not in self.headers.get("Cookie", ""):
            return self.answer(403)
        if self.path.startswith("/c/"):
            return self.give_version(name)
        realm = self.path.split("/")[1]
        if realm in REALMS and not self.proves(realm):
            return self.answer(401, [("WWW-Authenticate", f'Basic realm="{realm}"')])
        size = self.server.sizes.get(name)
        if size is None:
            return self.answer(404)
        data, etag = content(name, size), f'"{name}-{size}"'
        is_packed = name == "packed"
        if is_packed:
            data = gzip.compress(data, mtime=0)
            size = len(data)
        first, last = self.wanted(size, etag)
        if first is None:
            return self.answer(416, [("Content-Range", f"bytes */{size}")])
        with self.server.lock:
            self.server.firsts.setdefault(name, []).append(first)
        self.send_response(206 if (first, last) != (0, size - 1) or "Range" in self.headers else 200)
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        for field in [("ETag", etag), ("Accept-Ranges", "bytes"), ("Content-Length", str(last + 1 - first))]:
            self.send_header(*field)
        if is_packed:
            self.send_header("Content-Encoding", "gzip")
        if isinstance(self.server, Secure):
            self.send_header("Strict-Transport-Security", "max-age=99999")
        self.end_headers()
        self.give(name, data, first, last + 1)

    def give_version(self, name):
        """A body with its version, and with or without permission to store it."""
        with self.server.lock:
            version = self.server.versions[name] = self.server.versions.get(name, 0) + 1
        control = "no-store" if name == "moody" else "max-age=600"
        self.answer(200, [("X-Version", version), ("ETag", f'"{version}"'), ("Cache-Control", control)],
                    versioned(name, version))

    def proves(self, realm):
        kind, _, text = self.headers.get("Authorization", "").partition(" ")
        if kind != "Basic":
            return False
        password = base64.b64decode(text).decode().partition(":")[2]
        with self.server.lock:
            self.server.passwords.setdefault(realm, []).append(password)
        return password == REALMS[realm]

    def wanted(self, size, etag):
        text = self.headers.get("Range", "")
        if not text.startswith("bytes=") or self.headers.get("If-Range", etag) != etag:
            del self.headers["Range"]
            return 0, size - 1
        first, _, last = text[6:].partition("-")
        first, last = int(first), min(int(last or size - 1), size - 1)
        return (first, last) if first <= last else (None, None)

    def give(self, name, data, start, end):
        at = start
        while at < end:
            hold = self.server.holds.get(name)
            if hold is not None and at >= hold:
                self.wfile.flush()
                if not self.wait_for_more(name):
                    self.close_connection = True
                    return
                continue
            stop = min(end, at + PIECE, hold if hold is not None else end)
            self.wfile.write(data[at:stop])
            at = stop
            with self.server.lock:
                self.server.sent[name] = max(self.server.sent.get(name, 0), at)
            if self.server.pause:
                self.wfile.flush()
                self.server.progress.append((time.monotonic(), at))
                time.sleep(self.server.pause)
        self.wfile.flush()

    def wait_for_more(self, name):
        """False once the client has closed the connection."""
        while name in self.server.holds:
            if select.select([self.connection], [], [], 0.02)[0]:
                return False
        return True

    # Uploads

    def body(self, keep):
        """Passes pieces of the body to `keep` as they arrive. Returns false if the body ends early."""
        left = int(self.headers.get("Content-Length", 0))
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
            self.wfile.flush()
        while left:
            piece = self.rfile.read1(min(left, PIECE))
            if not piece:
                return False
            keep(piece)
            left -= len(piece)
        return True

    def do_PUT(self):
        data = bytearray()
        if not self.body(data.extend):
            return
        with self.server.lock:
            self.server.bodies.setdefault(self.path.rpartition("/")[2], []).append(bytes(data))
        self.answer(201)

    def do_POST(self):
        if not self.path.startswith("/tus"):
            data = bytearray()
            return self.answer(200, [], b"echo " + bytes(data)) if self.body(data.extend) else None
        with self.server.lock:
            number = self.server.next_upload = self.server.next_upload + 1
            self.server.uploads[number] = [self.path.rpartition("/")[2], int(self.headers["Upload-Length"]), bytearray()]
        self.answer(201, [("Location", f"/tus/{number}"), *TUS])

    def upload(self):
        number = self.path.rpartition("/")[2]
        return self.server.uploads.get(int(number)) if number.isdigit() else None

    def do_OPTIONS(self):
        self.answer(204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination"), *TUS])

    def do_HEAD(self):
        upload = self.upload()
        if upload is None:
            return self.answer(404)
        self.answer(200, [("Upload-Offset", len(upload[2])), ("Upload-Length", upload[1]), ("Cache-Control", "no-store"), *TUS])

    def do_PATCH(self):
        upload = self.upload()
        if upload is None:
            return self.answer(404)
        if int(self.headers["Upload-Offset"]) != len(upload[2]):
            self.close_connection = True
            return self.answer(409, [("Upload-Offset", len(upload[2])), *TUS])
        if self.body(upload[2].extend):
            self.answer(204, [("Upload-Offset", len(upload[2])), *TUS])

    def do_DELETE(self):
        number = self.path.rpartition("/")[2]
        with self.server.lock:
            self.server.uploads.pop(int(number) if number.isdigit() else 0, None)
        self.answer(204, TUS)


TUS = [("Tus-Resumable", "1.0.0")]
