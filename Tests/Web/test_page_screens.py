"""Details and their tabs, decisions, sessions, limits, the log, settings, keys, and how one gets from one to the other."""

from __future__ import annotations

import re
import shutil
import unittest
from typing import Any

from browser import By, PageTest, WebElement

TABS = ["Overview", "Timing", "Segments", "Log"]


class Details(PageTest):
    def region(self) -> WebElement:
        return self.page.find("region", "Details")

    def says(self, *texts: str) -> None:
        for text in texts:
            self.page.until(lambda: text in self.region().text, f"details say {text}")

    def test_enter_opens_and_escape_and_close_return(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.row(task).click()
        self.page.press("Enter")
        self.page.equals(lambda: self.page.hash, f"#/task/{task}", "the route names the task")
        self.assertTrue(self.page.find("heading", "a.bin", within=self.region()))
        self.assertTrue(self.page.has("tablist", None, within=self.region()))
        self.assertEqual(self.page.names("tab", self.region()), TABS)
        self.page.press("Escape")
        self.page.until_gone("region", "Details")
        self.page.equals(lambda: self.page.focused, str(task), "the row has the focus again")
        self.assertEqual(self.page.selected(), [task], "only the topmost was closed")
        self.page.choose("Details")
        self.page.click("button", "Close", within=self.region())
        self.page.until_gone("region", "Details")
        self.assertEqual(self.page.hash, "#/")

    def test_tabs_are_walked_with_arrows_and_kept_by_reload(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.open(f"#/task/{task}")
        self.page.find("tab", "Overview", within=self.region()).click()
        for name in TABS[1:]:
            self.page.press("ArrowRight")
            self.page.equals(lambda: self.page.focused, name, "the arrow goes on")
            self.assertEqual(self.page.find("tab", name).get_attribute("aria-selected"), "true")
            self.page.equals(lambda: self.page.hash, f"#/task/{task}/{name.lower()}", "the route names the tab")
            self.assertTrue(self.page.has("tabpanel", name))
        self.page.reload()
        self.page.until(lambda: self.page.find("tab", "Log").get_attribute("aria-selected") == "true", "the tab is open again")
        for name in ("segments", "timing"):
            self.page.open(f"#/task/{task}/{name}")
            self.page.until(lambda: self.page.find("tab", name.capitalize()).get_attribute("aria-selected") == "true", f"{name} is open")

    def test_back_and_forward_open_and_close_it(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.go("#/paused")
        self.page.row(task).click()
        self.page.press("Enter")
        self.region()
        self.page.driver.back()
        self.page.until_gone("region", "Details")
        self.assertEqual(self.page.hash, "#/paused")
        self.page.driver.forward()
        self.region()

    def test_a_link_of_dlctl_ends_at_the_task(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.driver.get("about:blank")
        self.page.sign_in(f"#/task/{task}")
        self.assertTrue(self.page.find("heading", "a.bin", within=self.region()))
        self.assertNotIn("key=", self.page.run("return location.href"))

    def test_a_task_that_is_gone_is_said_to_be(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.open(f"#/task/{task}")
        self.region()
        self.house.call("task.cancel", {"ids": [task]})
        self.house.call("task.remove", {"ids": [task]})
        self.says(f"There is no transfer {task}")
        self.page.open("#/task/999999")
        self.says("999999")

    def test_a_failure_comes_with_advice_and_one_button(self) -> None:
        task, = self.add("status/404/a.bin")
        self.until_state(task, "failed")
        self.page.open(f"#/task/{task}")
        self.says("404", "Check the link")
        self.page.click("button", "Change link…", within=self.region())
        box = self.page.find("textbox", "Link")
        box.clear()
        box.send_keys(self.origin.url("data/10/mended.bin"))
        self.page.press("Enter")
        self.page.until_status(task, "Done")
        self.says("Done")

    def test_a_wait_is_explained_and_can_be_tried_now(self) -> None:
        task, = self.add("status/503/a.bin")
        self.until_state(task, "waiting")
        attempts = self.task(task)["attempts"]
        self.page.open(f"#/task/{task}")
        self.page.click("button", "Retry", within=self.region())
        self.page.until(lambda: self.task(task)["attempts"] > attempts, "it was tried again")

    def test_a_full_folder_offers_another(self) -> None:
        (self.house.folder / "files" / "a.bin").write_text("taken")
        task, = self.add("data/10/a.bin", conflictPolicy="fail")
        self.until_state(task, "failed")
        self.page.open(f"#/task/{task}")
        self.page.click("button", "Save elsewhere…", within=self.region())
        box = self.page.find("textbox", "Save in")
        box.clear()
        box.send_keys(str(self.house.folder / "files" / "other"))
        (self.house.folder / "files" / "other").mkdir()
        self.addCleanup(shutil.rmtree, self.house.folder / "files" / "other")
        self.page.press("Enter")
        self.until_state(task, "completed")
        self.assertTrue((self.house.folder / "files" / "other" / "a.bin").exists())

    def test_the_overview_tells_everything(self) -> None:
        self.house.call("session.open", {"id": "night"})
        spec = {"url": self.origin.url("data/1000/a.bin"), "mirrors": ["http://mirror.example/a.bin"], "priority": "high", "rateLimit": 500_000,
                "description": "for the archive", "checksum": {"algorithm": "sha-256", "value": "ab" * 32}, "startPaused": True,
                "destination": {"directory": "/srv/folder"}}
        task, = self.house.add(spec, session="night")
        self.page.open(f"#/task/{task}")
        self.says("data/1000/a.bin", "mirror.example/a.bin", "/srv/folder", "ab" * 32, "night", "High", "500 kB/s", "for the archive")
        self.assertTrue(self.region().find_elements(By.CSS_SELECTOR, "time[datetime]"))
        self.assertTrue(self.page.has("progressbar", None, within=self.region()))

    def test_the_reason_to_queue_is_explained_as_by_dlctl(self) -> None:
        self.house.call("settings.set", {"maximumConcurrentTasks": 1})
        self.add("slow/9000000/1000/a.bin")
        queued, = self.add("slow/9000000/1000/b.bin")
        self.page.open(f"#/task/{queued}")
        explanation = str(self.page.until(lambda: self.task(queued).get("explanation"), "dld explains"))
        self.says(explanation.split(". ")[0].rstrip("."))

    def test_timing_is_a_waterfall_with_a_table(self) -> None:
        task, = self.add("data/1000/a.bin")
        self.until_state(task, "completed")
        self.page.open(f"#/task/{task}/timing")
        self.page.find("img", re.compile("request"), within=self.region())
        table = self.page.find("table", None, within=self.region())
        headings = str(table.get_attribute("textContent")).lower()
        for word in ("lookup", "connect", "tls", "wait", "body"):
            self.assertIn(word, headings)
        self.assertEqual(len(table.find_elements(By.CSS_SELECTOR, "tbody tr")), len(self.task(task)["metrics"]))

    def test_segments_are_a_map_with_a_text(self) -> None:
        task, = self.add("slow/4000000/150000/a.bin", connections=4)
        self.page.until(lambda: len(self.task(task).get("segments", [])) > 1, "it runs over several connections", 30)
        self.page.open(f"#/task/{task}/segments")
        self.page.until(lambda: re.search(r"\d of \d parts", self.region().text), "the text counts parts")
        self.page.find("img", re.compile(r"\d of \d parts"), within=self.region())

    def test_its_log_has_its_events_only_and_goes_on(self) -> None:
        other, task = self.add_paused("other.bin", "a.bin")
        self.page.open(f"#/task/{task}/log")
        self.says("Added")
        self.house.call("task.resume", {"ids": [task]})
        self.says("Done")
        events = self.house.call("events.list", {"tasks": [task], "after": "start"})["events"]
        rows = self.region().find_elements(By.CSS_SELECTOR, "li")
        self.page.equals(lambda: len(self.region().find_elements(By.CSS_SELECTOR, "li")), len(events), f"one row for each event {[row.text for row in rows]}")
        self.assertNotIn("other.bin", self.region().text)

    def test_progress_is_shown_as_it_goes(self) -> None:
        task, = self.add("slow/3000000/200000/a.bin")
        self.page.open(f"#/task/{task}")

        def value() -> int:
            return int(self.page.find("progressbar", None, within=self.region()).get_attribute("aria-valuenow") or 0)

        first = self.page.until(value, "progress is known")
        self.page.until(lambda: value() > first, "progress goes on")


class Decisions(PageTest):
    def ask(self) -> int:
        self.house.call("session.open", {"id": "asking", "configuration": {"asks": ["challenge"]}})
        folder = str(self.house.folder / "files")
        task, = self.house.add({"url": self.origin.url("auth/secret.bin"), "destination": {"directory": folder}}, session="asking")
        self.page.until(lambda: self.house.call("decision.list")["decisions"], "dld asks")
        return task

    def test_a_question_is_counted_shown_and_answered(self) -> None:
        task = self.ask()
        self.page.until_status(task, "Asks")
        self.page.click("link", re.compile("^Decisions 1$"))
        self.page.equals(lambda: self.page.hash, "#/decisions", "the route")
        region = self.page.find("region", "Decisions")
        self.page.until(lambda: "<b>vault</b>" in region.text and "secret.bin" in region.text and "asking" in region.text,
                        "it says who asks what, with foreign text as text")
        actions = self.house.call("decision.list")["decisions"][0]["actions"]
        self.assertGreaterEqual(len(self.page.all("button", None, within=region)), len(actions))
        password = region.find_element(By.CSS_SELECTOR, 'input[type="password"]')
        name, secret = self.origin.credential
        region.find_element(By.CSS_SELECTOR, 'input[type="text"]').send_keys(name)
        password.send_keys(secret)
        self.page.press("Enter")
        self.until_state(task, "completed")
        self.page.until(lambda: not self.page.driver.find_elements(By.CSS_SELECTOR, 'input[type="password"]'), "the question is gone")
        kept = self.page.run("return JSON.stringify([{...localStorage}, {...sessionStorage}, location.href, history.state])")
        self.assertNotIn(secret, kept)
        self.page.until(lambda: not self.page.has("link", re.compile("^Decisions 1$")), "the badge is gone")

    def test_every_action_of_the_daemon_is_offered(self) -> None:
        task = self.ask()
        self.page.open("#/decisions")
        region = self.page.find("region", "Decisions")
        self.page.until(lambda: self.page.has("button", re.compile("Cancel"), within=region), "Cancel is offered")
        self.page.click("button", re.compile("Cancel"), within=region)
        self.until_state(task, "cancelled", "failed")
        self.page.until(lambda: "No transfer asks" in region.text, "nothing is asked any more")


class Sessions(PageTest):
    def test_a_session_is_paused_and_resumed(self) -> None:
        self.house.call("session.open", {"id": "night"})
        self.page.open("#/sessions")
        region = self.page.find("region", "Sessions")
        item = self.page.until(lambda: [each for each in region.find_elements(By.CSS_SELECTOR, "li") if "night" in each.text], "it is listed")[0]
        self.page.click("button", "Pause", within=item)
        self.page.until(lambda: self.house.call("session.get", {"id": "night"}).get("paused"), "it is paused")
        item = self.page.until(lambda: [each for each in region.find_elements(By.CSS_SELECTOR, "li") if "night" in each.text and "Resume" in each.text],
                               "it can be resumed")[0]
        self.page.click("button", "Resume", within=item)
        self.page.until(lambda: not self.house.call("session.get", {"id": "night"}).get("paused"), "it is resumed")

    def test_settings_and_schedule_are_saved(self) -> None:
        self.house.call("session.open", {"id": "day", "configuration": {"asks": ["redirect"]}})
        self.page.open("#/sessions/day")
        region = self.page.find("region", "Sessions")
        self.page.find("textbox", "Download limit", within=region).send_keys("2 MB")
        self.page.find("checkbox", "Run only at these times", within=region).click()
        cells = self.page.until(lambda: region.find_elements(By.CSS_SELECTOR, '[role="gridcell"]'), "a week's grid")
        self.assertEqual(len(cells), 7 * 24)
        cells[25].click()
        self.page.click("button", "Save", within=region)

        def saved() -> dict[str, Any]:
            return dict(self.house.call("session.get", {"id": "day"})["configuration"])

        self.page.until(lambda: saved().get("schedule"), "it is saved")
        configuration = saved()
        self.assertEqual(configuration["downloadRateLimit"], 2_000_000)
        self.assertEqual(configuration["asks"], ["redirect"], "what was not touched stays")
        self.page.reload()
        self.page.until(lambda: self.page.value("textbox", "Download limit") == "2 MB", "it is read again")

    def test_a_schedule_with_nothing_painted_is_refused(self) -> None:
        self.house.call("session.open", {"id": "empty"})
        self.page.open("#/sessions/empty")
        self.page.click("checkbox", "Run only at these times")
        self.page.click("button", "Save")
        self.page.says("alert", re.compile("Paint the hours"))
        self.assertNotIn("schedule", self.house.call("session.get", {"id": "empty"})["configuration"])

    def test_a_session_that_is_gone_is_said_to_be(self) -> None:
        self.page.open("#/sessions/nothing")
        self.page.until(lambda: re.search("no such session", self.page.find("region", "Sessions").text), "it says so")


class Limits(PageTest):
    def test_limits_are_set_and_taken_away(self) -> None:
        self.page.click("button", "Limits")
        dialog = self.page.find("dialog", "Limits")
        self.page.find("textbox", "Download limit", within=dialog).send_keys("500 kB")
        self.page.find("textbox", "Upload limit", within=dialog).send_keys("nonsense")
        self.page.press("Enter")
        self.page.find("alert", None, within=dialog)
        self.page.find("textbox", "Upload limit", within=dialog).clear()
        self.page.click("button", "Save", within=dialog)
        self.page.until_gone("dialog", "Limits")
        self.assertEqual(self.house.call("settings.get")["downloadRateLimit"]["value"], 500_000)
        self.page.click("button", "Limits")
        box = self.page.find("textbox", "Download limit", within=self.page.find("dialog", "Limits"))
        self.assertEqual(box.get_property("value"), "500 kB")
        box.clear()
        self.page.click("button", "Save")
        self.page.until_gone("dialog", "Limits")
        self.page.equals(lambda: self.house.call("settings.get")["downloadRateLimit"]["value"] or 0, 0, "no limit any more")


class Log(PageTest):
    def entries(self) -> list[str]:
        return [str(text) for text in self.page.run("return [...document.querySelectorAll('[role=region] ol li')].map((each) => each.textContent)")]

    def test_it_has_every_event_in_order_and_is_live(self) -> None:
        head = self.house.call("daemon.stats")["head"]
        one, = self.add_paused("a.bin")
        self.page.go("#/log")
        self.page.find("region", "Log")
        self.page.until(lambda: any(f"#{one}" in entry for entry in self.entries()), "stored events are there")
        two, = self.add("data/10/b.bin")
        self.until_state(two, "completed")
        events = [event for event in self.house.call("events.list", {"after": head, "limit": 1000})["events"] if event.get("task") in (one, two)]
        self.page.equals(lambda: [task for entry in self.entries() for task in re.findall(r"#(\d+)", entry) if int(task) in (one, two)],
                         [str(event["task"]) for event in events], "each event once, in order")

    def test_it_is_filtered_by_type(self) -> None:
        done, = self.add("data/10/a.bin")
        self.until_state(done, "completed")
        self.page.go("#/log")
        region = self.page.find("region", "Log")
        self.page.find("combobox", None, within=region).send_keys("Done")
        self.page.until(lambda: self.entries() and all("Done" in entry for entry in self.entries()), "only ends are there")
        later, = self.add("data/10/b.bin")
        self.page.until(lambda: any(f"#{later}" in entry for entry in self.entries()), "it goes on")
        self.assertTrue(all("Done" in entry for entry in self.entries()), self.entries())


class Settings(PageTest):
    def choose(self, name: str, value: str) -> None:
        box = self.page.find("combobox", name, within=self.page.find("dialog", "Settings"))
        option = next(each for each in box.find_elements(By.TAG_NAME, "option") if each.text.startswith(value))
        option.click()

    def test_theme_density_units_and_time_hold_after_reload(self) -> None:
        done, = self.add("data/2000/a.bin")
        self.page.until_status(done, "Done")
        self.page.open("#/settings")
        self.choose("Theme", "Dark")
        self.page.equals(lambda: self.page.root("theme"), "dark", "the theme is forced")
        self.choose(next(name for name in self.page.names("combobox") if re.search("Rows|Density", name)), "Compact")
        self.choose("Units", "KiB")
        self.choose(next(name for name in self.page.names("combobox") if name.startswith("Time")), "UTC")
        self.page.press("Escape")
        self.page.until_gone("dialog", "Settings")
        for _ in range(2):
            self.page.until(lambda: "2.0 KiB" in self.page.rows()[0]["text"], "units of 1024")
            self.assertEqual(self.page.row(done).size["height"], 32)
            self.assertEqual(self.page.run("return getComputedStyle(document.documentElement).colorScheme"), "dark")
            moment = self.page.row(done).find_element(By.TAG_NAME, "time")
            self.assertRegex(str(moment.get_attribute("datetime")), r"^\d{4}-\d\d-\d\dT.*Z$")
            self.assertRegex(str(moment.get_attribute("title")), r"\d{4}-\d\d-\d\dT")
            self.assertIn(str(moment.get_attribute("datetime"))[11:16], moment.text)
            self.page.reload()
        self.page.open("#/settings")
        self.choose("Theme", "Light")
        self.page.equals(lambda: self.page.root("theme"), "light", "the theme is forced")

    def test_letters_can_be_switched_off(self) -> None:
        self.page.open("#/settings")
        self.page.find("checkbox", re.compile("[Kk]ey"), within=self.page.find("dialog", "Settings")).click()
        self.page.press("Escape")
        self.page.until_gone("dialog", "Settings")
        self.page.press("n", "5", "?")
        self.assertFalse(self.page.has("dialog"))
        self.assertEqual(self.page.hash, "#/")
        task, = self.add_paused("a.bin")
        self.page.row(task).click()
        self.page.press("r", "Delete")
        self.page.shows()
        self.assertEqual(self.task(task)["state"], "paused", "R does nothing, Delete does")
        self.page.press("Control+z")
        self.page.shows(task)

    def test_letters_act_neither_with_modifiers_nor_in_text_fields(self) -> None:
        self.page.press("Alt+n", "Control+Shift+5")
        self.page.find("searchbox", "Search").send_keys("n?5")
        self.assertFalse(self.page.has("dialog"))
        self.assertEqual(self.page.value("searchbox", "Search"), "n?5")

    def test_permission_to_notify_is_asked_only_when_ticked(self) -> None:
        self.page.cdp("Page.enable")
        script = "window.asked = 0; Notification.requestPermission = async () => { window.asked += 1; return 'granted'; }"
        added = self.page.cdp("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        self.addCleanup(lambda: self.page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=added))
        self.page.open("#/settings")
        self.assertEqual(self.page.run("return asked"), 0)
        self.page.find("checkbox", re.compile("done", re.I), within=self.page.find("dialog", "Settings")).click()
        self.page.equals(lambda: self.page.run("return asked"), 1, "it is asked when ticked")

    def test_the_list_of_keys_opens_and_closes(self) -> None:
        self.page.press("?")
        dialog = self.page.find("dialog", "Keyboard shortcuts")
        for key in ("N", "/", "P", "R", "T", "Delete", "Ctrl+Z", "Shift+F10", "Ctrl+A", "Enter", "Escape"):
            self.assertIn(key, dialog.text)
        self.page.press("Escape")
        self.page.until_gone("dialog", "Keyboard shortcuts")
        self.page.click("button", "Keyboard shortcuts")
        self.page.find("dialog", "Keyboard shortcuts")

    def test_settings_is_a_place_with_a_way_back(self) -> None:
        self.page.go("#/paused")
        self.page.click("link", "Settings")
        self.page.find("dialog", "Settings")
        self.assertEqual(self.page.hash, "#/settings")
        self.page.press("Escape")
        self.page.equals(lambda: self.page.hash, "#/paused", "it returns to the list")


if __name__ == "__main__":
    unittest.main()
