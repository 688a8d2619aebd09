"""A browser on the page of dld-web, and a small server of files to transfer.

What is on the page is found as readers find it: by role and name, in Chromium's own accessibility tree.
"""

from __future__ import annotations

import atexit
import base64
import functools
import hashlib
import http.server
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from support import PATIENCE, House

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.remote.webelement import WebElement
except ModuleNotFoundError:
    webdriver = ActionChains = By = Keys = WebElement = None  # type: ignore[assignment, misc]

__all__ = ["ActionChains", "By", "Chrome", "Keys", "Origin", "Page", "PageTest", "WebElement", "axe_source", "missing", "origin"]

Value = TypeVar("Value")

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
#: Seconds between two looks at the page.
LOOK = 0.03
#: Chromium's own names of roles that it calls otherwise.
ROLE_WORDS = {"img": "image"}
MODIFIERS = {"Control": "\ue009", "Shift": "\ue008", "Alt": "\ue00a"}


def missing() -> str | None:
    """What the tests of the page lack, in words."""
    if webdriver is None:
        return "selenium (pip install selenium)"
    if not CHROMIUM:
        return "chromium"
    return None if DRIVER else "chromedriver (Debian: chromium-driver)"


def axe_source() -> str:
    """The script of axe-core, from a package of PyPI that brings a recent one along."""
    for package, place in [("axe_playwright_python", "axe.min.js"),
                           ("axe_selenium_python", "node_modules/axe-core/axe.min.js")]:
        found = importlib.util.find_spec(package)
        if found and found.submodule_search_locations:
            return (pathlib.Path(found.submodule_search_locations[0]) / place).read_text()
    raise AssertionError("axe-core is missing: pip install --no-deps axe-playwright-python")


class Origin(http.server.ThreadingHTTPServer):
    """Serves `/data/SIZE/NAME`, `/slow/SIZE/RATE/NAME`, `/status/CODE/NAME`, `/hang/NAME` and `/auth/NAME`, also as a proxy."""

    daemon_threads = True
    credential = ("reader", "se/cret")

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), OriginHandler)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=functools.partial(self.serve_forever, poll_interval=0.05), daemon=True)
        self.thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def end(self) -> None:
        self.ended.set()
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

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        kind, *rest = re.sub(r"^http://[^/]*", "", self.path).lstrip("/").split("/")
        if kind == "data":
            self.serve(int(rest[0]))
        elif kind == "slow":
            self.serve(int(rest[0]), int(rest[1]))
        elif kind == "hang":
            self.server.ended.wait(PATIENCE)
            self.close_connection = True
        elif kind == "auth":
            user, password = self.server.credential
            expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
            if self.headers.get("Authorization") == expected:
                return self.serve(1000)
            self.answer(401, b"", {"WWW-Authenticate": 'Basic realm="<b>vault</b>"'})
        else:
            self.answer(int(rest[0]), b"no", {})

    def answer(self, status: int, body: bytes, fields: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def serve(self, size: int, rate: int | None = None) -> None:
        first, last = 0, size - 1
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked:
            first, last = int(asked[1]), min(last, int(asked[2] or last))
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"%s"' % hashlib.sha256(self.path.encode()).hexdigest()[:8])
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        piece = max(1, (rate or 20_000_000) // 20)
        left = 0 if self.command == "HEAD" else last - first + 1
        while left > 0 and not self.server.ended.is_set():
            self.wfile.write(b"\0" * min(piece, left))
            left -= piece
            if rate and left > 0:
                self.server.ended.wait(0.05)


class Chrome:
    """One browser for all tests of a process."""

    def __init__(self) -> None:
        self.profile = tempfile.mkdtemp(prefix="dld-page-")
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800", "--lang=en",
                         "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                         "--disable-component-update", f"--user-data-dir={self.profile}"):
            options.add_argument(argument)
        options.binary_location = CHROMIUM or ""
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.set_script_timeout(PATIENCE)

    def end(self) -> None:
        try:
            self.driver.quit()
        finally:
            shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """The page in the tab that the driver has open."""

    def __init__(self, driver: Any, house: House) -> None:
        self.driver, self.house = driver, house

    # Places

    def sign_in(self, fragment: str = "") -> None:
        self.driver.get(self.house.link(fragment))
        self.until_ready()

    def open(self, hash: str = "#/") -> None:
        """Loads the page anew."""
        self.driver.get("about:blank")
        self.driver.get(self.house.base + hash)
        self.until_ready()

    def go(self, hash: str) -> None:
        self.run("location.hash = arguments[0]", hash)

    def switch(self, tab: str) -> None:
        """Goes to a tab and brings it to the front: hidden ones do not draw."""
        self.driver.switch_to.window(tab)
        self.cdp("Page.bringToFront")

    def new_tab(self, hash: str = "#/") -> str:
        """Opens the page in a further tab, and returns its handle."""
        self.driver.switch_to.new_window("tab")
        self.open(hash)
        return str(self.driver.current_window_handle)

    def reload(self) -> None:
        self.driver.refresh()
        self.until_ready()

    def until_ready(self) -> None:
        self.until(lambda: self.root("ready") == "true", "html[data-ready] is true")

    @property
    def hash(self) -> str:
        return str(self.run("return location.hash"))

    def root(self, name: str) -> Any:
        """A member of the root element's data."""
        return self.run("return document.documentElement.dataset[arguments[0]]", name)

    def resize(self, width: int, height: int) -> None:
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.until(lambda: self.run("return innerWidth") == width, f"the page is {width} wide")

    def media(self, **features: str) -> None:
        """Emulates media features, such as `prefers_color_scheme="dark"`."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.cdp("Emulation.setEmulatedMedia", features=named)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def cdp(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    # Waiting

    def until(self, condition: Callable[[], Value], what: str, patience: float = 20) -> Value:
        """Returns the first true value of a condition. `what` is said, with what was seen, if it does not come."""
        deadline = time.monotonic() + patience
        value: Value | None = None
        while True:
            try:
                value = condition()
            except (StaleElementReferenceException, NotFound):
                value = None
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {patience:g} s. Last: {value!r}. {self.seen()}")
            time.sleep(LOOK)

    def equals(self, read: Callable[[], Any], expected: Any, what: str, patience: float = 20) -> None:
        """Waits until something reads as expected."""
        last: list[Any] = [None]

        def same() -> bool:
            last[0] = read()
            return bool(last[0] == expected)

        try:
            self.until(same, what, patience)
        except AssertionError as error:
            raise AssertionError(f"{what}: {last[0]!r} is not {expected!r}. {error}") from None

    def seen(self) -> str:
        """What a person sees, in short."""
        try:
            text = self.run("return [...document.body.children].map((each) => each.innerText).join('\\n').replace(/Newest first[^]*?longest first/, '')")
            return f"At {self.run('return location.href')}: {' | '.join(str(text).split(chr(10)))[:900]}"
        except WebDriverException as error:
            return f"The page does not answer: {error.msg}"

    # Finding

    def all(self, role: str, name: str | re.Pattern[str] | None = None, within: WebElement | None = None) -> list[WebElement]:
        """The elements with a role and a name that readers are told of."""
        top = within or self.driver.find_element(By.CSS_SELECTOR, "html")
        prefix, _, number = top.id.rpartition(".")
        try:
            nodes = self.cdp("Accessibility.queryAXTree", backendNodeId=int(number), role=ROLE_WORDS.get(role, role))["nodes"]
        except WebDriverException:
            raise NotFound(role) from None  # the element is gone
        return [WebElement(self.driver, f"{prefix}.{node['backendDOMNodeId']}") for node in nodes
                if not node["ignored"] and fits(name, node.get("name", {}).get("value", ""))]

    def has(self, role: str, name: str | re.Pattern[str] | None = None, within: WebElement | None = None) -> bool:
        return bool(self.all(role, name, within))

    def find(self, role: str, name: str | re.Pattern[str] | None = None, within: WebElement | None = None) -> WebElement:
        """Waits for an element with a role and a name."""
        return self.until(lambda: self.all(role, name, within), f"{role} {name or ''} is there")[0]

    def until_gone(self, role: str, name: str | re.Pattern[str] | None = None) -> None:
        self.until(lambda: not self.has(role, name), f"{role} {name or ''} is gone")

    def names(self, role: str, within: WebElement | None = None) -> list[str]:
        return [element.accessible_name for element in self.all(role, within=within)]

    def click(self, role: str, name: str | re.Pattern[str], within: WebElement | None = None) -> None:
        """Clicks as soon as the element is there and enabled."""
        def press() -> bool:
            found = self.all(role, name, within)
            if not found or not found[0].is_enabled():
                return False
            found[0].click()
            return True

        self.until(press, f"{role} {name} can be clicked")

    def says(self, role: str, text: str | re.Pattern[str]) -> str:
        """Waits until an element of a role has a text."""
        def found() -> str | None:
            texts = [str(element.get_attribute("textContent")) for element in self.all(role)]
            return next((each for each in texts if (text in each if isinstance(text, str) else text.search(each))), None)

        return str(self.until(found, f"{role} says {text}"))

    def message(self, text: str | re.Pattern[str]) -> str:
        return self.says("status", text)

    def value(self, role: str, name: str | re.Pattern[str], within: WebElement | None = None) -> str:
        """What stands in a text box."""
        return str(self.find(role, name, within).get_property("value"))

    # Keys

    def press(self, *chords: str) -> None:
        """Presses keys one after the other, such as `Control+Shift+a`, `ArrowDown` or `?`."""
        for chord in chords:
            *modifiers, key = [chord] if chord == "+" else chord.split("+")
            chain = ActionChains(self.driver, duration=0)
            for modifier in modifiers:
                chain.key_down(MODIFIERS[modifier])
            chain.send_keys(key if len(key) == 1 else getattr(Keys, re.sub(r"(?<!^)(?=[A-Z])", "_", key).upper()))
            for modifier in modifiers:
                chain.key_up(MODIFIERS[modifier])
            chain.perform()

    @property
    def focused(self) -> str:
        """The task whose row has the focus, else the accessible name of what has it."""
        element = self.driver.switch_to.active_element
        return str(element.get_attribute("data-task") or element.accessible_name or element.tag_name)

    # The list

    def rows(self) -> list[dict[str, Any]]:
        """The drawn rows in their order."""
        return list(self.run("""
            return [...document.querySelectorAll('[role="grid"] [role="row"][data-task]')].map((row) => ({
                id: Number(row.dataset.task), index: Number(row.ariaRowIndex), isSelected: row.ariaSelected === "true",
                hasTabStop: row.tabIndex === 0, name: row.querySelector('[role="rowheader"]').textContent,
                status: row.querySelector('.status')?.textContent ?? "", text: row.textContent,
            })).sort((a, b) => a.index - b.index)"""))

    def ids(self) -> list[int]:
        return [row["id"] for row in self.rows()]

    def selected(self) -> list[int]:
        return [row["id"] for row in self.rows() if row["isSelected"]]

    def row(self, task: int) -> WebElement:
        def found() -> list[WebElement]:
            return list(self.driver.find_elements(By.CSS_SELECTOR, f'[role="row"][data-task="{task}"]'))

        return self.until(found, f"the row of task {task} is there")[0]

    def shows(self, *tasks: int) -> None:
        """Waits until these rows are drawn, in this order."""
        self.equals(self.ids, list(tasks), "the rows are these tasks")

    def until_status(self, task: int, text: str) -> None:
        """Waits until a row says a state."""
        def status() -> Any:
            return next((row["status"] for row in self.rows() if row["id"] == task), None)

        self.until(lambda: (status() or "").startswith(text), f"task {task} is {text}, not {status()}")

    def select(self, *tasks: int) -> None:
        """Selects rows with the pointer."""
        chain = ActionChains(self.driver, duration=0)
        chain.click(self.row(tasks[0])).key_down(Keys.CONTROL)
        for task in tasks[1:]:
            chain.click(self.row(task))
        chain.key_up(Keys.CONTROL).perform()
        self.equals(lambda: set(self.selected()), set(tasks), "these rows are selected")

    def choose(self, *entries: str) -> None:
        """Chooses an entry of the menu of the selected rows."""
        self.click("button", "More")
        for entry in entries:
            self.click("menuitemradio" if entry in ("High", "Normal", "Low") else "menuitem", entry)


class NotFound(Exception):
    pass


def fits(pattern: str | re.Pattern[str] | None, text: str) -> bool:
    return pattern is None or (pattern == text if isinstance(pattern, str) else bool(pattern.search(text)))


@functools.cache
def chrome() -> Chrome:
    # A test run that is stopped ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started = Chrome()
    atexit.register(started.end)
    return started


@functools.cache
def shared_house() -> House:
    house = House()
    atexit.register(house.end)
    house.start()
    return house


@functools.cache
def origin() -> Origin:
    started = Origin()
    atexit.register(started.end)
    return started


class PageTest(unittest.TestCase):
    """A test on an empty daemon, with the list open in one tab."""

    #: Console messages that the test provokes.
    expected_messages = r"$^"
    house: House
    page: Page
    origin: Origin

    @classmethod
    def setUpClass(cls) -> None:
        lacking = missing()
        if lacking and os.environ.get("DLD_REQUIRE_SERVERS") == "1":
            raise AssertionError(f"the tests of the page need {lacking}")
        if lacking:
            say_once(f"SKIPPED: the tests of the page need {lacking}")
            raise unittest.SkipTest(f"{lacking} is missing")
        cls.house = cls.make_house()
        cls.page = Page(chrome().driver, cls.house)
        cls.origin = origin()
        cls.page.driver.get("about:blank")
        cls.page.sign_in()

    @classmethod
    def make_house(cls) -> House:
        return shared_house()

    def setUp(self) -> None:
        self.clear()
        self.page.resize(1280, 800)
        self.page.media()
        self.page.driver.get("about:blank")
        self.page.cdp("Storage.clearDataForOrigin", origin=self.house.base.rstrip("/"), storageTypes="local_storage")
        for kind in ("browser", "performance"):
            self.page.driver.get_log(kind)
        self.addCleanup(self.close_tabs)
        self.addCleanup(self.check_browser)
        self.page.open()

    def clear(self) -> None:
        """Takes all tasks out of the daemon, and their files."""
        self.house.call("task.cancel", {"all": True})
        while self.house.call("task.list", {"limit": 1})["tasks"]:
            self.house.call("task.remove", {"all": True})
        changed = {name: None for name, each in self.house.call("settings.get").items()
                   if isinstance(each, dict) and each.get("origin") == "runtime"}
        if changed:
            self.house.call("settings.set", changed)
        for file in (self.house.folder / "files").iterdir():
            file.unlink()

    def close_tabs(self) -> None:
        driver = self.page.driver
        first, *others = driver.window_handles
        for handle in others:
            driver.switch_to.window(handle)
            driver.close()
        self.page.switch(first)

    def check_browser(self) -> None:
        """What must never happen: errors of scripts or of the content policy, and requests to other origins."""
        result = getattr(self._outcome, "result", None)  # type: ignore[attr-defined]
        if any(test is self for test, _ in [*getattr(result, "failures", []), *getattr(result, "errors", [])]):
            return self.keep_sight()
        said = [entry["message"] for entry in self.page.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual([text for text in said if not re.search(self.expected_messages, text)], [])
        self.assertEqual({url for url in self.requests() if not url.startswith((self.house.base, "data:", "about:", "chrome"))}, set())

    def requests(self) -> list[str]:
        """The URLs that the browser has asked for since the last look."""
        urls = []
        for entry in self.page.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(str(message["params"]["request"]["url"]))
        return urls

    def keep_sight(self) -> None:
        """Says what a failed test saw."""
        print(f"\n{self.id()} saw: {self.page.seen()}", file=sys.stderr)
        if not os.environ.get("DLD_KEEP_FOLDERS"):
            return
        folder = pathlib.Path(tempfile.gettempdir()) / "dld-page-failures"
        folder.mkdir(exist_ok=True)
        self.page.driver.save_screenshot(str(folder / f"{self.id()}.png"))
        print(f"kept {folder / self.id()}.png", file=sys.stderr)

    # Tasks

    def add(self, *paths: str, **members: Any) -> list[int]:
        """Adds tasks by paths of the origin; waits until their rows are there."""
        specs = [{"url": self.origin.url(path), "destination": {"directory": str(self.house.folder / "files")}} | members
                 for path in paths]
        return self.house.add(*specs)

    def add_paused(self, *names: str, **members: Any) -> list[int]:
        """Adds paused tasks, the first of them last in the list."""
        ids = self.add(*[f"data/1000/{name}" for name in names], startPaused=True, **members)
        self.page.shows(*reversed(ids))
        return ids

    def task(self, number: int) -> dict[str, Any]:
        return dict(self.house.call("task.get", {"id": number}))

    def until_state(self, number: int, *states: str) -> None:
        self.page.until(lambda: self.task(number)["state"] in states, f"task {number} is {' or '.join(states)}")

    def exists(self, number: int) -> bool:
        return bool(self.house.call("task.list", {"ids": [number]})["tasks"])

    @contextmanager
    def tab(self, hash: str = "#/") -> Iterator[str]:
        """A further tab while the body runs."""
        first = self.page.driver.current_window_handle
        handle = self.page.new_tab(hash)
        try:
            yield handle
        finally:
            self.page.driver.switch_to.window(handle)
            self.page.driver.close()
            self.page.switch(first)


@functools.cache
def say_once(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
