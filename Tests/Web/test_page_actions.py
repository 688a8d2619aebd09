"""Selecting rows, and everything that is done with the selected ones."""

from __future__ import annotations

import re
import unittest
from typing import Any

from browser import ActionChains, Keys, PageTest

MENU = ["Details", "Pause", "Resume", "Retry", "Move to top", "Move to bottom", "Priority", "Limit rate…", "Change link…", "Copy links",
        "Copy path", "Cancel", "Remove", "Delete files…"]


class Selection(PageTest):
    def setUp(self) -> None:
        super().setUp()
        # In the order of the rows: the newest first.
        self.tasks = self.add_paused(*[f"{n}.bin" for n in range(6)])[::-1]

    def assert_selected(self, *places: int) -> None:
        self.page.equals(self.page.selected, [self.tasks[place] for place in places], "these rows are selected")

    def assert_focused(self, place: int) -> None:
        self.page.equals(lambda: self.page.focused, str(self.tasks[place]), "this row has the focus")

    def test_arrows_and_ends_walk_and_select(self) -> None:
        self.page.row(self.tasks[0]).click()
        for key, place in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 5), ("Home", 0), ("PageDown", 5), ("PageUp", 0)]:
            self.page.press(key)
            self.assert_selected(place)
            self.assert_focused(place)

    def test_details_that_are_open_follow_the_selection(self) -> None:
        self.page.row(self.tasks[0]).click()
        self.page.press("Enter")
        self.page.find("region", "Details")
        self.page.row(self.tasks[2]).click()
        self.page.equals(lambda: self.page.hash, f"#/task/{self.tasks[2]}", "they show the row that was clicked")
        self.page.press("ArrowDown")
        self.page.equals(lambda: self.page.hash, f"#/task/{self.tasks[3]}", "and the one that an arrow reached")
        self.assert_focused(3)

    def test_nothing_is_done_to_rows_behind_a_screen(self) -> None:
        self.page.row(self.tasks[0]).click()
        self.page.go("#/sessions")
        self.page.find("region", "Sessions")
        for name in ("Remove", "More"):
            self.page.until(lambda name=name: not self.page.find("button", name).is_enabled(), f"{name} is disabled")

    def test_shift_extends_from_where_it_began(self) -> None:
        self.page.row(self.tasks[2]).click()
        self.page.press("Shift+ArrowDown", "Shift+ArrowDown")
        self.assert_selected(2, 3, 4)
        self.page.press("Shift+ArrowUp")
        self.assert_selected(2, 3)
        self.page.press("Shift+Home")
        self.assert_selected(0, 1, 2)
        self.page.press("Shift+End")
        self.assert_selected(2, 3, 4, 5)

    def test_control_moves_only_the_focus_and_space_selects(self) -> None:
        self.page.row(self.tasks[0]).click()
        self.page.press("Control+ArrowDown", "Control+ArrowDown")
        self.assert_focused(2)
        self.assert_selected(0)
        self.page.press("Control+ ")
        self.assert_selected(0, 2)
        self.page.press("Control+ArrowDown", " ")
        self.page.until(lambda: self.tasks[3] in self.page.selected(), "Space selects")
        self.page.press("Control+End")
        self.assert_focused(5)
        self.page.until(lambda: self.tasks[5] not in self.page.selected(), "Control+End selects nothing")

    def test_the_pointer_selects_as_in_a_file_manager(self) -> None:
        self.page.row(self.tasks[1]).click()
        self.assert_selected(1)
        chain = ActionChains(self.page.driver, duration=0)
        chain.key_down(Keys.SHIFT).click(self.page.row(self.tasks[3])).key_up(Keys.SHIFT).perform()
        self.assert_selected(1, 2, 3)
        chain = ActionChains(self.page.driver, duration=0)
        chain.key_down(Keys.CONTROL).click(self.page.row(self.tasks[2])).click(self.page.row(self.tasks[5])).key_up(Keys.CONTROL).perform()
        self.assert_selected(1, 3, 5)
        self.page.row(self.tasks[4]).click()
        self.assert_selected(4)

    def test_everything_is_the_whole_filter_and_escape_drops_it(self) -> None:
        self.page.press("Control+a")
        self.assert_selected(*range(6))
        self.page.until(lambda: "6 selected" in self.page.seen(), "the bar says how many")
        self.page.press("Escape")
        self.assert_selected()
        self.page.until(lambda: "selected" not in self.page.seen(), "the bar is gone")

    def test_a_selection_is_not_lost_when_rows_come_and_go(self) -> None:
        self.page.select(self.tasks[2], self.tasks[4])
        added, = self.add("data/1000/new.bin", startPaused=True)
        self.page.until(lambda: added in self.page.ids(), "the new row is there")
        self.house.call("task.remove", {"ids": [self.tasks[3]]})
        self.house.call("task.cancel", {"ids": [self.tasks[3]]})
        self.house.call("task.remove", {"ids": [self.tasks[3]]})
        self.page.until(lambda: self.tasks[3] not in self.page.ids(), "the row is gone")
        self.assert_selected(2, 4)


class Actions(PageTest):
    def test_keys_pause_resume_and_retry(self) -> None:
        running, = self.add("slow/9000000/100000/a.bin")
        failed, = self.add("status/404/b.bin")
        self.until_state(failed, "failed")
        self.page.until_status(failed, "Failed")
        self.page.until_status(running, "Downloading")
        self.page.select(running)
        self.page.press("p")
        self.page.until_status(running, "Paused")
        self.page.press("r")
        self.page.until_status(running, "Downloading")
        attempts = self.task(failed)["attempts"]
        self.page.select(failed)
        self.page.press("t")
        self.page.until(lambda: self.task(failed)["attempts"] > attempts, "it was tried again")

    def test_an_action_acts_on_what_it_fits_and_says_so(self) -> None:
        one, two, three = self.add("slow/9000000/50000/a.bin", "slow/9000000/50000/b.bin", "data/10/c.bin")
        self.until_state(three, "completed")
        self.page.until_status(three, "Done")
        self.page.press("Control+a")
        self.page.until(lambda: "3 selected" in self.page.seen(), "three are selected")
        self.page.click("button", "Pause")
        self.page.message("Paused 2, 1 had ended")
        self.until_state(one, "paused")
        self.until_state(two, "paused")

    def test_any_number_of_tasks_is_one_request(self) -> None:
        ids = self.house.add(*[{"url": self.origin.url(f"slow/9000000/1000/{n}.bin"), "startPaused": True} for n in range(250)])
        self.page.equals(lambda: self.page.find("grid", "Transfers").get_attribute("aria-rowcount"), "251", "all are there")
        self.page.press("Control+a")
        self.page.run("""window.sent = []; const real = fetch; window.fetch = (url, options) => {
            if (options?.body && String(options.body).includes("task.cancel")) sent.push(String(options.body));
            return real(url, options); }""")
        self.page.choose("Cancel")
        self.page.equals(lambda: self.house.call("daemon.stats")["tasks"]["cancelled"], len(ids), "all are cancelled")
        sent = self.page.run("return sent")
        self.assertEqual(len(sent), 1)
        self.assertEqual(sent[0].count("task.cancel"), 1)

    def menu(self) -> list[str]:
        self.page.find("menu")
        return [name.rstrip(" ▸") for name in self.page.run("""return [...document.querySelectorAll('[role^="menuitem"]')]
            .map((each) => [...each.childNodes].filter((node) => node.ariaHidden !== "true").map((node) => node.textContent).join(""))""")]

    def test_the_menu_opens_by_pointer_key_and_button_and_has_every_action(self) -> None:
        first, second = self.add_paused("a.bin", "b.bin")
        ActionChains(self.page.driver, duration=0).context_click(self.page.row(first)).perform()
        self.assertEqual([name for name in self.menu() if name in MENU], MENU)
        self.page.equals(self.page.selected, [first], "the row under the pointer is meant")
        self.page.press("Escape")
        self.page.until_gone("menu")
        self.page.equals(lambda: self.page.focused, str(first), "the row has the focus again")
        self.page.row(second).click()
        self.page.press("Shift+F10")
        self.assertEqual([name for name in self.menu() if name in MENU], MENU)
        disabled = self.page.run("""return [...document.querySelectorAll('[role="menuitem"]')]
            .filter((each) => each.disabled || each.ariaDisabled === "true").map((each) => each.textContent)""")
        for word in ("Pause", "Retry"):
            self.assertTrue([text for text in disabled if text.startswith(word)], f"{word} is disabled, not hidden: {disabled}")
        self.page.press("Escape")
        self.page.until_gone("menu")
        self.page.click("button", "More")
        self.assertEqual([name for name in self.menu() if name in MENU], MENU)

    def test_priority_and_rate_limit_are_changed(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.select(task)
        self.page.click("button", "More")
        self.page.find("menuitem", re.compile("^Priority")).click()
        self.page.find("menuitemradio", "High").click()
        self.page.until(lambda: self.task(task).get("priority") in ("high", 0.75), "its priority is high")
        self.page.click("button", "More")
        self.page.find("menuitem", re.compile("^Limit rate")).click()
        dialog = self.page.find("dialog", "Limit rate")
        box = self.page.driver.switch_to.active_element
        self.assertEqual(box.tag_name, "input", "the focus is in the field")
        box.send_keys("250")
        self.page.press("Enter")
        self.page.until(lambda: not dialog.is_displayed() if self.page.has("dialog") else True, "the dialog is closed")
        self.page.until(lambda: self.task(task).get("rateLimit") in (250_000, 250 * 1024), f"its rate limit is set: {self.task(task).get('rateLimit')}")

    def test_a_link_is_changed_and_tried_again(self) -> None:
        task, = self.add("status/404/a.bin")
        self.page.until_status(task, "Failed")
        self.page.select(task)
        self.page.click("button", "More")
        self.page.find("menuitem", re.compile("^Change link")).click()
        box = self.page.find("textbox", "Link", within=self.page.find("dialog", "Change link"))
        box.clear()
        box.send_keys(self.origin.url("data/10/right.bin"))
        self.page.press("Enter")
        self.page.until_status(task, "Done")
        self.assertEqual(self.task(task)["url"], self.origin.url("data/10/right.bin"))

    def test_links_and_paths_are_copied(self) -> None:
        self.page.cdp("Browser.grantPermissions", origin=self.house.base.rstrip("/"), permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        first, second = self.add("data/10/a.bin", "data/10/b.bin")
        for task in (first, second):
            self.until_state(task, "completed")
            self.page.until_status(task, "Done")
        self.page.press("Control+a")

        def clipboard() -> Any:
            return self.page.run("return navigator.clipboard.readText()")

        self.page.click("button", "More")
        self.page.find("menuitem", re.compile("^Copy links")).click()
        self.page.equals(lambda: sorted(clipboard().split("\n")), [self.task(task)["url"] for task in (first, second)], "the links")
        self.page.message("Copied 2 links")
        self.page.click("button", "More")
        self.page.find("menuitem", re.compile("^Copy path")).click()
        self.page.equals(lambda: sorted(clipboard().split("\n")), [self.task(task)["file"] for task in (first, second)], "the paths")

    def test_cancel_keeps_what_came_and_can_be_undone(self) -> None:
        task, = self.add("slow/9000000/200000/a.bin")
        self.page.until(lambda: self.task(task)["bytesReceived"] > 0, "bytes came")
        self.page.until_status(task, "Downloading")
        self.page.select(task)
        self.page.choose("Cancel")
        self.page.until_status(task, "Cancelled")
        kept = self.task(task)["bytesReceived"]
        self.assertGreater(kept, 0)
        self.page.click("button", "Undo")
        self.page.until_status(task, "Downloading")
        self.page.until(lambda: self.task(task)["bytesReceived"] > 0 and self.task(task).get("resumedFrom", 0) > 0, "it resumed")


class Removal(PageTest):
    def test_removed_rows_go_at_once_and_undo_brings_them_back(self) -> None:
        one, two, three = self.add_paused("a.bin", "b.bin", "c.bin")
        self.page.select(two, three)
        self.page.press("Delete")
        self.page.shows(one)
        self.page.message("Removed 2")
        self.assertTrue(self.exists(two) and self.exists(three), "the daemon has them still")
        self.page.click("button", "Undo")
        self.page.shows(three, two, one)
        self.assertTrue(self.exists(two))
        self.assertEqual({self.task(task)["state"] for task in (one, two, three)}, {"paused"})
        self.page.select(one)
        self.page.click("button", "Remove")
        self.page.shows(three, two)
        self.page.press("Control+z")
        self.page.shows(three, two, one)
        self.page.until(lambda: not self.page.has("button", "Undo"), "nothing can be undone any more")

    def test_after_seven_seconds_the_daemon_removes_and_files_stay(self) -> None:
        done, running = self.add("data/10/kept.bin", "slow/9000000/1000/r.bin")
        self.until_state(done, "completed")
        self.page.until_status(done, "Done")
        file = self.house.folder / "files" / "kept.bin"
        with self.tab() as other:
            self.page.until(lambda: len(self.page.rows()) == 2, "the other tab has both rows")
            first = next(handle for handle in self.page.driver.window_handles if handle != other)
            self.page.switch(first)
            self.page.press("Control+a")
            self.page.until(lambda: self.page.find("button", "Remove").is_enabled(), "they can be removed")
            self.page.press("Delete")
            self.page.shows()
            self.page.switch(other)
            self.page.shows()
            self.assertTrue(self.exists(done) and self.exists(running), "nothing is sent yet")
            self.page.switch(first)
            self.page.until(lambda: not self.exists(done) and not self.exists(running), "the daemon removed them", 15)
        self.assertTrue(file.exists(), "files stay")
        self.page.shows()

    def test_leaving_the_page_sends_the_removal(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.select(task)
        self.page.press("Delete")
        self.page.shows()
        self.assertTrue(self.exists(task))
        self.page.driver.get("about:blank")
        self.page.until(lambda: not self.exists(task), "it was removed", 5)

    def test_losing_the_browser_sends_nothing(self) -> None:
        task, = self.add_paused("a.bin")
        with self.tab():
            self.page.select(task)
            self.page.press("Delete")
            self.page.shows()
            # A crash of the tab's process, in which no script runs any more.
            try:
                self.page.driver.set_page_load_timeout(2)
                self.page.driver.get("chrome://crash")
            except Exception:  # noqa: BLE001 - the driver tells of a crash in several ways
                pass
            finally:
                self.page.driver.set_page_load_timeout(60)
        self.page.equals(lambda: self.exists(task), True, "nothing was sent")

    def test_deleting_files_asks_and_names_them(self) -> None:
        tasks = self.add(*[f"data/10/{n}.bin" for n in range(6)])
        for task in tasks:
            self.until_state(task, "completed")
        self.page.until(lambda: all(row["status"] == "Done" for row in self.page.rows()) and len(self.page.rows()) == 6, "all are done")
        self.page.press("Control+a")
        self.page.until(lambda: self.page.find("button", "Remove").is_enabled(), "they can be removed")
        self.page.press("Shift+Delete")
        dialog = self.page.find("alertdialog", "Delete files")
        self.assertEqual(self.page.focused, "Keep")
        named = [n for n in range(6) if f"{n}.bin" in dialog.text]
        self.assertEqual(len(named), 5, dialog.text)
        self.assertTrue(self.page.has("button", "Delete 6 files", within=dialog))
        self.page.press("Enter")
        self.page.until_gone("alertdialog", "Delete files")
        self.assertEqual(len(self.page.rows()), 6)
        self.page.press("Shift+Delete")
        self.page.click("button", "Delete 6 files", within=self.page.find("alertdialog", "Delete files"))
        self.page.shows()
        self.page.until(lambda: not any(self.exists(task) for task in tasks), "the daemon removed them")
        self.page.equals(lambda: list((self.house.folder / "files").iterdir()), [], "the files are deleted")

    def test_files_that_were_kept_are_named_with_the_reason(self) -> None:
        task, = self.add("data/10/own.bin")
        self.until_state(task, "completed")
        self.page.until_status(task, "Done")
        file = self.house.folder / "files" / "own.bin"
        file.unlink()
        file.write_text("somebody else's")
        self.page.select(task)
        self.page.press("Shift+Delete")
        self.page.click("button", "Delete 1 file", within=self.page.find("alertdialog", "Delete files"))
        self.page.until(lambda: not self.exists(task), "the task is removed")
        self.assertTrue(file.exists())
        said = self.page.says("alert", "own.bin")
        self.assertRegex(said, r"own\.bin.*\w{4}", "the reason is said")


class Queue(PageTest):
    def setUp(self) -> None:
        super().setUp()
        self.tasks = self.add_paused("a.bin", "b.bin", "c.bin", "d.bin")
        self.page.open("#/?order=queue")
        self.page.shows(*self.tasks)

    def order(self) -> list[int]:
        return [task["id"] for task in self.house.call("task.list", {"order": "queue"})["tasks"]]

    def assert_order(self, *places: int) -> None:
        expected = [self.tasks[place] for place in places]
        self.page.equals(self.order, expected, "the daemon has this order")
        self.page.shows(*expected)

    def test_keys_move_a_row_by_one_and_to_the_ends(self) -> None:
        self.page.select(self.tasks[1])
        self.page.press("Alt+ArrowDown")
        self.assert_order(0, 2, 1, 3)
        self.page.equals(lambda: self.page.focused, str(self.tasks[1]), "the row keeps the focus")
        self.page.press("Alt+ArrowUp")
        self.assert_order(0, 1, 2, 3)
        self.page.press("Control+Alt+ArrowDown")
        self.assert_order(0, 2, 3, 1)
        self.page.press("Control+Alt+ArrowUp")
        self.assert_order(1, 0, 2, 3)

    def test_several_rows_keep_their_order(self) -> None:
        self.page.select(self.tasks[1], self.tasks[3])
        self.page.click("button", "More")
        self.page.find("menuitem", re.compile("^Move to top")).click()
        self.assert_order(1, 3, 0, 2)
        self.page.click("button", "More")
        self.page.find("menuitem", re.compile("^Move to bottom")).click()
        self.assert_order(0, 2, 1, 3)

    def test_rows_are_dragged(self) -> None:
        # The driver cannot drag, so the events are made here.
        from_, to = self.page.row(self.tasks[3]), self.page.row(self.tasks[1])
        self.assertEqual(from_.get_attribute("draggable"), "true")
        self.page.run("""const [from, to] = arguments, data = new DataTransfer();
            for (const [type, place] of [["dragstart", from], ["dragenter", to], ["dragover", to], ["drop", to], ["dragend", from]])
                place.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}))""", from_, to)
        self.assert_order(0, 3, 1, 2)


if __name__ == "__main__":
    unittest.main()
