"""The dialog "Add transfers", and links that are pasted or dropped."""

from __future__ import annotations

import hashlib
import re
import unittest
from typing import Any

from browser import By, PageTest, WebElement


class AddTest(PageTest):
    def dialog(self) -> WebElement:
        return self.page.find("dialog", "Add transfers")

    def open_dialog(self) -> WebElement:
        self.page.press("n")
        return self.dialog()

    def type_links(self, *lines: str) -> None:
        self.page.find("textbox", "Links", within=self.dialog()).send_keys("\n".join(lines))

    def fill(self, name: str, text: str) -> None:
        box = self.page.find("textbox", name, within=self.dialog())
        box.clear()
        box.send_keys(text)

    def save_in_files(self) -> None:
        self.fill("Save in", str(self.house.folder / "files"))

    def submit(self, name: str) -> None:
        self.page.click("button", name, within=self.dialog())

    def all_tasks(self) -> list[dict[str, Any]]:
        return list(self.house.call("task.list", {"order": "oldest"})["tasks"])


    def paste(self, text: str) -> None:
        self.page.run("""const data = new DataTransfer(); data.setData("text/plain", arguments[0]);
            const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
            (document.activeElement ?? document.body).dispatchEvent(event)""", text)

    def drop(self, script: str, *arguments: Any) -> None:
        self.page.run("""const data = new DataTransfer(); %s
            for (const type of ["dragenter", "dragover", "drop"]) {
                const event = new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true});
                document.querySelector("main").dispatchEvent(event);
            }""" % script, *arguments)

    def links(self) -> list[str]:
        return self.page.value("textbox", "Links", within=self.dialog()).split()


class Dialog(AddTest):
    def test_it_has_its_controls_keeps_the_focus_and_gives_it_back(self) -> None:
        task, = self.add_paused("a.bin")
        self.page.row(task).click()
        dialog = self.open_dialog()
        for role, name in [("textbox", "^Links$"), ("textbox", "^Save in$"), ("checkbox", "^Start paused$"), ("button", "^Choose Metalink$"),
                           ("button", "^Add"), ("button", "^Cancel$")]:
            with self.subTest(name):
                self.assertEqual(len(self.page.all(role, re.compile(name), within=dialog)), 1)
        self.assertEqual(dialog.tag_name, "dialog")
        self.assertEqual(len(dialog.find_elements(By.CSS_SELECTOR, 'input[type="file"]')), 1)
        self.assertEqual(self.page.focused, "Links")
        self.assertEqual(self.page.all("grid", "Transfers"), [], "what is behind cannot be reached")
        for _ in range(12):
            self.page.press("Tab")
            self.assertTrue(self.page.run("return document.activeElement === document.body || Boolean(document.activeElement.closest('dialog'))"))
        self.page.press("Escape")
        self.page.until_gone("dialog", "Add transfers")
        self.page.equals(lambda: self.page.focused, str(task), "the row has the focus again")
        self.page.click("button", "Add")
        self.page.click("button", "Cancel", within=self.dialog())
        self.page.until_gone("dialog", "Add transfers")
        self.page.equals(lambda: self.page.focused, "Add", "the button has the focus again")

    def test_one_link_with_name_and_folder(self) -> None:
        self.open_dialog()
        self.type_links(self.origin.url("data/10/a.bin"))
        self.fill("Name", "chosen.bin")
        self.save_in_files()
        self.submit("Add 1")
        self.page.until_gone("dialog", "Add transfers")
        task = self.page.until(self.all_tasks, "the task is there")[0]["id"]
        self.page.equals(lambda: self.page.focused, str(task), "the new row has the focus")
        self.until_state(task, "completed")
        self.assertTrue((self.house.folder / "files" / "chosen.bin").exists())
        self.open_dialog()
        self.page.click("button", str(self.house.folder / "files"), within=self.dialog())
        self.assertEqual(self.page.value("textbox", "Save in"), str(self.house.folder / "files"))

    def test_many_links_and_patterns(self) -> None:
        self.open_dialog()
        self.page.find("checkbox", "Start paused", within=self.dialog()).click()
        self.save_in_files()
        self.type_links(self.origin.url("data/10/[08-10].bin"), "# a comment", "", self.origin.url("data/10/{x,y}[a-c:2].bin"),
                        f"{self.origin.url('data/10/m.bin')}")
        self.assertFalse(self.page.has("textbox", "Name"), "a name fits only one link")
        self.submit("Add 8")
        self.page.until(lambda: len(self.all_tasks()) == 8, "eight tasks")
        names = [task["url"].rpartition("/")[2] for task in self.all_tasks()]
        self.assertEqual(names, ["08.bin", "09.bin", "10.bin", "xa.bin", "xc.bin", "ya.bin", "yc.bin", "m.bin"])
        self.assertEqual({task["state"] for task in self.all_tasks()}, {"paused"})
        self.page.until(lambda: len(self.page.rows()) == 8, "eight rows")
        self.page.equals(lambda: self.page.focused in {str(task["id"]) for task in self.all_tasks()}, True, "a new row has the focus")

    def test_nothing_is_added_while_a_line_is_bad(self) -> None:
        self.open_dialog()
        self.type_links("nonsense", self.origin.url("data/10/a.bin"), "http://", self.origin.url("data/10/b.bin"))
        self.page.find("checkbox", "Start paused", within=self.dialog()).click()
        self.page.until(lambda: {number for each in self.page.all("alert", within=self.dialog()) for number in re.findall(r"\d+", each.text)[:1]} == {"1", "3"},
                        "alerts name lines 1 and 3")
        self.page.click("button", re.compile("^Add"), within=self.dialog())
        self.assertTrue(self.page.has("dialog", "Add transfers"))
        self.assertEqual(self.all_tasks(), [])
        self.assertIn("nonsense", self.page.value("textbox", "Links"), "bad lines stay")
        self.submit("Drop 2 bad lines")
        self.assertNotIn("nonsense", self.page.value("textbox", "Links"))
        self.submit("Add 2")
        self.page.until(lambda: len(self.all_tasks()) == 2, "two tasks")

    def test_control_enter_adds_and_letters_only_write(self) -> None:
        self.open_dialog()
        self.type_links(self.origin.url("data/10/npr.bin?1"))
        self.page.find("checkbox", "Start paused", within=self.dialog()).click()
        self.page.find("textbox", "Links").click()
        self.page.press("Control+Enter")
        self.page.until_gone("dialog", "Add transfers")
        self.assertEqual([task["url"] for task in self.all_tasks()], [self.origin.url("data/10/npr.bin?1")])

    def test_more_options_reach_the_daemon(self) -> None:
        self.house.call("session.open", {"id": "night"})
        digest = hashlib.sha256(b"\0" * 10).hexdigest()
        self.open_dialog()
        self.type_links(self.origin.url("data/10/a.bin"))
        self.save_in_files()
        self.assertFalse(self.page.has("combobox", "Session"), "it is folded")
        self.dialog().find_element(By.CSS_SELECTOR, "summary").click()
        self.page.find("combobox", "Session", within=self.dialog()).send_keys("night")
        self.page.find("combobox", "Priority", within=self.dialog()).send_keys("High")
        self.page.find("textbox", re.compile("Digest|Checksum"), within=self.dialog()).send_keys(digest)
        self.submit("Add 1")
        task = self.page.until(self.all_tasks, "the task is there")[0]
        self.until_state(task["id"], "completed")
        task = self.task(task["id"])
        self.assertEqual((task["session"], task["checksum"]["value"], task["verified"]), ("night", digest, True))
        self.assertIn(task["priority"], ("high", 0.75))

    def test_a_link_of_an_unfinished_task_gets_a_note_with_a_link(self) -> None:
        task, = self.add_paused("a.bin")
        self.open_dialog()
        self.type_links(self.origin.url("data/1000/a.bin"))
        self.page.find("checkbox", "Start paused", within=self.dialog()).click()
        note = self.page.find("link", re.compile(str(task)), within=self.dialog())
        self.assertTrue(str(note.get_attribute("href")).endswith(f"#/task/{task}"))
        self.submit("Add 1")
        self.page.until(lambda: len(self.all_tasks()) == 2, "it is no refusal")

    def test_what_is_sent_twice_is_added_once(self) -> None:
        self.open_dialog()
        self.type_links(self.origin.url("data/10/[1-3].bin"))
        self.page.find("checkbox", "Start paused", within=self.dialog()).click()
        # The answer to the first request is lost, as if the connection broke.
        self.page.run("""window.sent = []; const real = fetch; window.fetch = async (url, options) => {
            if (!options?.body || !String(options.body).includes("task.add")) return real(url, options);
            sent.push(String(options.body));
            const answer = await real(url, options);
            if (sent.length === 1) throw new TypeError("network error");
            return answer; }""")
        self.submit("Add 3")
        self.page.until_gone("dialog", "Add transfers")
        self.assertEqual(self.page.run("return sent.length"), 2)
        tokens = [re.findall(r'"clientToken":"([^"]+)"', body) for body in self.page.run("return sent")]
        self.assertEqual(tokens[0], tokens[1])
        self.assertEqual(len(set(tokens[0])), 3)
        self.assertEqual(len(self.all_tasks()), 3)
        self.page.until(lambda: len(self.page.rows()) == 3, "three rows")

    def test_what_the_daemon_refuses_is_said_and_nothing_is_lost(self) -> None:
        self.open_dialog()
        self.type_links(self.origin.url("data/10/a.bin"))
        self.fill("Save in", "not/absolute")
        self.submit("Add 1")
        self.page.find("alert", None, within=self.dialog())
        self.assertEqual(self.all_tasks(), [])
        self.save_in_files()
        self.submit("Add 1")
        self.page.until(self.all_tasks, "the mended one is added")


class Pasting(AddTest):
    def test_pasted_links_open_the_dialog_and_other_text_does_nothing(self) -> None:
        self.paste("no links here: mailto:a@b, javascript:alert(1), file:///etc/passwd")
        self.assertFalse(self.page.has("dialog"))
        wanted = ["http://h/a", "https://h/b", "ftp://h/c", "ftps://h/d", "sftp://h/e"]
        self.paste("see " + "\nand ".join(wanted))
        self.assertEqual(self.links(), wanted)
        self.page.until(lambda: self.page.has("button", "Add 5", within=self.dialog()), "all five are counted")

    def test_the_real_clipboard_is_read_at_control_v(self) -> None:
        self.page.cdp("Browser.grantPermissions", origin=self.house.base.rstrip("/"), permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.page.run("return navigator.clipboard.writeText(arguments[0])", "http://h/clipboard")
        self.page.press("Control+v")
        self.assertEqual(self.links(), ["http://h/clipboard"])

    def test_a_text_field_keeps_what_is_pasted_into_it(self) -> None:
        self.page.press("/")
        self.paste("http://h/a")
        self.assertFalse(self.page.has("dialog"))

    def test_dropped_links_open_the_dialog(self) -> None:
        self.drop('data.setData("text/uri-list", arguments[0])', "http://h/a\r\nhttp://h/b")
        self.assertEqual(self.links(), ["http://h/a", "http://h/b"])


class Metalinks(AddTest):
    expected_messages = r"/metalink .*422"

    def document(self) -> str:
        files = "".join(f'<file name="{name}"><size>{size}</size><url>{self.origin.url(f"data/{size}/{name}")}</url></file>'
                        for name, size in [("one.bin", 1000), ("two.bin", 2000), ("three.bin", 3000)])
        return f'<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">{files}</metalink>'

    def test_its_files_are_shown_with_sizes_and_the_ticked_ones_are_added(self) -> None:
        path = self.house.folder / "some.meta4"
        path.write_text(self.document())
        dialog = self.open_dialog()
        dialog.find_element(By.CSS_SELECTOR, 'input[type="file"]').send_keys(str(path))
        for name in ("one.bin", "two.bin", "three.bin"):
            self.assertTrue(self.page.find("checkbox", re.compile(name), within=self.dialog()).is_selected())
        self.assertIn("2.0 kB", dialog.text)
        self.page.find("checkbox", re.compile("two.bin"), within=self.dialog()).click()
        self.save_in_files()
        self.submit("Add 2")
        self.page.until(lambda: len(self.all_tasks()) == 2, "two tasks")
        for task in self.all_tasks():
            self.until_state(task["id"], "completed")
        self.assertEqual(sorted(file.name for file in (self.house.folder / "files").iterdir()), ["one.bin", "three.bin"])

    def test_it_can_be_dropped(self) -> None:
        self.drop('data.items.add(new File([arguments[0]], "some.meta4"))', self.document())
        self.page.find("checkbox", re.compile("one.bin"), within=self.dialog())
        self.page.until(lambda: self.page.has("button", "Add 3", within=self.dialog()), "three files")

    def test_a_bad_one_says_so(self) -> None:
        self.drop('data.items.add(new File(["<metalink"], "bad.meta4"))')
        self.page.says("alert", "bad.meta4")
        self.assertEqual(self.all_tasks(), [])



if __name__ == "__main__":
    unittest.main()
