"""Metrics: promtool has nothing to say of them, and Prometheus collects them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

from support import BINARIES, HouseTest, eventually


def needs(program: str) -> None:
    """Skips the test without the program, or fails where all programs must be there."""
    if shutil.which(program):
        return
    if os.environ.get("DLD_REQUIRE_SERVERS"):
        raise AssertionError(f"{program} is missing")
    raise unittest.SkipTest(f"{program} is missing")


class Metrics(HouseTest):
    def text(self) -> str:
        answer = self.house.browser().request("GET", "/metrics", cookie=False, token=False)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return answer.body.decode()

    def check(self, text: str) -> None:
        needs("promtool")
        said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual((said.returncode, said.stdout, said.stderr), (0, "", ""))

    def test_promtool_has_nothing_to_say(self) -> None:
        self.house.add({"url": "data:,x", "destination": {"directory": str(self.house.folder / "files")}})
        eventually(lambda: 'outcome="completed"' in self.text(), "the end is counted")
        text = self.text()
        self.check(text)
        for name in ("dld_up 1", "dld_build_info{", 'dld_tasks{state="completed",kind="download"} 1', "dld_events_head",
                     "dld_store_commit_seconds_bucket", "dld_file_sync_seconds_count", "dld_web_streams 0",
                     'dld_web_requests_total{route="/metrics",class="2xx"}', "process_resident_memory_bytes"):
            self.assertIn(name, text)
        self.assertNotIn(str(self.house.folder), text)

    def test_without_dld_it_says_so(self) -> None:
        self.house.daemon.stop()
        self.addCleanup(self.house.start_daemon)
        eventually(lambda: "dld_up 0" in self.text(), "dld is away")
        self.check(self.text())

    def test_dlctl_writes_the_same_rows(self) -> None:
        said = subprocess.run([BINARIES / "dlctl", "--socket", str(self.house.socket), "metrics"],
                              capture_output=True, text=True, check=True).stdout
        self.check(said)
        names = {line.split()[2] for line in said.splitlines() if line.startswith("# TYPE")}
        page = {line.split()[2] for line in self.text().splitlines() if line.startswith("# TYPE")}
        self.assertEqual({name for name in page if name.startswith("dld_") and not name.startswith("dld_web_")}, names)

    def test_prometheus_collects_them(self) -> None:
        needs("prometheus")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = self.house.folder / "prometheus.yml"
        settings.write_text(
            "scrape_configs:\n- job_name: dld\n  scrape_interval: 1s\n  static_configs:\n"
            f"  - targets: ['127.0.0.1:{self.house.port}']\n")
        with (self.house.folder / "prometheus.log").open("wb") as log:
            server = subprocess.Popen(
                ["prometheus", f"--config.file={settings}", f"--storage.tsdb.path={self.house.folder / 'tsdb'}",
                 f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)

        def value(query: str) -> str | None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}") as answer:
                    found = json.load(answer)["data"]["result"]
            except (urllib.error.URLError, ConnectionError):
                return None
            return str(found[0]["value"][1]) if found else None

        eventually(lambda: value("dld_up") == "1", "Prometheus has the figure")
        self.assertEqual(value("up"), "1")


if __name__ == "__main__":
    unittest.main()
