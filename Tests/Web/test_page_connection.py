"""Several tabs, lost servers, sleep and signing out: the page always knows whether it is live."""

from __future__ import annotations

import os
import re
import time
import unittest
import urllib.request
from collections.abc import Callable
from typing import Any

from browser import PageTest

#: Seconds after the return of a server within which the page must be live.
RETURN = 6.0


class ConnectionTest(PageTest):
    # What the browser itself says about requests that fail.
    expected_messages = r"Failed to load resource|net::ERR|Failed to fetch"

    def setUp(self) -> None:
        self.addCleanup(self.restart)
        super().setUp()

    def restart(self) -> None:
        """Starts again what a test killed."""
        if not self.house.daemon.running():
            self.house.start_daemon()
        if not self.house.web.running():
            self.house.start_web()

    def connection(self) -> str:
        return str(self.page.root("connection"))

    def until_connection(self, *states: str, patience: float = 20) -> None:
        self.page.until(lambda: self.connection() in states, f"the connection is {states}, not {self.connection()}", patience)

    def streams(self) -> int:
        with urllib.request.urlopen(self.house.base + "metrics") as answer:
            return int(re.findall(r"^dld_web_streams (\d+)", answer.read().decode(), re.M)[0])

    def entries(self) -> list[str]:
        return [str(text) for text in self.page.run("return [...document.querySelectorAll('[role=region] ol li')].map((each) => each.textContent)")]


class Tabs(ConnectionTest):
    def test_all_tabs_share_one_stream_and_another_takes_over(self) -> None:
        task, = self.add_paused("a.bin")
        first = self.page.driver.current_window_handle
        with self.tab() as second, self.tab() as third:
            self.page.equals(self.streams, 1, "three tabs, one stream")
            for handle in (first, second, third):
                self.page.switch(handle)
                self.until_connection("live")
            # The tab that reads the stream goes away.
            self.page.switch(first)
            self.page.driver.get("about:blank")
            self.house.call("task.resume", {"ids": [task]})
            for handle in (second, third):
                self.page.switch(handle)
                self.page.until_status(task, "Done")
                self.until_connection("live")
            self.page.equals(self.streams, 1, "one stream again")

    def test_two_tabs_agree(self) -> None:
        task, = self.add("slow/9000000/100000/a.bin")
        first = self.page.driver.current_window_handle
        self.page.until_status(task, "Downloading")
        with self.tab() as second:
            self.page.select(task)
            self.page.press("p")
            for handle in (second, first):
                self.page.switch(handle)
                self.page.until_status(task, "Paused")
                self.page.until(lambda: self.page.has("link", "Paused 1"), "the counts agree")

    def test_signing_out_ends_every_tab(self) -> None:
        first = self.page.driver.current_window_handle
        with self.tab("#/settings") as second:
            self.page.click("button", "Sign out", within=self.page.find("dialog", "Settings"))
            for handle in (second, first):
                self.page.switch(handle)
                self.until_connection("signed-out")
                self.page.says("alert", "dlctl web")
        self.page.driver.get("about:blank")
        self.page.sign_in()
        self.until_connection("live")

    def test_a_revoked_session_is_signed_out(self) -> None:
        self.house.control("web.revoke", {"session": "all"})
        self.until_connection("signed-out")
        self.page.says("alert", "dlctl web")
        self.page.driver.get("about:blank")
        self.page.sign_in()


class LostServers(ConnectionTest):
    def looks(self) -> str:
        """Colour and opacity of a name in the list."""
        return str(self.page.run("""
            const name = document.querySelector('[role="rowheader"] bdi');
            let opacity = 1;
            for (let each = name; each; each = each.parentElement) opacity *= getComputedStyle(each).opacity;
            return `${getComputedStyle(name).color} ${opacity}`"""))

    def lose_and_find(self, lose: Callable[[], None], states: tuple[str, ...], says: str, meanwhile: Callable[[], Any], find: Callable[[], None]) -> None:
        """Kills a server and starts it again. The page says so, goes on by itself, and misses nothing."""
        task, = self.add_paused("a.bin")
        self.page.select(task)
        before = self.looks()
        self.page.run("window.isSame = true")
        lose()
        self.until_connection(*states)
        self.page.says("alert", says)
        self.assertEqual(self.page.ids(), [task], "the list stays")
        self.page.until(lambda: self.looks() != before, "the list is muted")
        for name in ("Add", "Resume", "Remove"):
            self.page.until(lambda: not self.page.find("button", name).is_enabled(), f"{name} is disabled")
        meanwhile()
        find()
        began = time.monotonic()
        self.until_connection("live")
        self.assertLessEqual(time.monotonic() - began, RETURN)
        self.page.until(lambda: not any(says in each.text for each in self.page.all("alert")), "the banner is gone")
        later, = self.add("data/10/later.bin")
        self.page.until_status(later, "Done")
        for name in ("Add", "Resume", "Remove"):
            self.page.until(lambda: self.page.find("button", name).is_enabled(), f"{name} is enabled")
        self.page.equals(self.looks, before, "the list looks as before")
        self.assertTrue(self.page.run("return window.isSame"), "it did not reload")

    def test_dld_is_killed_and_comes_back(self) -> None:
        self.lose_and_find(self.house.daemon.kill, ("away",), "dld does not answer. Trying again…", lambda: None, self.house.start_daemon)

    def test_dld_web_is_killed_and_comes_back(self) -> None:
        def change() -> None:
            self.add("data/10/meanwhile.bin")

        self.lose_and_find(self.house.web.kill, ("connecting", "away"), "The page's server does not answer", change, self.house.start_web)
        self.page.until(lambda: len(self.page.rows()) == 3, "what was added meanwhile is there")

    def assert_log(self, head: int) -> None:
        events = self.house.call("events.list", {"after": head, "limit": 1000})["events"]
        expected = [f"#{event['task']}" for event in events if "task" in event]

        def shown() -> list[str]:
            found = [re.search(r"#(\d+)", entry) for entry in self.entries()]
            first = int(expected[0][1:])
            return [each[0] for each in found if each and int(each[1]) >= first]

        self.page.equals(shown, expected, "each event once, in order")

    def test_no_event_is_lost_or_told_twice(self) -> None:
        self.page.open("#/log")
        self.page.find("region", "Log")
        for program, start in ((self.house.web, self.house.start_web), (self.house.daemon, self.house.start_daemon)):
            with self.subTest(program.name):
                head = self.house.call("daemon.stats")["head"]
                before, = self.add("data/10/before.bin")
                self.until_state(before, "completed")
                self.page.until(lambda: any("Done" in entry and f"#{before}" in entry for entry in self.entries()), "the log is live")
                program.kill()
                self.page.until(lambda: self.connection() != "live", "the page notices")
                if program is self.house.web:
                    self.add("data/10/meanwhile.bin", "status/404/meanwhile.bin")
                start()
                after, = self.add("data/10/after.bin")
                self.until_state(after, "completed")
                self.until_connection("live")
                self.assert_log(head)

    def test_a_change_that_may_have_got_lost_is_said_to_and_not_repeated(self) -> None:
        task, = self.add("slow/9000000/100000/a.bin")
        self.page.until_status(task, "Downloading")
        self.page.select(task)
        self.page.run("""window.sent = 0; const real = fetch; window.fetch = async (url, options) => {
            if (!options?.body || !String(options.body).includes("task.pause")) return real(url, options);
            sent += 1;
            throw new TypeError("network error"); }""")
        self.page.press("p")
        self.page.says("alert", "may not have happened")
        self.assertEqual(self.page.run("return sent"), 1)

    def test_a_removal_whose_time_comes_while_dld_is_away_loses_no_row(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.select(task)
        self.page.press("Delete")
        self.page.shows()
        self.house.daemon.kill()
        self.until_connection("away")
        self.page.until(lambda: not self.page.has("button", "Undo"), "it can no longer be undone", 15)
        self.house.start_daemon()
        self.until_connection("live")
        self.page.equals(lambda: self.exists(task), task in self.page.ids(), "the page shows what is")


class Sleep(ConnectionTest):
    def setUp(self) -> None:
        """A tab that was frozen once is not used again: Chromium keeps some of that state."""
        super().setUp()
        self.page.driver.get("about:blank")
        self.page.new_tab()

    def wake(self) -> None:
        """Chromium hides what it freezes, and shows it again only once another tab was in front."""
        tab = self.page.driver.current_window_handle
        self.page.cdp("Page.setWebLifecycleState", state="active")
        self.page.driver.switch_to.new_window("tab")
        self.page.driver.close()
        self.page.switch(tab)
        self.page.until(lambda: self.page.run("return document.visibilityState") == "visible", "it is seen again")

    def test_after_waking_the_page_goes_on_by_number(self) -> None:
        older, = self.add_paused("a.bin")
        self.page.run("window.isSame = true")
        self.page.cdp("Page.setWebLifecycleState", state="frozen")
        added = self.add("data/10/b.bin", "status/404/c.bin")
        self.house.call("task.cancel", {"ids": [older]})
        self.house.call("task.remove", {"ids": [older]})
        self.until_state(added[0], "completed")
        self.until_state(added[1], "failed")
        self.wake()
        self.page.shows(*reversed(added))
        self.page.until_status(added[0], "Done")
        self.page.until_status(added[1], "Failed")
        self.until_connection("live")
        self.assertTrue(self.page.run("return window.isSame"))

    def test_a_restart_during_sleep_is_noticed(self) -> None:
        self.page.cdp("Page.setWebLifecycleState", state="frozen")
        self.house.web.kill()
        task, = self.add("data/10/a.bin")
        self.until_state(task, "completed")
        self.house.start_web()
        self.wake()
        self.page.shows(task)
        self.page.until_status(task, "Done")
        self.until_connection("live")

    @unittest.skipUnless(os.environ.get("DLD_LONG_TESTS") == "1", "takes a minute")
    def test_other_tabs_go_on_while_the_one_that_reads_is_frozen(self) -> None:
        """The browser may freeze any tab, also the one that has the stream."""
        first = self.page.driver.current_window_handle
        with self.tab() as second:
            self.page.switch(first)
            self.page.cdp("Page.setWebLifecycleState", state="frozen")
            self.addCleanup(lambda: self.page.cdp("Page.setWebLifecycleState", state="active"))
            self.page.switch(second)
            task, = self.add("data/10/a.bin")
            # A stream that says nothing for 40 s is dead.
            self.page.until(lambda: task in self.page.ids(), "the other tab has the row", 55)
            self.page.switch(first)
            self.wake()
            self.page.shows(task)


if __name__ == "__main__":
    unittest.main()
