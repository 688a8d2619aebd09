"""A small HTTP server for demonstrations. It serves one file at a limited rate, with a strong ETag, ranges and If-Range.

Usage: origin.py FILE BYTES_PER_SECOND LOG [PORT]; prints its port, then serves until it is killed.
"""

import hashlib
import http.server
import os
import re
import sys
import time

PATH, RATE, LOG = sys.argv[1], int(sys.argv[2]), sys.argv[3]
SIZE = os.path.getsize(PATH)
PIECE = 64 * 1024


def fingerprint():
    digest = hashlib.sha256()
    with open(PATH, "rb") as content:
        while piece := content.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


ETAG = '"%s"' % fingerprint()[:16]


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def first_byte(self):
        """Returns the first byte to send, or None for the whole file (RFC 9110 sections 13.1.5 and 14.2)."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked is None or self.headers.get("If-Range", ETAG) != ETAG or int(asked[1]) >= SIZE:
            return None
        return int(asked[1])

    def do_GET(self):
        start = self.first_byte()
        with open(LOG, "a") as log:
            log.write("GET %s Range: %s If-Range: %s -> %s\n" % (
                self.path, self.headers.get("Range", "-"), self.headers.get("If-Range", "-"), 200 if start is None else 206))
        self.send_response(200 if start is None else 206)
        if start is not None:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, SIZE - 1, SIZE))
        self.send_header("Content-Length", str(SIZE - (start or 0)))
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("ETag", ETAG)
        self.end_headers()
        self.send_body(start or 0)

    def send_body(self, offset):
        began, sent = time.monotonic(), 0
        with open(PATH, "rb") as body:
            body.seek(offset)
            while piece := body.read(PIECE):
                try:
                    self.wfile.write(piece)
                except OSError:
                    self.close_connection = True
                    return
                sent += len(piece)
                time.sleep(max(0.0, began + sent / RATE - time.monotonic()))

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[4]) if len(sys.argv) > 4 else 0), Origin)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
