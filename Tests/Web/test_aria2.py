"""aria2's interface, by an unmodified client of aria2."""

from __future__ import annotations

import http.client
import http.server
import json
import threading
import unittest
from typing import Any

try:
    import aria2p
except ImportError:
    aria2p = None

from support import House, eventually


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"" if "missing" in self.path else b"x" * 5000
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@unittest.skipIf(aria2p is None, "aria2p is missing: scripts/install-test-servers")
class Aria2(unittest.TestCase):
    house: House

    @classmethod
    def setUpClass(cls) -> None:
        cls.house = House("--aria2", "--aria2-port", "0", "--aria2-secret-file", "secret")
        cls.addClassCleanup(cls.house.end)
        secret = cls.house.folder / "secret"
        secret.write_text("s3cret\n")
        cls.house.web.arguments = tuple(str(secret) if each == "secret" else each for each in cls.house.web.arguments)
        cls.house.start()
        cls.port = cls.house.browser().request("GET", "/session").json["aria2"]
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        cls.addClassCleanup(lambda: (server.shutdown(), thread.join(), server.server_close()))
        cls.origin = f"http://127.0.0.1:{server.server_address[1]}/"
        cls.api = aria2p.API(aria2p.Client(host="http://127.0.0.1", port=cls.port, secret="s3cret"))

    def post(self, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", "/jsonrpc", json.dumps(body), headers or {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), answer.headers
        finally:
            connection.close()

    def test_a_download_is_added_and_ends(self) -> None:
        download = self.api.add_uris([self.origin + "file"], {"dir": str(self.house.folder / "files"), "out": "name.bin"})
        eventually(lambda: self.api.get_download(download.gid).status == "complete", "the download")
        self.assertEqual((self.house.folder / "files" / "name.bin").stat().st_size, 5000)
        self.assertEqual(self.api.get_download(download.gid).total_length, 5000)
        [task] = [task for task in self.house.call("task.list", {})["tasks"]
                  if (task.get("attributes") or {}).get("aria2.gid") == download.gid]
        self.assertEqual(task["state"], "completed")

    def test_a_failure_has_its_code(self) -> None:
        download = self.api.add_uris([self.origin + "missing"], {"dir": str(self.house.folder / "files")})
        eventually(lambda: self.api.get_download(download.gid).status == "error", "the failure")
        self.assertEqual(self.api.get_download(download.gid).error_code, "3")

    def test_pause_and_resume(self) -> None:
        download = self.api.add_uris([self.origin + "paused"], {"dir": str(self.house.folder / "files"), "pause": "true"})
        self.assertEqual(self.api.get_download(download.gid).status, "paused")
        self.api.resume([download])
        eventually(lambda: self.api.get_download(download.gid).status == "complete", "the download")

    def test_pages_need_the_secret(self) -> None:
        call = {"jsonrpc": "2.0", "id": 1, "method": "aria2.getVersion", "params": []}
        self.assertEqual(self.post(call)[0], 200)
        page = {"Origin": "http://ariang.example"}
        status, answer, headers = self.post(call, page)
        self.assertEqual((status, answer["error"]), (400, {"code": 1, "message": "Unauthorized"}))
        self.assertEqual(headers["Access-Control-Allow-Origin"], "http://ariang.example")
        self.assertEqual(self.post(call | {"params": ["token:s3cret"]}, page)[0], 200)
        self.assertEqual(self.post(call, {"Host": f"evil.example:{self.port}"})[0], 421)

    def test_torrents_are_refused(self) -> None:
        call = {"jsonrpc": "2.0", "id": 1, "method": "aria2.addTorrent", "params": ["eA=="]}
        self.assertEqual(self.post(call)[1]["error"]["message"], "dld does not transfer torrents")


if __name__ == "__main__":
    unittest.main()
