"""A server, or a proxy, with one account that requires NTLM: ntlm.py PORT USER PASSWORD FILE STATUS

STATUS is 401 for a server and 407 for a proxy. Every request with credentials is checked as an NTLMv2 server does
([MS-NLMP] section 3.3.2): the proof in the client's message is computed again from the password. After a correct proof
the connection stays authenticated. Each request is a line of standard output: the connection, and its progress.
"""

import base64
import hmac
import os
import socketserver
import struct
import sys

PORT, USER, PASSWORD, FILE, STATUS = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
CONTENT = open(FILE, "rb").read()
ASKS, ANSWERS = (
    ("WWW-Authenticate", "authorization") if STATUS == 401 else ("Proxy-Authenticate", "proxy-authorization")
)


def md4(data):
    """RFC 1320. Current versions of OpenSSL no longer have it."""
    def turn(x, n):
        x &= 0xFFFFFFFF
        return (x << n | x >> (32 - n)) & 0xFFFFFFFF

    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    padded = data + b"\x80" + bytes(-(len(data) + 9) % 64) + struct.pack("<Q", 8 * len(data))
    rounds = (
        (lambda x, y, z: x & y | ~x & z, 0, range(16), (3, 7, 11, 19)),
        (lambda x, y, z: x & y | x & z | y & z, 0x5A827999, [4 * (i % 4) + i // 4 for i in range(16)], (3, 5, 9, 13)),
        (lambda x, y, z: x ^ y ^ z, 0x6ED9EBA1,
         [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15], (3, 9, 11, 15)),
    )
    for start in range(0, len(padded), 64):
        words = struct.unpack("<16I", padded[start : start + 64])
        a, b, c, d = state
        for function, constant, order, turns in rounds:
            for number, index in enumerate(order):
                a, b, c, d = d, turn(a + function(b, c, d) + words[index] + constant, turns[number % 4]), b, c
        state = [(old + new) & 0xFFFFFFFF for old, new in zip(state, (a, b, c, d))]
    return struct.pack("<4I", *state)


def field(message, offset):
    length, _, start = struct.unpack_from("<HHI", message, offset)
    return message[start : start + length]


def proves(message, challenge):
    """Whether the client's third message was made with the password."""
    answer = field(message, 20)
    domain, user = field(message, 28), field(message, 36).decode("utf-16-le")
    if user != USER or len(answer) < 24:
        return False
    secret = md4(PASSWORD.encode("utf-16-le"))
    secret = hmac.new(secret, user.upper().encode("utf-16-le") + domain, "md5").digest()
    return hmac.compare_digest(hmac.new(secret, challenge + answer[16:], "md5").digest(), answer[:16])


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        self.challenge, self.is_known = None, False
        while self.serve():
            pass

    def serve(self):
        line = self.rfile.readline()
        if not line.strip():
            return False
        fields = {}
        while (text := self.rfile.readline().strip()):
            name, value = text.decode("latin-1").split(":", 1)
            fields[name.lower()] = value.strip()
        self.rfile.read(int(fields.get("content-length", 0)))
        scheme, _, token = fields.get(ANSWERS, "").partition(" ")
        message = base64.b64decode(token) if scheme == "NTLM" else b""
        kind = message[8] if len(message) > 12 and message.startswith(b"NTLMSSP\0") else 0
        if kind == 3 and self.challenge is not None:
            self.is_known = proves(message, self.challenge)
        if self.is_known:
            said = "served"
            self.answer(200, "OK", [], CONTENT)
        elif kind == 1:
            said = "challenged"
            self.challenge = os.urandom(8)
            target = "HOUSE".encode("utf-16-le")
            info = struct.pack("<HH", 2, len(target)) + target + struct.pack("<HH", 0, 0)
            second = b"NTLMSSP\0" + struct.pack("<IHHII", 2, len(target), len(target), 56, 0xA2898205)
            second += self.challenge + bytes(8) + struct.pack("<HHI", len(info), len(info), 56 + len(target))
            second += bytes(8) + target + info
            self.answer(STATUS, "Wait", [(ASKS, "NTLM " + base64.b64encode(second).decode())], b"")
        else:
            said = "refused" if kind == 3 else "asked"
            self.answer(STATUS, "Who", [(ASKS, "Negotiate"), (ASKS, "NTLM")], b"")
        print(said, flush=True)
        return True

    def answer(self, status, reason, fields, body):
        lines = ["HTTP/1.1 %d %s" % (status, reason), "Content-Length: %d" % len(body)]
        lines += ["%s: %s" % pair for pair in fields]
        self.wfile.write("\r\n".join(lines + ["", ""]).encode() + body)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True


Server(("127.0.0.1", PORT), Connection).serve_forever()
