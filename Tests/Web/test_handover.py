"""The hand-over of downloads: an extension in chromium, dlctl as chromium starts it, and dld.

The extension speaks as those of Gopeed and Persepolis do. Its id is its own, as theirs come with keys that only their
authors have: so the tests add it to the manifest that `dlctl browser install` writes.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import threading
import unittest
from typing import Any

from browser import CHROMIUM, DRIVER, By, missing, say_once, webdriver
from support import BINARIES, PATIENCE, House, eventually

GOPEED = "com.gopeed.gopeed"
PERSEPOLIS = "com.persepolis.pdmchromewrapper"
#: What an extension's id is made of. Chromium takes any bytes.
KEY = b"an extension of dld's tests"
EXTENSION = "".join(chr(ord("a") + int(digit, 16)) for digit in hashlib.sha256(KEY).hexdigest()[:32])

MANIFEST = {
    "manifest_version": 3, "name": "Hands downloads over", "version": "1", "key": base64.b64encode(KEY).decode(),
    "permissions": ["nativeMessaging", "cookies", "downloads"], "host_permissions": ["http://127.0.0.1/*"],
}
PAGE = '<!doctype html><title>Extension</title><script src="page.js"></script>'
SCRIPT = """
"use strict";
let port = null;
let waiting = [];
const handed = [];

function connect() {
    port = chrome.runtime.connectNative("com.gopeed.gopeed");
    port.onMessage.addListener((answer) => waiting.shift().resolve(answer));
    port.onDisconnect.addListener(() => {
        const error = new Error(chrome.runtime.lastError?.message ?? "the port is closed");
        waiting.splice(0).forEach((each) => each.reject(error));
        port = null;
    });
}

function disconnect() {
    port.disconnect();
    port = null;
}

// The answer of dlctl, else {error}.
function post(message) {
    if (!port) connect();
    const answer = new Promise((resolve, reject) => waiting.push({resolve, reject}));
    port.postMessage(message);
    return answer.catch((error) => ({error: error.message}));
}

async function cookies(url) {
    return (await chrome.cookies.getAll({url})).map(({name, value}) => `${name}=${value}`).join("; ");
}

async function create(url, referrer) {
    const header = {"User-Agent": navigator.userAgent, Cookie: await cookies(url) || undefined, Referer: referrer};
    return post({method: "create", meta: {silent: true}, params: btoa(JSON.stringify({req: {url, extra: {header}}}))});
}

async function sendLinks(links) {
    const url_links = [];
    for (const link of links) {
        const sent = {cookies: await cookies(link.url), useragent: navigator.userAgent, referrer: "", postdata: ""};
        url_links.push({...sent, ...link});
    }
    return sendOnce({url_links, version: "4.0.0"});
}

// Chromium closes the port as soon as an answer is there.
function sendOnce(message) {
    return chrome.runtime.sendNativeMessage("com.persepolis.pdmchromewrapper", message).catch((error) => ({error: error.message}));
}

chrome.downloads.onDeterminingFilename.addListener((item) => {
    (async () => {
        await chrome.downloads.cancel(item.id);
        const [left] = await chrome.downloads.search({id: item.id});
        handed.push({answer: await create(item.finalUrl, item.referrer), state: left.state, reason: left.error});
    })().catch((error) => handed.push({error: error.message}));
    return true;  // The name comes later, which is never: the browser keeps nothing.
});
"""


class Origin(http.server.ThreadingHTTPServer):
    """A page that signs in by cookies, and files for those who are signed in."""

    daemon_threads = True
    body = bytes(range(256)) * 400

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), OriginHandler)
        #: Paths and header fields of the requests for files that no page has sent.
        self.asked: list[tuple[str, Any, bytes]] = []
        self.thread = threading.Thread(target=functools.partial(self.serve_forever, poll_interval=0.05))
        self.thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def requests(self, path: str) -> list[tuple[Any, bytes]]:
        return [(fields, body) for asked, fields, body in self.asked if asked == "/" + path]

    def end(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error."""


class OriginHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Origin

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        form = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/":
            page = b'<!doctype html><title>Files</title><a href="files/clicked">The file</a>'
            fields = [("Set-Cookie", "sid=s3cret; Path=/files; HttpOnly; SameSite=Strict"), ("Set-Cookie", "lang=en")]
            return self.answer(200, page, [*fields, ("Content-Type", "text/html")])
        if not self.path.startswith("/files/"):
            return self.answer(404, b"", [])
        if "Sec-Fetch-Mode" not in self.headers:
            self.server.asked.append((self.path, self.headers, form))
        if "sid=s3cret" not in self.headers.get("Cookie", "").split("; "):
            return self.answer(403, b"Sign in first", [])
        self.answer(200, self.server.body, [("Content-Disposition", "attachment"), ("Content-Type", "application/octet-stream")])

    def answer(self, status: int, body: bytes, fields: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Chromium:
    """A browser of the house with the extension, whose page is open in the first tab."""

    def __init__(self, house: House) -> None:
        extension = house.folder / "extension"
        self.profile = house.folder / ".config" / "chromium"
        extension.mkdir(exist_ok=True)
        for name, text in [("manifest.json", json.dumps(MANIFEST)), ("page.html", PAGE), ("page.js", SCRIPT)]:
            (extension / name).write_text(text)
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--lang=en", "--disable-dev-shm-usage",
                         "--no-first-run", "--disable-background-networking", "--disable-component-update",
                         "--password-store=basic", f"--user-data-dir={self.profile}",
                         f"--load-extension={extension}", f"--disable-extensions-except={extension}"):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"download.default_directory": str(house.folder / "of-browser")})
        options.binary_location = CHROMIUM or ""
        service = webdriver.ChromeService(DRIVER, env=environment(house))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_script_timeout(PATIENCE)
        self.tab = self.driver.current_window_handle

    def open(self) -> None:
        """Loads the extension's page anew. Its port is closed by that."""
        self.driver.get(f"chrome-extension://{EXTENSION}/page.html")

    def run(self, script: str, *arguments: Any) -> Any:
        """The result of a script in the extension's page, or what it promises."""
        return self.driver.execute_script(script, *arguments)

    def end(self) -> None:
        """Ends the browser, and waits for the last of its processes: they write into the house's folder."""
        self.driver.quit()
        eventually(lambda: not programs(str(self.profile)), "the end of chromium")


def programs(text: str) -> list[str]:
    """The command lines of all processes in which a text occurs."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended
        if text in line:
            found.append(line)
    return found


def environment(house: House) -> dict[str, str]:
    """That of the user whose home is the house, without a desktop."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("DLD_", "XDG_"))}
    return plain | {"HOME": str(house.folder), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={house.folder / 'no-bus'}"}


class Handover(unittest.TestCase):
    house: House
    origin: Origin
    chromium: Chromium
    downloads: dict[str, Any]
    #: The page's cookies, as a task has them. The extensions do not tell their paths.
    cookies = [{"name": name, "value": value, "domain": "127.0.0.1", "path": "/", "secure": False, "httpOnly": False, "hostOnly": True}
               for name, value in [("sid", "s3cret"), ("lang", "en")]]

    @classmethod
    def setUpClass(cls) -> None:
        lacking = missing()
        if lacking and os.environ.get("DLD_REQUIRE_SERVERS") == "1":
            raise AssertionError(f"the tests of the hand-over need {lacking}")
        if lacking:
            say_once(f"SKIPPED: the tests of the hand-over need {lacking}")
            raise unittest.SkipTest(f"{lacking} is missing")
        cls.house = House()
        cls.addClassCleanup(cls.house.end)
        cls.house.start_daemon()
        cls.origin = Origin()
        cls.addClassCleanup(cls.origin.end)
        # dlctl tells only browsers that have run.
        (cls.house.folder / ".config" / "chromium").mkdir(parents=True)
        cls.install()
        cls.downloads = {"directory": str(cls.house.folder / "Downloads"), "isDefault": True}
        cls.start_browser()
        cls.addClassCleanup(lambda: cls.chromium.end())

    @classmethod
    def start_browser(cls) -> None:
        cls.chromium = Chromium(cls.house)

    def setUp(self) -> None:
        self.chromium.open()
        self.assert_nothing_runs()
        self.addCleanup(self.remove_tasks)

    # The manifests

    @classmethod
    def install(cls) -> None:
        """Installs both hosts, and adds the extension of the tests to those that they serve."""
        cls.install_for_stores()
        for path in cls.manifests():
            manifest = json.loads(path.read_text())
            manifest["allowed_origins"].append(f"chrome-extension://{EXTENSION}/")
            path.write_text(json.dumps(manifest))

    @classmethod
    def install_for_stores(cls) -> None:
        for host in ("gopeed", "persepolis"):
            cls.dlctl("browser", "install", "--as", host, "--browser", "chromium")

    @classmethod
    def manifests(cls) -> list[pathlib.Path]:
        folder = cls.house.folder / ".config" / "chromium" / "NativeMessagingHosts"
        return [folder / f"{name}.json" for name in (GOPEED, PERSEPOLIS)]

    @classmethod
    def dlctl(cls, *arguments: str) -> None:
        said = subprocess.run([BINARIES / "dlctl", *arguments, "--socket", cls.house.socket], env=environment(cls.house),
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert said.returncode == 0, said

    # Processes and tasks

    def hosts(self) -> list[str]:
        """The command lines of what serves the extension: the scripts that the manifests name, and dlctl."""
        return programs(f"{self.house.folder}/.local/share/dld/browser/") + programs(f"--socket {self.house.socket} browser host ")

    def assert_nothing_runs(self) -> None:
        eventually(lambda: not self.hosts(), "the end of dlctl and its script")

    def tasks(self) -> list[dict[str, Any]]:
        return list(self.house.call("task.list", {"session": "browser"})["tasks"])

    def until_ended(self, count: int) -> list[dict[str, Any]]:
        """Waits for so many tasks and their ends; returns all about them in the order in which they were added."""
        def ended() -> list[dict[str, Any]]:
            found = self.tasks()
            return found if len(found) == count and all(each["state"] in ("completed", "failed") for each in found) else []

        ids = sorted(task["id"] for task in eventually(ended, f"the end of {count} tasks"))
        return [self.house.call("task.get", {"id": number, "secrets": True}) for number in ids]

    def remove_tasks(self) -> None:
        if not self.house.daemon.running():
            return
        for task in self.house.call("task.list", {})["tasks"]:
            self.house.call("task.remove", {"ids": [task["id"]], "deleteFile": True})

    def sign_in(self) -> None:
        """Visits the origin's page in a tab of its own, which gets its cookies."""
        driver = self.chromium.driver
        driver.switch_to.new_window("tab")
        self.addCleanup(self.close_tab)
        driver.get(self.origin.url(""))

    def close_tab(self) -> None:
        driver = self.chromium.driver
        for handle in driver.window_handles:
            if handle != self.chromium.tab:
                driver.switch_to.window(handle)
                driver.close()
        driver.switch_to.window(self.chromium.tab)

    # Tests

    def test_a_link_that_is_clicked_is_transferred_by_dld(self) -> None:
        """What the browser would download arrives by dld, with the browser's cookies and name, and the page."""
        self.sign_in()
        self.chromium.driver.find_element(By.LINK_TEXT, "The file").click()
        self.chromium.driver.switch_to.window(self.chromium.tab)
        [handed] = eventually(lambda: self.chromium.run("return handed"), "the hand-over")
        self.assertEqual(handed, {"answer": {"code": 0}, "state": "interrupted", "reason": "USER_CANCELED"})
        [task] = self.until_ended(1)
        name = self.chromium.run("return navigator.userAgent")
        self.assertEqual(given(task), {
            "kind": "download", "session": "browser", "url": self.origin.url("files/clicked"),
            "headers": [["Referer", self.origin.url("")], ["User-Agent", name]],
            "cookies": self.cookies, "destination": self.downloads,
        })
        self.assertEqual(task["state"], "completed", task)
        self.assertEqual(pathlib.Path(task["file"]).read_bytes(), self.origin.body)
        [(fields, _)] = self.origin.requests("files/clicked")
        self.assertEqual(sorted(fields["Cookie"].split("; ")), ["lang=en", "sid=s3cret"])
        self.assertEqual((fields["Referer"], fields["User-Agent"]), (self.origin.url(""), name))
        self.assertEqual(list(self.house.folder.glob("of-browser/*")), [])

    def test_without_the_cookie_the_file_does_not_come(self) -> None:
        """The origin demands the cookie, so that the other tests prove that it is sent."""
        url = self.origin.url("files/unknown")
        self.chromium.run("return chrome.cookies.getAll({}).then((all) => Promise.all(all.map("
                          "({name, path}) => chrome.cookies.remove({name, url: arguments[0] + path}))))", self.origin.url("")[:-1])
        self.assertEqual(self.chromium.run("return create(...arguments)", url, self.origin.url("")), {"code": 0})
        [task] = self.until_ended(1)
        self.assertEqual((task["state"], task["response"]["status"]), ("failed", 403))
        self.assertNotIn("cookies", task)

    def test_links_of_a_page_come_in_one_message(self) -> None:
        """Each link of Persepolis has its members, though chromium closes the port when it has read the greeting."""
        self.sign_in()
        self.chromium.driver.switch_to.window(self.chromium.tab)
        page = self.origin.url("")
        links = [
            {"url": self.origin.url("files/first"), "referrer": page, "filename": "../../named"},
            {"url": self.origin.url("files/second"), "useragent": "", "header": "X-Asked: yes", "postdata": "a=1&b=2"},
        ]
        self.assertEqual(self.chromium.run("return sendLinks(arguments[0])", links), {"enable": True, "version": "1.85"})
        first, second = self.until_ended(2)
        name = self.chromium.run("return navigator.userAgent")
        both = {"kind": "download", "session": "browser", "cookies": self.cookies}
        self.assertEqual(given(first), both | {
            "url": links[0]["url"], "headers": [["User-Agent", name], ["Referer", page]],
            "destination": self.downloads | {"filename": "named"},
        })
        self.assertEqual(given(second), both | {
            "url": links[1]["url"], "headers": [["X-Asked", "yes"], ["Content-Type", "application/x-www-form-urlencoded"]],
            "method": "POST", "body": {"text": "a=1&b=2"}, "destination": self.downloads,
        })
        for task in (first, second):
            self.assertEqual(task["state"], "completed", task)
            self.assertEqual(pathlib.Path(task["file"]).read_bytes(), self.origin.body)
        self.assertEqual(pathlib.Path(first["file"]).name, "named")
        [(fields, form)] = self.origin.requests("files/second")
        self.assertEqual((fields["X-Asked"], form), ("yes", b"a=1&b=2"))
        self.assert_nothing_runs()

    def test_a_check_adds_nothing(self) -> None:
        """Persepolis is greeted when it only asks whether its program is there."""
        self.assertEqual(self.chromium.run("return sendOnce({version: '4.0.0'})"), {"enable": True, "version": "1.85"})
        self.assert_nothing_runs()
        self.assertEqual(self.tasks(), [])

    def test_a_refusal_reaches_the_extension(self) -> None:
        """What is refused is answered as an error, in its place, and the port goes on."""
        answers = self.chromium.run("""
            return Promise.all([post({method: "ping"}), create("blob:http://127.0.0.1/x"), create("http://a b/"),
                post({method: "create", params: "{}"}), post({method: "nonsense"}), post({method: "ping"})])""")
        self.assertEqual([each.get("code") for each in answers], [0, 1, 1, 1, 1, 0], answers)
        self.assertEqual(answers[0], {"code": 0, "data": True})
        self.assertEqual(answers[1]["message"], "Links are of http, https or ftp.")
        self.assertIn("percent-encoded", answers[2]["message"])
        self.assertEqual(answers[4]["message"], "Unknown method: nonsense")
        self.assertEqual(self.tasks(), [])

    def test_without_dld_the_extension_is_told(self) -> None:
        """A browser's message does not start dld: the extension hears that it is away, and how to start it."""
        self.house.daemon.stop()
        self.addCleanup(self.house.start_daemon)
        self.assertEqual(self.chromium.run("return post({method: 'ping'})"), {"code": 0, "data": False})
        answer = self.chromium.run("return create(arguments[0])", self.origin.url("files/away"))
        self.assertEqual(answer["code"], 1)
        self.assertIn("dlctl start", answer["message"])

    def test_dlctl_ends_with_its_port(self) -> None:
        """One dlctl serves all messages of a port, and ends when the port or its page is closed."""
        for end in (lambda: self.chromium.run("disconnect()"), self.chromium.open):
            for _ in range(2):
                self.assertEqual(self.chromium.run("return post({method: 'ping'})"), {"code": 0, "data": True})
            started = [line for line in self.hosts() if line.startswith(f"{(BINARIES / 'dlctl').resolve()} ")]
            self.assertEqual(len(started), 1, self.hosts())
            end()
            self.assert_nothing_runs()

    def test_dlctl_ends_with_the_browser(self) -> None:
        """Neither chromium nor what it has started stays when the browser is closed with an open port."""
        self.assertEqual(self.chromium.run("return post({method: 'ping'})"), {"code": 0, "data": True})
        self.assertNotEqual(self.hosts(), [])
        self.addCleanup(self.start_browser)
        self.chromium.end()
        self.assert_nothing_runs()

    def test_another_extension_is_refused(self) -> None:
        """Chromium starts nothing for an extension that the manifest of `dlctl browser install` does not name."""
        self.addCleanup(self.install)
        for path in self.manifests():
            path.unlink()
        self.install_for_stores()
        refusal = {"error": "Access to the specified native messaging host is forbidden."}
        self.assertEqual(self.chromium.run("return post({method: 'ping'})"), refusal)
        self.assertEqual(self.chromium.run("return sendLinks([{url: arguments[0]}])", self.origin.url("files/other")), refusal)
        self.assertEqual((self.hosts(), self.tasks()), ([], []))
        self.dlctl("browser", "remove")
        gone = {"error": "Specified native messaging host not found."}
        self.assertEqual(self.chromium.run("return post({method: 'ping'})"), gone)


def given(task: dict[str, Any]) -> dict[str, Any]:
    """What a task was added with: all but what the daemon says of its course."""
    course = {"id", "owner", "state", "bytesReceived", "bytesExpected", "bytesSent", "bytesToSend", "rate", "attempts", "createdAt",
              "startedAt", "finishedAt", "position", "file", "verified", "response", "metrics"}
    return {name: value for name, value in task.items() if name not in course}


if __name__ == "__main__":
    unittest.main()
