"""The page's frame and its list: roles and names, filters, search, orders, columns, looks, and foreign text."""

from __future__ import annotations

import re
import unittest
from typing import Any

from browser import By, PageTest, axe_source

STATES = ["All", "Active", "Queued", "Waiting", "Paused", "Done", "Failed", "Cancelled"]
COLUMNS = ["Name", "Status", "Progress", "Size", "Rate", "Time left", "Added"]


class Frame(PageTest):
    def test_places_have_their_roles_and_names(self) -> None:
        places = {
            "banner": None, "navigation": "Filters", "main": None, "heading": "Transfers", "toolbar": "Actions", "searchbox": "Search",
            "grid": "Transfers", "status": "Messages",
        }
        for role, name in places.items():
            with self.subTest(role):
                self.assertEqual(len(self.page.all(role, name)), 1, self.page.names(role))
        self.assertEqual(self.page.find("heading", "Transfers").tag_name, "h1")
        toolbar = self.page.find("toolbar", "Actions")
        names = self.page.names("button", toolbar)
        self.assertEqual([name for name in names if name in ("Add", "Pause", "Resume", "Retry", "Remove", "More")],
                         ["Add", "Pause", "Resume", "Retry", "Remove", "More"])
        self.assertEqual(self.page.run("return [document.documentElement.lang, document.documentElement.dir]"), ["en", "ltr"])

    def test_it_is_ready_once_rows_and_counts_are_drawn_and_says_so(self) -> None:
        first, = self.add_paused("a.bin")
        self.page.driver.get("about:blank")
        # The state of the page at the moment at which it says that it is ready.
        script = """addEventListener("DOMContentLoaded", () => new MutationObserver((_, observer) => {
            if (document.documentElement.dataset.ready !== "true") return;
            observer.disconnect();
            window.atReady = [document.querySelectorAll("[data-task]").length, document.querySelector("nav").textContent];
        }).observe(document.documentElement, {attributes: true}))"""
        added = self.page.cdp("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        self.addCleanup(lambda: self.page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=added))
        self.page.open()
        rows, counts = self.page.run("return window.atReady")
        self.assertEqual(rows, 1)
        self.assertIn("All 1", counts)
        self.assertEqual(self.page.run('return performance.getEntriesByName("dld-ready").length'), 1)
        self.assertEqual(self.page.root("connection"), "live")

    def test_first_rows_need_no_more_than_twelve_requests(self) -> None:
        self.add_paused("a.bin")
        self.page.open()
        names = self.page.run("""
            const ready = performance.getEntriesByName("dld-ready")[0].startTime;
            return performance.getEntriesByType("resource").filter((each) => each.startTime < ready).map((each) => each.name)""")
        self.assertLessEqual(len(names) + 1, 12, names)

    def test_actions_that_cannot_act_are_disabled(self) -> None:
        paused, = self.add_paused("a.bin")
        failed, = self.add("status/404/b.bin")
        self.until_state(failed, "failed")
        self.page.until_status(failed, "Failed")

        def enabled() -> list[str]:
            toolbar = self.page.find("toolbar", "Actions")
            return [each.accessible_name for each in self.page.all("button", within=toolbar)
                    if each.is_enabled() and each.accessible_name != "More"]

        self.page.equals(enabled, ["Add"], "with nothing selected only Add can act")
        self.page.select(paused)
        self.page.equals(enabled, ["Add", "Resume", "Remove"], "a paused task can be resumed and removed")
        self.page.select(failed)
        self.page.equals(enabled, ["Add", "Retry", "Remove"], "a failed task can be retried and removed")
        self.page.select(failed, paused)
        self.page.equals(enabled, ["Add", "Resume", "Retry", "Remove"], "what fits one of them is enabled")

    def test_the_first_tab_stop_skips_to_the_list_and_tab_reaches_it(self) -> None:
        older, newer = self.add_paused("a.bin", "b.bin")
        self.page.open()
        self.page.press("Tab")
        self.page.equals(lambda: self.page.focused, "Skip to transfers", "the first Tab")
        self.page.press("Enter")
        self.page.equals(lambda: self.page.focused, str(newer), "the focus is in the list")
        self.page.press("ArrowDown", "ArrowDown")
        self.page.equals(lambda: self.page.focused, str(older), "arrows walk the list")

    def test_an_empty_list_says_what_to_do(self) -> None:
        self.page.until(lambda: "Paste links anywhere, or press N" in self.page.seen(), "the empty list says what to do")

    def test_the_title_tells_rate_and_number(self) -> None:
        self.add("slow/50000000/400000/a.bin")
        self.page.until(lambda: re.fullmatch(r"↓ [\d.]+ [kM]B/s · 1 active – dld", self.page.driver.title),
                        "the title of the tab has rate and number", 30)

    def test_the_graph_has_its_numbers_as_text(self) -> None:
        self.add("slow/50000000/400000/a.bin")
        self.page.until(lambda: self.page.has("img", re.compile(r"^Rates.*\d+(\.\d)? [kM]B/s", re.S)), "img Rates has numbers", 30)

    def test_an_end_is_told_bundled_but_progress_is_not(self) -> None:
        self.page.run("""window.said = []; new MutationObserver(() => said.push(document.querySelector('[aria-label="Messages"]').textContent))
            .observe(document.querySelector('[aria-label="Messages"]'), {childList: true, subtree: true, characterData: true})""")
        self.add(*[f"data/100/{n}.bin" for n in range(12)])
        self.page.until(lambda: "12 done" in "".join(self.page.run("return said")), "12 done is said once")
        said = [text for text in self.page.run("return said") if text]
        self.assertFalse([text for text in said if "%" in text], said)

    def test_nothing_scrolls_sideways_at_320_pixels(self) -> None:
        task, = self.add_paused("a-very-long-name-" * 8 + ".bin", description="words without end " * 20)
        self.page.resize(320, 640)
        for hash in ("#/", f"#/task/{task}", f"#/task/{task}/timing", f"#/task/{task}/segments", f"#/task/{task}/log", "#/decisions",
                     "#/sessions", "#/sessions/shared", "#/log", "#/settings"):
            with self.subTest(hash):
                self.page.open(hash)
                self.assert_no_sideways_scroll()
        self.page.open()
        self.page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'n', bubbles: true}))")
        self.page.find("dialog", "Add transfers")
        self.assert_no_sideways_scroll()

    def assert_no_sideways_scroll(self) -> None:
        def wide() -> Any:
            return self.page.run("""return [...document.querySelectorAll("body, body *")].filter((each) => {
                const scrolls = ["auto", "scroll"].includes(getComputedStyle(each).overflowX) && each.scrollWidth > each.clientWidth + 1;
                return scrolls && !each.closest("nav, [role=toolbar], [role=tablist]") || (each === document.body
                    && document.documentElement.scrollWidth > innerWidth);
            }).map((each) => `${each.tagName}.${each.className} ${each.scrollWidth} > ${each.clientWidth}`)""")

        self.page.equals(wide, [], "nothing scrolls sideways")

    def test_the_layout_does_not_shift_while_tasks_run(self) -> None:
        self.add("data/100/done.bin", "status/404/failed.bin")
        self.page.open()
        self.page.run("""window.shift = 0; new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
        }).observe({type: "layout-shift", buffered: true})""")
        tasks = self.add(*[f"slow/600000/300000/{n}.bin" for n in range(4)], "status/503/waits.bin", "data/100/small.bin")
        for task in tasks[:4]:
            self.until_state(task, "completed")
        self.assertLess(self.page.run("return shift"), 0.02)


class Filters(PageTest):
    def counts(self) -> dict[str, str]:
        links = self.page.names("link", self.page.find("navigation", "Filters"))
        return {word: number for word, _, number in (name.rpartition(" ") for name in links) if word in STATES}

    def test_filters_are_links_with_counts_that_follow_events(self) -> None:
        self.page.equals(self.counts, dict.fromkeys(STATES, "0"), "all counts are 0")
        self.add_paused("a.bin", "b.bin")
        failed, = self.add("status/404/c.bin")
        self.until_state(failed, "failed")
        self.page.equals(self.counts, dict.fromkeys(STATES, "0") | {"All": "3", "Paused": "2", "Failed": "1"}, "counts follow")
        self.page.click("link", "Failed 1")
        self.page.shows(failed)
        self.assertEqual(self.page.hash, "#/failed")
        self.assertEqual(self.page.find("link", "Failed 1").get_attribute("aria-current"), "true")
        self.assertEqual(len(self.page.driver.find_elements(By.CSS_SELECTOR, "nav [aria-current]")), 1)

    def test_digits_choose_filters_in_order(self) -> None:
        hashes = ["#/", "#/active", "#/queued", "#/waiting", "#/paused", "#/done", "#/failed", "#/cancelled"]
        for digit in (2, 3, 4, 5, 6, 7, 8, 1):
            self.page.press(str(digit))
            self.page.equals(lambda: self.page.hash, hashes[digit - 1], f"key {digit}")
            word = STATES[digit - 1]
            self.page.until(lambda: self.page.find("link", re.compile(f"^{word} ")).get_attribute("aria-current") == "true",
                            f"{word} is current")

    def test_each_state_is_found_by_its_filter_and_said_in_words(self) -> None:
        done, failed, waiting, running = self.add("data/10/d.bin", "status/404/f.bin", "status/503/w.bin", "slow/9000000/100000/r.bin")
        connecting, = self.add("hang/c.bin")
        paused, cancelled = self.add("data/10/p.bin", "data/10/x.bin", startPaused=True)
        self.house.call("task.cancel", {"ids": [cancelled]})
        self.until_state(done, "completed")
        expected = {
            done: "Done", failed: "Failed · the server answered 404", waiting: "Waiting · retry", running: "Downloading",
            connecting: "Connecting", paused: "Paused", cancelled: "Cancelled",
        }
        for task, text in expected.items():
            self.page.until_status(task, text)
        self.page.until(lambda: re.search(r"retry in \d+ s|retry in \d+ min", next(row["status"] for row in self.page.rows() if row["id"] == waiting)),
                        "the row says when it is tried again")
        for hash, task in {"done": done, "failed": failed, "waiting": waiting, "paused": paused, "cancelled": cancelled}.items():
            self.page.go(f"#/{hash}")
            self.page.shows(task)
        self.page.go("#/active")
        self.page.shows(connecting, running)

    def test_queued_tasks_say_so(self) -> None:
        self.house.call("settings.set", {"maximumConcurrentTasks": 1})
        running, = self.add("slow/9000000/100000/a.bin")
        self.until_state(running, "running")
        queued, = self.add("slow/9000000/100000/b.bin")
        self.page.until_status(queued, "Queued")
        self.page.go("#/queued")
        self.page.shows(queued)

    def test_a_row_leaves_a_filter_that_it_no_longer_fits(self) -> None:
        older, newer = self.add_paused("a.bin", "b.bin")
        self.page.go("#/paused")
        self.page.shows(newer, older)
        self.house.call("task.cancel", {"ids": [newer]})
        self.page.shows(older)

    def test_search_narrows_and_escape_empties_it(self) -> None:
        first, _, third = self.add_paused("apple.bin", "pear.bin", "pineapple.bin")
        self.page.press("/")
        self.page.equals(lambda: self.page.focused, "Search", "the key / goes to the search")
        self.page.find("searchbox", "Search").send_keys("apple")
        self.page.shows(third, first)
        self.page.until(lambda: "2 of 3" in self.page.seen(), "the caption says 2 of 3")
        self.assertIn("q=apple", self.page.hash)
        self.assertEqual(self.page.find("grid", "Transfers").get_attribute("aria-rowcount"), "3")
        self.page.reload()
        self.page.shows(third, first)
        self.assertEqual(self.page.value("searchbox", "Search"), "apple")
        self.page.press("/", "Escape")
        self.page.until(lambda: len(self.page.rows()) == 3, "all rows are back")
        self.assertEqual(self.page.value("searchbox", "Search"), "")
        self.assertNotIn("q=", self.page.hash)
        self.assertNotEqual(self.page.focused, "Search")

    def test_filter_search_and_session_add_up(self) -> None:
        self.house.call("session.open", {"id": "night"})
        url = self.origin.url("data/10/")
        wanted, _ = self.house.add({"url": url + "apple.bin", "startPaused": True}, {"url": url + "pear.bin", "startPaused": True}, session="night")
        self.house.add({"url": url + "apple.bin", "startPaused": True})
        self.page.open("#/paused?q=apple&session=night")
        self.page.shows(wanted)
        self.page.click("link", re.compile("^All "))
        self.page.equals(lambda: self.page.hash, "#/?q=apple&session=night", "another filter keeps search and session")

    def test_back_and_forward_walk_filters(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.press("7")
        self.page.shows()
        self.page.driver.back()
        self.page.shows(task)
        self.page.driver.forward()
        self.page.shows()


class Orders(PageTest):
    def columns(self) -> list[str]:
        # One test alone tells of marks in the names.
        return [name.rstrip(" ▲▼") for name in self.page.names("columnheader")]

    def header(self, name: str) -> Any:
        return self.page.find("columnheader", re.compile(f"^{name}( .)?$"))

    def sort(self, name: str) -> None:
        self.page.click("button", re.compile(f"^{name}"), within=self.header(name))

    def test_headers_are_named_by_their_word_alone(self) -> None:
        self.page.equals(lambda: self.page.names("columnheader"), COLUMNS, "a mark of the order is not part of the name")

    def test_names_sort_with_their_numbers_and_the_header_says_so(self) -> None:
        ten, two, capital = self.add_paused("part10.bin", "part2.bin", "Part1.bin")
        self.sort("Name")
        self.page.shows(capital, two, ten)
        self.assertEqual(self.header("Name").get_attribute("aria-sort"), "ascending")
        self.assertIn("order=name", self.page.hash)
        self.sort("Name")
        self.page.shows(ten, two, capital)
        self.assertEqual(self.header("Name").get_attribute("aria-sort"), "descending")

    def test_sizes_and_progress_sort(self) -> None:
        small, large = self.add("data/10/s.bin", "data/1000/l.bin")
        self.until_state(small, "completed")
        self.until_state(large, "completed")
        none, = self.add("data/500/n.bin", startPaused=True)
        self.page.until(lambda: len(self.page.rows()) == 3, "three rows")
        self.sort("Size")
        self.page.shows(large, small, none)
        self.sort("Progress")
        self.page.equals(lambda: self.page.ids()[-1], none, "what has nothing yet is last")
        self.assertEqual(self.header("Progress").get_attribute("aria-sort"), "descending")

    def test_each_filter_remembers_its_own_order(self) -> None:
        one, two = self.add_paused("b.bin", "a.bin")
        self.sort("Name")
        self.page.shows(two, one)
        self.page.press("5")
        self.page.shows(two, one)
        self.assertEqual(self.header("Added").get_attribute("aria-sort"), "descending")
        self.sort("Added")
        self.page.shows(one, two)
        self.page.open("#/")
        self.assertEqual(self.header("Name").get_attribute("aria-sort"), "ascending")
        self.page.open("#/paused")
        self.assertEqual(self.header("Added").get_attribute("aria-sort"), "ascending")

    def test_the_url_has_the_order(self) -> None:
        one, two = self.add_paused("b.bin", "a.bin")
        self.page.open("#/?order=name")
        self.page.shows(two, one)
        self.page.open("#/?order=queue")
        self.page.shows(one, two)

    def test_rows_do_not_move_by_themselves(self) -> None:
        slow, quick, third = self.add("slow/9000000/100000/a.bin", "data/10/b.bin", "status/404/c.bin")
        self.until_state(quick, "completed")
        self.until_state(third, "failed")
        self.page.until_status(third, "Failed")
        self.page.shows(third, quick, slow)

    def test_columns_are_chosen_and_remembered_for_a_filter(self) -> None:
        self.add_paused("a.bin")
        self.page.equals(self.columns, COLUMNS, "all columns at first")
        self.page.click("button", "Columns")
        dialog = self.page.find("dialog", "Columns")
        self.page.click("checkbox", "Size", within=dialog)
        self.page.press("Escape")
        self.page.until_gone("dialog", "Columns")
        chosen = [name for name in COLUMNS if name != "Size"]
        self.page.equals(self.columns, chosen, "Size is gone")
        self.page.reload()
        self.page.equals(self.columns, chosen, "it is remembered")
        self.page.press("5")
        self.page.equals(self.columns, COLUMNS, "another filter has its own")

    def test_columns_are_ordered_in_the_dialog(self) -> None:
        self.page.click("button", "Columns")
        dialog = self.page.find("dialog", "Columns")
        self.page.click("button", re.compile("Size.* up", re.I), within=dialog)
        self.page.press("Escape")
        moved = ["Name", "Status", "Size", "Progress", "Rate", "Time left", "Added"]
        self.page.equals(self.columns, moved, "Size comes before Progress")

    def test_columns_leave_in_their_order_where_it_is_narrow(self) -> None:
        self.add_paused("a.bin")
        leaving = ["Added", "Time left", "Size", "Rate"]
        seen = set()
        for width in range(1280, 639, -64):
            self.page.resize(width, 800)
            # The layout follows in the next frame.
            self.page.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            gone = [name for name in COLUMNS if name not in self.columns()]
            self.assertEqual(set(gone), set(leaving[:len(gone)]), f"at {width} pixels")
            seen.add(len(gone))
        self.assertGreater(len(seen), 1, "some columns leave")


class Grid(PageTest):
    def test_rows_and_cells_tell_what_they_are(self) -> None:
        done, = self.add("data/1000/a.bin")
        self.until_state(done, "completed")
        running, = self.add("slow/1000000/50000/b.bin")
        hanging, = self.add("hang/c.bin")
        self.page.until_status(running, "Downloading")
        grid = self.page.find("grid", "Transfers")
        self.page.equals(lambda: grid.get_attribute("aria-rowcount"), "4", "rows of the filter and the header")
        self.assertEqual(grid.get_attribute("aria-multiselectable"), "true")
        self.page.equals(lambda: grid.get_attribute("aria-busy") in (None, "false"), True, "it is not busy any more")
        self.page.shows(hanging, running, done)
        self.assertEqual([row["index"] for row in self.page.rows()], [2, 3, 4])
        header = self.page.find("columnheader", re.compile("^Name")).find_element(By.XPATH, "ancestor::*[@role='row']")
        self.assertEqual(header.get_attribute("aria-rowindex"), "1")
        self.assertEqual([row["hasTabStop"] for row in self.page.rows()].count(True), 1)
        self.assertEqual({row.get_attribute("aria-selected") for row in grid.find_elements(By.CSS_SELECTOR, "[data-task]")}, {"false"})
        self.assertEqual(self.page.names("rowheader"), ["c.bin", "b.bin", "a.bin"])

        def bar(task: int, attribute: str) -> str | None:
            return self.page.row(task).find_element(By.CSS_SELECTOR, '[role="progressbar"]').get_attribute(attribute)

        self.page.equals(lambda: bar(done, "aria-valuenow"), "100", "what is done is at 100")
        self.page.until(lambda: 0 < int(bar(running, "aria-valuenow") or 0) < 100, "progress is known")
        self.page.equals(lambda: bar(hanging, "aria-valuenow"), None, "progress is not known")
        for task in (done, running, hanging):
            self.page.until(lambda: bar(task, "aria-label"), "each bar has a name")

    def test_names_come_from_the_file_the_destination_the_path_or_the_host(self) -> None:
        folder = str(self.house.folder / "files")
        done, = self.add("data/10/n.bin")
        self.until_state(done, "completed")
        self.house.add({"url": self.origin.url("data/10/n.bin"), "destination": {"path": f"{folder}/chosen.bin"}, "startPaused": True},
                       {"url": self.origin.url("data/10/with%20space.bin"), "startPaused": True},
                       {"url": "http://files.example/", "startPaused": True})
        self.page.equals(lambda: [row["name"] for row in self.page.rows()], ["files.example", "with space.bin", "chosen.bin", "n.bin"],
                         "names")

    def test_focus_stays_on_a_row_that_changes_and_goes_on_from_one_that_is_removed(self) -> None:
        one, two, three = self.add_paused("a.bin", "b.bin", "c.bin")
        self.page.row(two).click()
        self.house.call("task.cancel", {"ids": [two]})
        self.page.until_status(two, "Cancelled")
        self.assertEqual(self.page.focused, str(two))
        self.house.call("task.remove", {"ids": [two]})
        self.page.shows(three, one)
        self.page.equals(lambda: self.page.focused, str(one), "the next row has the focus")

    def test_a_change_in_dld_is_shown_without_asking(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.run("window.isSame = true")
        self.house.call("task.resume", {"ids": [task]})
        self.page.until_status(task, "Done")
        self.house.call("task.remove", {"ids": [task]})
        self.page.shows()
        self.assertTrue(self.page.run("return window.isSame"))


class Overtaken(PageTest):
    def test_what_ends_while_its_row_is_read_is_not_shown_as_it_was(self) -> None:
        """An answer that is older than an event does not stay on the screen."""
        self.page.run("""
            const fetched = window.fetch;
            window.held = [];
            window.fetch = async (place, options) => {
                const answer = await fetched(place, options);
                const isList = String(place).endsWith("/rpc") && /task\\.list/.test(options?.body ?? "") && /"ids"/.test(options.body);
                if (isList && window.held) await new Promise((resolve) => window.held.push(resolve));
                return answer;
            };""")
        task, = self.add("slow/700000/1000000/a.bin")
        self.page.until(lambda: self.page.run("return window.held.length"), "the row is being read")
        # The counts come after the event in the same stream, and before the list is read anew because of them.
        self.page.find("link", "Done 1")
        self.page.run("const held = window.held; window.held = null; held.forEach((go) => go())")
        self.page.until_status(task, "Done")


class Looks(PageTest):
    def color(self, name: str) -> str:
        return str(self.page.run("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim().toUpperCase()", name))

    def test_colours_follow_the_system_and_settings_force_them(self) -> None:
        tokens = {
            "light": {"--bg": "#F7F7F5", "--surface": "#FFFFFF", "--text": "#1B1E23", "--muted": "#565E6B", "--edge": "#7A818D", "--line": "#DFE2E7",
                      "--accent": "#1C5BB8", "--on-accent": "#FFFFFF", "--good": "#17703F", "--warn": "#7F5200", "--bad": "#AE2019", "--selected": "#E2ECFA"},
            "dark": {"--bg": "#14171C", "--surface": "#1B1F26", "--text": "#E7E9EC", "--muted": "#A2AAB7", "--edge": "#747D8B", "--line": "#2D333C",
                     "--accent": "#82B4FF", "--on-accent": "#10141A", "--good": "#70CC98", "--warn": "#E3B14D", "--bad": "#FF8C82", "--selected": "#20324C"},
        }
        whole = {"#FFF": "#FFFFFF"}
        for scheme, other in (("light", "Dark"), ("dark", "Light")):
            self.page.media(prefers_color_scheme=scheme)
            for name, value in tokens[scheme].items():
                with self.subTest(f"{scheme} {name}"):
                    self.page.equals(lambda: whole.get(self.color(name), self.color(name)), value, name)
            self.page.run("document.documentElement.dataset.theme = arguments[0]", other.lower())
            self.assertEqual(self.color("--bg"), tokens[other.lower()]["--bg"])
            self.page.run("delete document.documentElement.dataset.theme")

    def test_rows_text_and_targets_have_their_sizes(self) -> None:
        task, = self.add_paused("a.bin")
        self.assertEqual(self.page.row(task).size["height"], 44)
        self.page.open(f"#/task/{task}")
        self.page.find("region", "Details")
        small = self.page.run("""return [...document.querySelectorAll("body *")].filter((each) => each.checkVisibility()
            && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) && parseFloat(getComputedStyle(each).fontSize) < 12)
            .map((each) => each.outerHTML.slice(0, 80))""")
        self.assertEqual(small, [], "nothing is smaller than 12 px")
        targets = self.page.run("""return [...document.querySelectorAll("button, nav a, input, select, [role=tab]")].filter((each) => {
            const box = each.getBoundingClientRect();
            return each.checkVisibility() && box.width && (box.width < 24 || box.height < 24) && !["checkbox", "radio"].includes(each.type);
        }).map((each) => each.outerHTML.slice(0, 80))""")
        self.assertEqual(targets, [], "targets are at least 24 by 24")

    def test_rows_and_targets_are_larger_for_fingers(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.cdp("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        self.addCleanup(lambda: self.page.cdp("Emulation.setTouchEmulationEnabled", enabled=False))
        self.page.cdp("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
        self.page.open()
        self.assertTrue(self.page.run("return matchMedia('(pointer: coarse)').matches"))
        self.page.equals(lambda: self.page.row(task).size["height"], 56, "rows for fingers")
        small = self.page.run("""return [...document.querySelectorAll("button, nav a, input, select")].filter((each) => {
            const box = each.getBoundingClientRect();
            return each.checkVisibility() && box.width && (box.width < 44 || box.height < 44);
        }).map((each) => `${each.outerHTML.slice(0, 80)} ${each.offsetWidth} x ${each.offsetHeight}`)""")
        self.assertEqual(small, [], "targets are at least 44 by 44")

    def test_nothing_moves_for_those_who_want_no_motion(self) -> None:
        self.page.media(prefers_reduced_motion="reduce")
        self.page.press("n")
        self.page.find("dialog", "Add transfers")
        moving = self.page.run("return document.getAnimations().filter((each) => each.playState === 'running').length")
        longest = self.page.run("""return Math.max(...[...document.querySelectorAll("body *")].map((each) => {
            const {transitionDuration, animationName, animationDuration} = getComputedStyle(each);
            return parseFloat(transitionDuration) + (animationName === "none" ? 0 : parseFloat(animationDuration));
        }))""")
        self.assertEqual(moving, 0)
        self.assertLess(longest, 0.002)


class ForeignText(PageTest):
    NAME = "<img src=x onerror=window.hacked=1>\u202egpj.\u0007\u200bexe"
    SHOWN = r"<img src=x onerror=window.hacked=1>\u{202E}gpj.\u{0007}\u{200B}exe"

    def test_foreign_text_is_only_text(self) -> None:
        """Names, descriptions and URLs are shown as they are, with what is invisible made visible."""
        spec = {"url": self.origin.url("data/10/%E2%80%AEcod.exe"), "startPaused": True, "description": f"<script>window.hacked=1</script>{self.NAME}"}
        task, = self.house.add(spec | {"destination": {"directory": str(self.house.folder / "files"), "filename": self.NAME.replace("\u0007", "")}})
        other, = self.house.add({"url": self.origin.url("data/10/%E2%80%AEcod%07.exe"), "startPaused": True})
        shown = self.SHOWN.replace(r"\u{0007}", "")
        self.page.equals(lambda: [row["name"] for row in self.page.rows()], [r"\u{202E}cod\u{0007}.exe", shown], "names")
        for hash in (f"#/task/{task}", f"#/task/{task}/log", "#/log"):
            self.page.go(hash)
            self.page.until(lambda: self.page.has("region", "Log" if hash == "#/log" else "Details"), f"{hash} is open")
        self.page.go(f"#/task/{task}")
        region = self.page.find("region", "Details")
        self.page.until(lambda: rf"<script>window.hacked=1</script>{shown[:10]}" in region.text, "the description is text")
        found = self.page.run("""return [window.hacked ?? null, document.querySelectorAll("main img, main script").length,
            /[\\u0000-\\u0008\\u000b-\\u001f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent),
            [...document.querySelectorAll("main a[href], main [title]")].map((each) => each.title + each.getAttribute("href"))
                .filter((each) => /[\\u202e\\u200b\\u0007]/.test(each)).length]""")
        self.assertEqual(found, [None, 0, False, 0])
        name = self.page.row(other).find_element(By.CSS_SELECTOR, '[role="rowheader"] bdi')
        self.assertTrue(name.is_displayed(), "foreign names stand in bdi")

    def test_only_http_https_and_ftp_become_links(self) -> None:
        data, web = self.house.add({"url": "data:text/html,<script>window.hacked=1</script>", "startPaused": True},
                                   {"url": self.origin.url("data/10/a.bin"), "startPaused": True})
        self.page.open(f"#/task/{data}")
        region = self.page.find("region", "Details")
        self.page.until(lambda: "data:text/html" in region.text, "the URL is shown")
        schemes = self.page.run("return [...document.querySelectorAll('a[href]')].map((each) => each.protocol)")
        self.assertNotIn("data:", schemes)
        self.page.go(f"#/task/{web}")
        link = self.page.find("link", re.compile("a.bin"), within=self.page.find("region", "Details"))
        self.assertIn("noreferrer", str(link.get_attribute("rel")))


class Axe(PageTest):
    """axe-core finds nothing: WCAG 2.2 A and AA, and best practices."""

    def assert_accessible(self, what: str) -> None:
        if not self.page.run("return Boolean(window.axe)"):
            self.page.run(axe_source())
        found = self.page.driver.execute_async_script("""
            const done = arguments[0];
            axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => done(violations.map(({id, nodes}) =>
                `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} (${node.failureSummary.slice(0, 300)})`).join("; ")}`)))""")
        self.assertEqual(found, [], what)

    def prepare(self) -> int:
        self.add("data/10/d.bin", "status/404/f.bin", "status/503/w.bin", "slow/9000000/100000/r.bin")
        paused, cancelled = self.add("data/10/p.bin", "data/10/x.bin", startPaused=True)
        self.house.call("task.cancel", {"ids": [cancelled]})
        self.page.until(lambda: len(self.page.rows()) == 6, "six rows")
        self.page.select(paused)
        return paused

    def test_list_details_and_dialogs(self) -> None:
        for scheme, width in (("light", 1280), ("dark", 1280), ("light", 320), ("dark", 320)):
            with self.subTest(f"{scheme} {width}"):
                self.clear()
                self.page.resize(1280, 800)
                self.page.media(prefers_color_scheme=scheme)
                self.page.open()
                task = self.prepare()
                self.page.resize(width, 800)
                self.assert_accessible("the list")
                self.page.go(f"#/task/{task}")
                self.page.find("heading", "p.bin", within=self.page.find("region", "Details"))
                self.assert_accessible("details")
                self.page.run("document.activeElement.blur()")
                self.page.press("n")
                dialog = self.page.find("dialog", "Add transfers")
                self.page.find("textbox", "Links", within=dialog).send_keys("http://h/[1-3]\nbad\n")
                self.page.find("alert", None, within=dialog)
                self.assert_accessible("the dialog over details")

    def test_other_screens(self) -> None:
        task = self.prepare()
        for scheme in ("light", "dark"):
            self.page.media(prefers_color_scheme=scheme)
            for hash in ("#/decisions", "#/sessions", "#/sessions/shared", "#/log", "#/settings", f"#/task/{task}/timing",
                         f"#/task/{task}/segments", f"#/task/{task}/log"):
                with self.subTest(f"{scheme} {hash}"):
                    self.page.open(hash)
                    self.page.until(lambda: self.page.has("dialog") or self.page.has("region"), f"{hash} is open")
                    self.assert_accessible(hash)


if __name__ == "__main__":
    unittest.main()
