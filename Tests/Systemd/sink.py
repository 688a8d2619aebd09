"""An HTTP server for many kinds of tasks: files with ranges, logins, and uploads by PUT, POST, form and the IETF draft.

Usage: sink.py FILE FOLDER CERTIFICATE KEY AUTHORITY
Serves FILE at every path and stores uploads in FOLDER. Port 8770 uses HTTP. Port 8771 uses TLS, for clients with a
certificate of AUTHORITY. /login/ requires the account "remote" with the password "far-away", and /bearer/ the token
"of-gold". /damaged/ has one wrong byte, /coded/ uses gzip, and /absent/ has no file. A POST to /echo/ gets its body
back. /draft/ accepts resumable uploads, version 8. A wrong Repr-Digest is refused.
"""

import base64
import gzip
import hashlib
import http.server
import os
import re
import ssl
import sys
import threading

PATH, FOLDER, CERTIFICATE, KEY, AUTHORITY = sys.argv[1:6]
with open(PATH, "rb") as source:
    CONTENT = source.read()
DAMAGED = bytearray(CONTENT)
DAMAGED[1500000] ^= 1
ETAG = '"%s"' % hashlib.sha256(CONTENT).hexdigest()[:16]
WANTED = {
    "/login/": "Basic " + base64.b64encode(b"remote:far-away").decode(),
    "/bearer/": "Bearer of-gold",
}


def kept(name):
    return os.path.join(FOLDER, os.path.basename(name))


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), str(value))
        if status >= 200 and status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def is_refused(self):
        """Whether the client may not do this. It has its answer then."""
        for folder, login in WANTED.items():
            if self.path.startswith(folder) and self.headers.get("Authorization") != login:
                self.answer(401, WWW_Authenticate=login.split(" ")[0] + ' realm="sink"')
                return True
        return False

    def do_GET(self):
        if self.is_refused():
            return
        if self.path.startswith("/absent/"):
            return self.answer(404)
        if self.path.startswith("/coded/"):
            return self.answer(200, gzip.compress(CONTENT), Content_Encoding="gzip")
        content = bytes(DAMAGED) if self.path.startswith("/damaged/") else CONTENT
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None or self.headers.get("If-Range", ETAG) != ETAG or int(asked[1]) >= len(content):
            return self.answer(200, content, ETag=ETAG, Accept_Ranges="bytes")
        first = int(asked[1])
        last = min(int(asked[2] or len(content)), len(content) - 1)
        span = "bytes %d-%d/%d" % (first, last, len(content))
        self.answer(206, content[first : last + 1], ETag=ETAG, Content_Range=span)

    def do_HEAD(self):
        if self.path.startswith("/draft/"):
            return self.answer(204, Cache_Control="no-store", **self.state())
        self.do_GET()

    def do_OPTIONS(self):
        if self.path.startswith("/draft/"):
            return self.answer(204, Upload_Limit="min-size=0")
        self.answer(405)

    def do_PUT(self):
        body = self.body()
        if self.is_refused():
            return
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        if self.headers.get("Repr-Digest", "sha-256=:%s:" % digest) != "sha-256=:%s:" % digest:
            return self.answer(400)
        with open(kept(self.path), "wb") as file:
            file.write(body)
        self.answer(201, b"%d bytes\n" % len(body))

    def do_POST(self):
        body = self.body()
        if self.is_refused():
            return
        if self.path.startswith("/echo/"):
            return self.answer(200, body)
        if form := re.match("multipart/form-data; *boundary=(.*)", self.headers.get("Content-Type", "")):
            parts = body.split(b"--" + form[1].strip('"').encode())
            part = next(part for part in parts if b"filename=" in part.split(b"\r\n\r\n")[0])
            body = part.split(b"\r\n\r\n", 1)[1][:-2]
        with open(kept(self.path), "wb") as file:
            file.write(body)
        if self.path.startswith("/draft/"):
            return self.answer(201, Location=self.path, **self.state())
        self.answer(200, b"%d bytes\n" % len(body))

    def do_PATCH(self):
        if os.path.getsize(kept(self.path)) != int(self.headers["Upload-Offset"]):
            return self.answer(409, **self.state())
        with open(kept(self.path), "ab") as file:
            file.write(self.body())
        self.answer(200, b"stored\n", **self.state())

    def state(self):
        """The fields of a resumable upload after this request. An incomplete upload continues."""
        done = self.headers.get("Upload-Complete", "?0")
        return {
            "Upload_Offset": os.path.getsize(kept(self.path)), "Upload_Complete": done,
            "Upload_Draft_Interop_Version": 8,
        }

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that closes the connection is not reported.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


plain = Server(("127.0.0.1", 8770), Sink)
secure = Server(("127.0.0.1", 8771), Sink)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
context.load_verify_locations(AUTHORITY)
context.verify_mode = ssl.CERT_REQUIRED
secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=secure.serve_forever, daemon=True).start()
plain.serve_forever()
