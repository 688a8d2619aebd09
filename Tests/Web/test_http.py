"""The rules of HTTP and of sign-in, each with an attack on it."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest

from support import BINARIES, Browser, House, HouseTest, eventually

METALINK = b"""<?xml version="1.0"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a/one.iso"><size>3</size>
<url>http://127.0.0.1:1/one.iso</url><url>http://127.0.0.1:2/one.iso</url></file></metalink>"""


class Raw:
    """A connection to send any bytes on."""

    def __init__(self, house: House) -> None:
        self.socket = socket.create_connection(("127.0.0.1", house.port), timeout=60)

    def send(self, text: bytes) -> Raw:
        self.socket.sendall(text)
        return self

    def status(self) -> int:
        """The status of the answer; 0 if there is none."""
        head = b""
        while b"\r\n" not in head:
            try:
                piece = self.socket.recv(4096)
            except ConnectionResetError:
                return 0
            if not piece:
                return 0
            head += piece
        return int(head.split(b" ")[1])

    def ends(self) -> bool:
        try:
            while self.socket.recv(4096):
                pass
        except ConnectionResetError:
            pass
        return True

    def close(self) -> None:
        self.socket.close()


class RequestTest(HouseTest):
    def setUp(self) -> None:
        self.browser = self.house.browser()

    def host(self) -> str:
        return f"127.0.0.1:{self.house.port}"

    def status(self, text: bytes) -> int:
        raw = Raw(self.house)
        self.addCleanup(raw.close)
        return raw.send(text.replace(b"HOST", self.host().encode())).status()


class Routes(RequestTest):
    def test_what_needs_a_cookie_says_401_without_it(self) -> None:
        for method, path in [("GET", "/session"), ("POST", "/rpc"), ("POST", "/metalink"), ("GET", "/events"),
                             ("GET", "/rates"), ("POST", "/logout")]:
            with self.subTest(path):
                self.assertEqual(self.browser.request(method, path, cookie=False).status, 401)
                wrong = self.browser.request(method, path, headers={"Cookie": f"dld-web-{self.house.port}=AAAA"})
                self.assertEqual(wrong.status, 401)

    def test_what_changes_something_says_403_without_the_token(self) -> None:
        for path in ("/rpc", "/metalink", "/logout"):
            for headers in ({}, {"X-Dld-Token": "wrong"}):
                with self.subTest(path, headers=headers):
                    answer = self.browser.request("POST", path, b"{}", headers, token=False)
                    self.assertEqual((answer.status, answer.json["error"]["code"]), (403, "token.wrong"))

    def test_other_methods_and_paths(self) -> None:
        for method, path, allow in [("POST", "/", "GET, HEAD"), ("OPTIONS", "/rpc", "POST"), ("GET", "/rpc", "POST"),
                                    ("PUT", "/app.js", "GET, HEAD"), ("DELETE", "/session", "GET")]:
            with self.subTest(method + path):
                answer = self.browser.request(method, path)
                self.assertEqual((answer.status, answer.headers["Allow"]), (405, allow))
                self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
        for path in ("/nothing", "/app.js/", "/page/app.js", "/etc/passwd"):
            self.assertEqual(self.browser.request("GET", path).status, 404, path)

    def test_every_answer_has_the_headers(self) -> None:
        for method, path in [("GET", "/"), ("GET", "/session"), ("GET", "/nothing"), ("POST", "/"), ("GET", "/login?key=x"),
                             ("GET", "/healthz"), ("GET", "/metrics")]:
            with self.subTest(path):
                headers = self.browser.request(method, path).headers
                policy = headers["Content-Security-Policy"]
                for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
                             "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
                    self.assertIn(part, policy)
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertEqual(headers["Referrer-Policy"], "no-referrer")
                self.assertEqual(headers["Cross-Origin-Opener-Policy"], "same-origin")
                self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
                self.assertEqual(headers["X-Frame-Options"], "DENY")
                self.assertIsNone(headers["Server"])
                self.assertEqual(headers["Cache-Control"], "no-cache" if path == "/" and method == "GET" else "no-store")

    def test_assets_are_public_and_revalidated(self) -> None:
        plain = self.browser.request("GET", "/app.js", cookie=False, token=False)
        zipped = self.browser.request("GET", "/app.js", headers={"Accept-Encoding": "gzip"}, cookie=False, token=False)
        self.assertEqual((plain.status, zipped.headers["Content-Encoding"]), (200, "gzip"))
        self.assertEqual(gzip.decompress(zipped.body), plain.body)
        self.assertEqual(zipped.headers["Vary"], "Accept-Encoding")
        self.assertNotEqual(zipped.headers["ETag"], plain.headers["ETag"])
        self.assertRegex(plain.headers["ETag"], r'^"[^"]+"$')
        again = self.browser.request("GET", "/app.js", headers={"If-None-Match": plain.headers["ETag"]})
        self.assertEqual((again.status, again.body), (304, b""))
        head = self.browser.request("HEAD", "/app.js")
        self.assertEqual((head.status, head.body, head.headers["Content-Length"]), (200, b"", str(len(plain.body))))
        refused = self.browser.request("GET", "/app.js", headers={"Accept-Encoding": "gzip;q=0"})
        self.assertIsNone(refused.headers["Content-Encoding"])

    def test_the_session_is_never_compressed(self) -> None:
        answer = self.browser.request("GET", "/session", headers={"Accept-Encoding": "gzip"})
        self.assertIsNone(answer.headers["Content-Encoding"])
        self.assertEqual(set(answer.json), {"token", "version", "daemon", "head", "user", "aria2"})
        self.assertEqual(answer.json["daemon"]["state"], "up")

    def test_rpc_takes_only_json(self) -> None:
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            answer = self.browser.request("POST", "/rpc", b"{}", {"Content-Type": kind})
            self.assertEqual(answer.status, 415, kind)
        self.assertEqual(self.browser.post({"jsonrpc": "2.0", "id": 1, "method": "daemon.info"},
                                           headers={"Content-Type": "application/json; charset=utf-8"}).status, 200)

    def test_rpc_answers_single_calls_and_batches(self) -> None:
        calls = [{"jsonrpc": "2.0", "id": number, "method": "daemon.stats", "params": {}} for number in range(100)]
        answer = self.browser.post(calls)
        self.assertEqual([one["id"] for one in answer.json], list(range(100)))
        self.assertIn("result", answer.json[0])
        self.assertIn("at most 100", self.browser.post(calls + calls[:1]).json["error"]["message"])
        for body in (b"{", b"[]", b"null", b'{"jsonrpc":"2.0","id":1}', b"[" * 100):
            answer = self.browser.request("POST", "/rpc", body, {"Content-Type": "application/json"})
            self.assertEqual((answer.status, answer.json["error"]["data"]["code"]), (200, "rpc.malformed"), body)

    def test_rpc_offers_only_what_a_page_needs(self) -> None:
        for method in ("events.subscribe", "events.ack", "cookies.list", "credentials.set", "rpc.discover", "task.credit",
                       "nothing"):
            answer = self.browser.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).json
            self.assertEqual(answer["error"]["data"]["code"], "rpc.unknown_method", method)
        [task] = self.house.add({"url": "http://127.0.0.1:1/x", "headers": [["X-Secret", "secret-value"]]})
        answer = self.browser.post({"jsonrpc": "2.0", "id": 1, "method": "task.get", "params": {"id": task, "secrets": True}})
        self.assertEqual(answer.json["error"]["data"]["details"]["field"], "secrets")
        self.assertNotIn(b"secret-value", answer.body)

    def test_refusals_of_the_daemon_come_through(self) -> None:
        answer = self.browser.post({"jsonrpc": "2.0", "id": "a", "method": "task.get", "params": {"id": 999999}}).json
        self.assertEqual((answer["id"], answer["error"]["data"]["code"]), ("a", "task.not_found"))

    def test_a_metalink_becomes_specifications(self) -> None:
        answer = self.browser.request("POST", "/metalink", METALINK, {"Content-Type": "text/xml"})
        [task] = answer.json["tasks"]
        self.assertEqual((task["url"], task["mirrors"], task["size"]),
                         ("http://127.0.0.1:1/one.iso", ["http://127.0.0.1:2/one.iso"], 3))
        bad = self.browser.request("POST", "/metalink", b"<x>\n<y></x>", {"Content-Type": "text/xml"})
        self.assertEqual(bad.status, 422)
        self.assertIn("line 2", bad.json["error"]["message"])

    def test_rates_are_held(self) -> None:
        def rates() -> dict[str, list[int]]:
            answer: dict[str, list[int]] = self.browser.request("GET", "/rates").json
            return answer

        eventually(lambda: len(rates()["down"]) >= 2, "two samples")
        self.assertEqual((rates()["interval"], len(rates()["up"]) > 1), (1, True))

    def test_health(self) -> None:
        self.assertEqual(self.browser.request("GET", "/healthz", cookie=False, token=False).status, 204)


class Checks(RequestTest):
    def test_the_host_is_one_of_ours_and_there_is_one(self) -> None:
        port = self.house.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LocalHost:{port}"):
            self.assertEqual(self.browser.request("GET", "/healthz", headers={"Host": host}).status, 204, host)
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.2:{port}",
                     f"localhost:{port}.evil.example", ""):
            self.assertEqual(self.browser.request("GET", "/", headers={"Host": host}).status, 421, host)
        self.assertIn(self.status(b"GET / HTTP/1.1\r\n\r\n"), (400, 421))
        self.assertIn(self.status(b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n"), (400, 421))

    def test_other_origins_are_refused(self) -> None:
        good = f"http://{self.host()}"
        self.assertEqual(self.browser.post({"jsonrpc": "2.0", "id": 1, "method": "daemon.info"},
                                           headers={"Origin": good}).status, 200)
        for origin in ("null", "http://evil.example", f"https://{self.host()}", "http://127.0.0.1:1",
                       f"http://localhost:{self.house.port}", good + "/", ""):
            for path in ("/", "/session", "/nothing"):
                answer = self.browser.request("GET", path, headers={"Origin": origin})
                self.assertEqual((answer.status, answer.json["error"]["code"]), (403, "origin.foreign"), origin)

    def test_other_sites_may_only_navigate(self) -> None:
        for site in ("cross-site", "same-site"):
            navigate = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
            self.assertEqual(self.browser.request("GET", "/", headers=navigate).status, 200)
            self.assertEqual(self.browser.request("GET", "/login?key=x", headers=navigate).status, 403)
            for method, path, mode in [("GET", "/app.js", "navigate"), ("GET", "/session", "navigate"), ("GET", "/", "no-cors"),
                                       ("POST", "/rpc", "cors"), ("GET", "/events", "cors"), ("HEAD", "/", "navigate")]:
                headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
                self.assertEqual(self.browser.request(method, path, headers=headers).status, 403, path)
        for site in ("same-origin", "none"):
            self.assertEqual(self.browser.request("GET", "/session", headers={"Sec-Fetch-Site": site}).status, 200)

    def test_a_foreign_login_page_gets_the_used_up_page(self) -> None:
        answer = self.browser.request("GET", "/login?key=x")
        self.assertIn(b"This link is used up. Run dlctl web", answer.body)
        self.assertTrue(answer.headers["Content-Type"].startswith("text/html"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root's rights to become another user")
    def test_another_user_is_refused(self) -> None:
        script = (
            "import os, socket, sys; 'a'.encode('idna'); os.setgid(65534); os.setuid(65534);"
            f"s = socket.create_connection(('127.0.0.1', {self.house.port}));"
            f"s.sendall(b'GET ' + sys.argv[1].encode() + b' HTTP/1.1\\r\\nHost: {self.host()}\\r\\n\\r\\n');"
            "print(s.recv(65536).decode())"
        )
        for path, status in [("/", "403"), ("/session", "403"), ("/metrics", "403"), ("/login?key=x", "403"), ("/healthz", "204")]:
            said = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout
            self.assertEqual(said.split(" ")[1], status, path)
            if status == "403":
                self.assertIn("connection: close", said.lower())


class SignIn(RequestTest):
    def test_a_link_works_once(self) -> None:
        path = "/" + self.house.link().removeprefix(self.house.base)
        self.assertEqual(self.browser.request("HEAD", path).status, 403)
        first = self.browser.request("GET", path, cookie=False)
        self.assertEqual((first.status, first.headers["Location"]), (303, "./"))
        self.assertEqual(self.browser.request("GET", path, cookie=False).status, 403)

    def test_the_cookie_has_its_attributes(self) -> None:
        answer = self.browser.request("GET", "/" + self.house.link().removeprefix(self.house.base), cookie=False)
        self.assertRegex(answer.headers["Set-Cookie"],
                         rf"^dld-web-{self.house.port}=[A-Za-z0-9_-]{{43}}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000$")

    def test_eight_keys_are_open(self) -> None:
        links = ["/" + self.house.link().removeprefix(self.house.base) for _ in range(9)]
        self.assertEqual(self.browser.request("GET", links[0], cookie=False).status, 403)
        self.assertEqual(self.browser.request("GET", links[1], cookie=False).status, 303)

    def test_the_link_ends_at_a_task(self) -> None:
        self.assertRegex(self.house.link("#/task/7"), r"/login\?key=[A-Za-z0-9_-]{22,}#/task/7$")

    def test_sessions_outlive_a_restart_and_end_when_they_are_revoked(self) -> None:
        token = self.browser.token
        self.house.web.kill()
        self.house.start_web()
        self.assertEqual(self.browser.request("GET", "/session").json["token"], token)
        sessions = self.house.control("web.sessions")["sessions"]
        self.assertNotIn(self.browser.cookie.split("=")[1], json.dumps(sessions))  # type: ignore[union-attr]
        self.assertGreaterEqual(self.house.control("web.revoke", {"session": "all"})["revoked"], 1)
        self.assertEqual(self.browser.request("GET", "/session").status, 401)

    def test_signing_out_ends_the_streams_of_every_tab(self) -> None:
        other = self.house.browser()
        streams = [self.browser.events(), self.browser.events(), other.events()]
        for stream in streams:
            self.assertEqual(stream.next()["event"], "hello")
        self.assertEqual(self.browser.request("POST", "/logout", b"").status, 204)
        for stream in streams[:2]:
            self.assertRaises(EOFError, lambda stream=stream: [stream.next() for _ in range(100)])
        self.assertEqual(other.request("GET", "/session").status, 200)
        for stream in streams:
            stream.close()

    def test_a_request_that_is_held_back_ends_with_its_session(self) -> None:
        raw = Raw(self.house)
        self.addCleanup(raw.close)
        body = b'{"jsonrpc":"2.0","id":1,"method":"daemon.info"}'
        raw.send(
            f"POST /rpc HTTP/1.1\r\nHost: {self.host()}\r\nContent-Type: application/json\r\nCookie: {self.browser.cookie}\r\n"
            f"X-Dld-Token: {self.browser.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:-1])
        self.house.control("web.revoke", {"session": "all"})
        raw.send(body[-1:])
        self.assertEqual(raw.status(), 401)

    def test_a_planted_cookie_is_not_renewed(self) -> None:
        name, value = (self.browser.cookie or "").split("=")
        answer = self.browser.request("GET", "/session", headers={"Cookie": f"{name}=planted; {name}={value}"})
        self.assertTrue(answer.headers["Set-Cookie"].startswith(f"{name}={value};"))

    def test_what_is_stored_opens_no_session(self) -> None:
        stored = (self.house.folder / "web" / "dld-web.json")
        self.assertEqual(stat.S_IMODE(stored.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(stored.parent.stat().st_mode), 0o700)
        self.assertNotIn(self.browser.cookie.split("=")[1], stored.read_text())  # type: ignore[union-attr]


class Parsing(RequestTest):
    def test_malformed_requests_say_400(self) -> None:
        for text in (
            b"GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"POST /rpc HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            b"GET / HTTP/1.1\r\nHost: HOST\r\nX: a\rb\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: HOST\nX: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: HOST\r\nX: a\r\n  folded\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n\r\n",
            b"GET /../etc HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"GET /a/%2e%2e/b HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"GET /a/%2E%2e HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"GET /a%00 HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"GET /a\\b HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"GET /%5c HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"GET /%zz HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"GET http://evil.example/ HTTP/1.1\r\nHost: HOST\r\n\r\n",
            b"nonsense\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost : HOST\r\n\r\n",
        ):
            with self.subTest(text):
                self.assertEqual(self.status(text), 400)

    def test_an_old_client_gets_its_answer_and_the_end(self) -> None:
        raw = Raw(self.house)
        self.addCleanup(raw.close)
        raw.send(f"GET /healthz HTTP/1.0\r\nHost: {self.host()}\r\nConnection: keep-alive\r\n\r\n".encode())
        self.assertEqual(raw.status(), 204)
        self.assertTrue(raw.ends())

    def test_a_head_has_a_bound(self) -> None:
        long = b"x" * 17_000
        self.assertEqual(self.status(b"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + long + b"\r\n\r\n"), 431)
        many = b"".join(b"X%d: %s\r\n" % (number, b"y" * 100) for number in range(200))
        self.assertEqual(self.status(b"GET / HTTP/1.1\r\nHost: HOST\r\n" + many + b"\r\n"), 431)
        self.assertEqual(self.status(b"GET /" + long + b" HTTP/1.1\r\nHost: HOST\r\n\r\n"), 431)

    def test_a_body_has_a_bound(self) -> None:
        head = f"POST /rpc HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nCookie: {self.browser.cookie}\r\n"
        head += f"X-Dld-Token: {self.browser.token}\r\n"
        self.assertEqual(self.status(head.encode() + b"Content-Length: 8388609\r\n\r\n"), 413)
        raw = Raw(self.house)
        self.addCleanup(raw.close)
        raw.send(head.replace("HOST", self.host()).encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        try:
            for _ in range(9):
                raw.send(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertIn(raw.status(), (413, 0))

    def test_a_flood_of_requests_ends_nothing(self) -> None:
        raw = Raw(self.house)
        self.addCleanup(raw.close)
        good = f"GET /healthz HTTP/1.1\r\nHost: {self.host()}\r\n\r\n".encode()
        try:
            raw.send(good + b"GET /healthz HTTP/1.1\r\n\r\n" * 12_000)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            pass
        self.assertEqual(raw.status(), 204)
        self.assertTrue(self.house.web.running())
        self.assertEqual(self.browser.request("GET", "/healthz").status, 204)

    def test_clients_that_close_leave_no_connection(self) -> None:
        for _ in range(300):
            self.assertEqual(self.browser.request("GET", "/healthz").status, 204)
        self.assertEqual(self.browser.request("GET", "/").status, 200)

    def test_a_paused_reader_gets_all_of_the_last_answer(self) -> None:
        raw = Raw(self.house)
        self.addCleanup(raw.close)
        calls = json.dumps([{"jsonrpc": "2.0", "id": number, "method": "settings.list"} for number in range(100)]).encode()
        raw.send(
            f"POST /rpc HTTP/1.1\r\nHost: {self.host()}\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"Cookie: {self.browser.cookie}\r\nX-Dld-Token: {self.browser.token}\r\nContent-Length: {len(calls)}\r\n\r\n"
            .encode() + calls)
        head = b""
        while b"\r\n\r\n" not in head:
            head += raw.socket.recv(1)
        # Longer than a connection lingers after its last answer, if it does not wait for the reader.
        done = time.monotonic() + 2
        eventually(lambda: time.monotonic() > done, "the pause")
        length, count = int(re.findall(rb"[Cc]ontent-[Ll]ength: (\d+)", head)[0]), 0
        while piece := raw.socket.recv(1 << 20):
            count += len(piece)
        self.assertEqual(count, length)

    def test_a_body_goes_only_where_one_is_wanted(self) -> None:
        self.assertEqual(self.status(b"GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100000\r\n\r\n"), 413)

    def test_requests_in_a_row_are_answered_in_order(self) -> None:
        raw = Raw(self.house)
        self.addCleanup(raw.close)
        one = f"GET /healthz HTTP/1.1\r\nHost: {self.host()}\r\n\r\n".encode()
        two = f"GET /nothing HTTP/1.1\r\nHost: {self.host()}\r\nConnection: close\r\n\r\n".encode()
        raw.send(one + one + two)
        text = b""
        while piece := raw.socket.recv(65536):
            text += piece
        self.assertEqual(re.findall(rb"HTTP/1\.1 (\d+)", text), [b"204", b"204", b"404"])

    def test_half_open_connections_keep_nobody_out(self) -> None:
        raws = [Raw(self.house) for _ in range(100)]
        for raw in raws:
            self.addCleanup(raw.close)
            raw.send(b"GET / HT")
        self.assertEqual(self.browser.request("GET", "/").status, 200)
        self.assertTrue(raws[0].ends())

    def test_a_slow_head_is_given_up(self) -> None:
        self.assertEqual(self.status(b"GET / HTTP/1.1\r\nHos"), 408)


class Proxy(HouseTest):
    options = ("--allow-peer", str(os.geteuid()), "--host", "files.example", "--host", "other.example:444")

    def test_a_proxy_says_the_prefix_and_the_scheme(self) -> None:
        browser = Browser(self.house, signs_in=False)
        outside = {"X-Forwarded-Host": "files.example", "X-Forwarded-Prefix": "/dld", "X-Forwarded-Proto": "https"}
        path = "/" + self.house.link().removeprefix(self.house.base)
        answer = browser.request("GET", path, headers=outside | {"Origin": "https://files.example"})
        self.assertEqual(answer.status, 303)
        self.assertIn("Path=/dld/;", answer.headers["Set-Cookie"])
        self.assertTrue(answer.headers["Set-Cookie"].endswith("; Secure"))
        self.assertEqual(browser.request("GET", "/dld/app.js", headers=outside).status, 200)

    def test_what_it_says_is_checked(self) -> None:
        browser = Browser(self.house, signs_in=False)
        for prefix in ("/a;Secure", "/a b", "dld", "/../x", "//evil", "/a\u00e9"):
            headers = {"X-Forwarded-Prefix": prefix.encode().decode("latin-1")}
            self.assertEqual(browser.request("GET", "/", headers=headers).status, 400, prefix)
        for host in ("evil.example", "other.example", ""):
            self.assertEqual(browser.request("GET", "/", headers={"X-Forwarded-Host": host}).status, 421, host)
        self.assertEqual(browser.request("GET", "/", headers={"Host": "other.example:444"}).status, 200)
        rebound = {"Host": f"evil.example:{self.house.port}", "X-Forwarded-Host": "files.example"}
        self.assertEqual(browser.request("GET", "/", headers=rebound).status, 421)
        answer = browser.request("GET", "/", headers={"X-Forwarded-Proto": "https", "Origin": self.house.base[:-1]})
        self.assertEqual(answer.status, 403)


class NoProxy(RequestTest):
    def test_nobody_else_is_a_proxy(self) -> None:
        path = "/" + self.house.link().removeprefix(self.house.base)
        headers = {"X-Forwarded-Prefix": "/x", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}
        answer = self.browser.request("GET", path, headers=headers, cookie=False)
        self.assertIn("; Path=/; ", answer.headers["Set-Cookie"])
        self.assertNotIn("Secure", answer.headers["Set-Cookie"])


class MetricsAccess(unittest.TestCase):
    def test_a_token_opens_the_metrics_alone(self) -> None:
        folder = House()
        self.addCleanup(folder.end)
        secret = folder.folder / "token"
        secret.write_text("s3cret\n")
        house = House("--metrics-token-file", str(secret))
        self.addCleanup(house.end)
        house.start()
        script = (
            "import os, socket, sys; 'a'.encode('idna'); os.setgid(65534); os.setuid(65534);"
            f"s = socket.create_connection(('127.0.0.1', {house.port}));"
            f"s.sendall(('GET ' + sys.argv[1] + ' HTTP/1.1\\r\\nHost: 127.0.0.1:{house.port}\\r\\n'"
            "'Authorization: Bearer ' + sys.argv[2] + '\\r\\n\\r\\n').encode()); print(s.recv(65536).decode())"
        )
        if os.geteuid() != 0:
            self.skipTest("needs root's rights to become another user")
        for path, token, status in [("/metrics", "s3cret", "200"), ("/metrics", "wrong", "403"), ("/", "s3cret", "403")]:
            said = subprocess.run([sys.executable, "-c", script, path, token], capture_output=True, text=True, check=True)
            self.assertEqual(said.stdout.split(" ")[1], status, path)


class Unprivileged(unittest.TestCase):
    def test_it_serves_a_user_who_is_not_root(self) -> None:
        """No step of a connection needs root's rights."""
        if os.geteuid() != 0:
            self.skipTest("needs root's rights to become another user")
        house = House()
        self.addCleanup(house.end)
        house.folder.chmod(0o755)
        web = house.folder / "web"
        web.mkdir()
        os.chown(web, 65534, 65534)
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        house.web.variables["XDG_RUNTIME_DIR"] = str(web)
        house.web.start(**user)
        eventually(lambda: b"listening on" in house.web.log.read_bytes(), "dld-web listens")
        script = ("import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=60);"
                  "c.request('GET', '/healthz'); print(c.getresponse().status)")
        said = subprocess.run(["python3", "-c", script, str(house.port)], capture_output=True, text=True, check=False, cwd="/", **user)
        self.assertIn(said.stdout.strip(), ("200", "503"), said.stderr)

    def test_a_damaged_state_is_kept_and_told(self) -> None:
        house = House()
        self.addCleanup(house.end)
        (house.folder / "web").mkdir()
        (house.folder / "web" / "dld-web.json").write_text('{"port": garbage')
        house.start_web()
        self.assertEqual((house.folder / "web" / "dld-web.json.damaged").read_text(), '{"port": garbage')
        self.assertIn("all browsers are signed out", house.web.log.read_text())


class CommandLine(unittest.TestCase):
    def run_web(self, *arguments: str, **variables: str) -> tuple[int, str]:
        house = House()
        self.addCleanup(house.end)
        done = subprocess.run(
            [BINARIES / "dld-web", "--state-dir", str(house.folder / "web"), *arguments], capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(house.folder)} | variables, timeout=60, check=False)
        return done.returncode, done.stderr + done.stdout

    def test_mistakes_have_their_place_and_status(self) -> None:
        folder = House()
        self.addCleanup(folder.end)
        (folder.folder / "dld").mkdir()
        (folder.folder / "dld" / "dld-web.yaml").write_text("port: 8353\nhosts:\n  - a b\nnothing: 1\naria2:\n  port: x\n")
        status, said = self.run_web("--check-config", XDG_CONFIG_HOME=str(folder.folder))
        self.assertEqual(status, 78)
        for place in ("dld-web.yaml:2: hosts", "dld-web.yaml:4: nothing", "dld-web.yaml:6: aria2.port"):
            self.assertIn(place, said)
        for arguments, status in [(("--listen", "0.0.0.0"), 78), (("--listen", "nowhere"), 78), (("--port", "99999"), 78),
                                  (("--allow-peer", "no-such-user"), 78), (("--nothing",), 64),
                                  (("--metrics-token-file", "/no/such"), 78)]:
            got, said = self.run_web("--check-config", *arguments)
            self.assertEqual(got, status, said)
        self.assertEqual(self.run_web("--check-config", DLD_WEB_PORT="x")[0], 78)
        self.assertEqual(self.run_web("--check-config", "--listen", "0.0.0.0", "--host", "files.example")[0], 0)

    def test_a_port_that_is_taken_is_said(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            status, said = self.run_web("--port", str(port))
        self.assertEqual(status, 1)
        self.assertIn(f"port {port}", said)

    def test_it_remembers_its_port_and_ends_in_order(self) -> None:
        house = House()
        self.addCleanup(house.end)
        house.start()
        port = house.port
        stream = house.browser().events()
        stream.next()
        self.assertEqual(house.web.stop(), 0)
        stream.close()
        house.start_web()
        self.assertEqual(house.port, port)

    def test_it_ends_when_nobody_is_here(self) -> None:
        house = House("--exit-on-idle", "1")
        self.addCleanup(house.end)
        house.start_daemon()
        house.start_web()
        assert house.web.process is not None
        self.assertEqual(house.web.process.wait(60), 0)

    def test_a_reload_takes_names_and_keeps_mistakes_out(self) -> None:
        house = House()
        self.addCleanup(house.end)
        (house.folder / ".config" / "dld").mkdir(parents=True)
        house.start()
        browser = house.browser()
        settings = house.folder / ".config" / "dld" / "dld-web.yaml"
        settings.write_text("hosts: [files.example]\n")
        os.kill(house.web.pid, signal.SIGHUP)
        eventually(lambda: browser.request("GET", "/", headers={"Host": "files.example"}).status in (200,)
                   or browser.request("GET", "/", headers={"Host": f"files.example:{house.port}"}).status == 200, "the reload")
        settings.write_text("hosts: 7:8:9\n")
        os.kill(house.web.pid, signal.SIGHUP)
        eventually(lambda: "have mistakes" in house.web.log.read_text(), "the mistake is said")
        self.assertEqual(browser.request("GET", "/", headers={"Host": f"files.example:{house.port}"}).status, 200)


if __name__ == "__main__":
    unittest.main()
