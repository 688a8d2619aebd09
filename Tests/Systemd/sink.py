"""A server for every kind of task: files with ranges, a login, uploads by PUT, POST, form and tus.

Usage: sink.py FILE FOLDER CERTIFICATE KEY AUTHORITY
Serves FILE at every path and keeps what is sent in FOLDER, on port 8770, and on 8771 with TLS for clients that show a
certificate of AUTHORITY. Below /login/ it wants the user "alice" with the password "secret".
"""

import base64
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
ETAG = '"%s"' % hashlib.sha256(CONTENT).hexdigest()[:16]
LOGIN = "Basic " + base64.b64encode(b"alice:secret").decode()


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

    def keep(self, name, body):
        with open(kept(name), "wb") as file:
            file.write(body)

    def do_GET(self):
        if self.path.startswith("/login/") and self.headers.get("Authorization") != LOGIN:
            return self.answer(401, WWW_Authenticate='Basic realm="sink"')
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None or self.headers.get("If-Range", ETAG) != ETAG or int(asked[1]) >= len(CONTENT):
            return self.answer(200, CONTENT, ETag=ETAG, Accept_Ranges="bytes")
        first = int(asked[1])
        last = min(int(asked[2] or len(CONTENT)), len(CONTENT) - 1)
        span = "bytes %d-%d/%d" % (first, last, len(CONTENT))
        self.answer(206, CONTENT[first : last + 1], ETag=ETAG, Content_Range=span)

    def do_HEAD(self):
        if not self.path.startswith("/tus/"):
            return self.do_GET()
        self.answer(200, Tus_Resumable="1.0.0", Upload_Offset=os.path.getsize(kept(self.path)), Cache_Control="no-store")

    def do_OPTIONS(self):
        self.answer(204, Tus_Resumable="1.0.0", Tus_Version="1.0.0", Tus_Extension="creation")

    def do_PUT(self):
        body = self.body()
        self.keep(self.path, body)
        self.answer(201, b"%d bytes\n" % len(body))

    def do_POST(self):
        if self.path.startswith("/tus/"):
            name = base64.b64decode(re.search(r"(?:^|,) *name ([^,]+)", self.headers["Upload-Metadata"])[1]).decode()
            self.keep(name, self.body())
            return self.answer(201, Tus_Resumable="1.0.0", Location="/tus/" + name)
        body = self.body()
        if form := re.match("multipart/form-data; *boundary=(.*)", self.headers.get("Content-Type", "")):
            parts = body.split(b"--" + form[1].strip('"').encode())
            part = next(part for part in parts if b"filename=" in part.split(b"\r\n\r\n")[0])
            body = part.split(b"\r\n\r\n", 1)[1][:-2]
        self.keep(self.path, body)
        self.answer(200, b"%d bytes\n" % len(body))

    def do_PATCH(self):
        name = kept(self.path)
        if os.path.getsize(name) != int(self.headers["Upload-Offset"]):
            return self.answer(409)
        with open(name, "ab") as file:
            file.write(self.body())
        self.answer(204, Tus_Resumable="1.0.0", Upload_Offset=os.path.getsize(name))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that hangs up is not worth a word.
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
print("ready", flush=True)
plain.serve_forever()
