"""Lists of 5,000 and of 100,000 rows: only what is in sight is drawn, and everything can be reached and selected."""

from __future__ import annotations

import re
import sqlite3
import unittest
from contextlib import closing

from browser import PageTest, origin
from support import House, eventually

#: Rows that may be in the document at once.
MOST_ROWS = 200
STATES = ["completed", "failed", "paused"]


def crowded_house(count: int, failing: str) -> House:
    """A house with many tasks. They are written into its store: adding them by calls takes minutes.

    `failing` is a URL that fails.
    """
    house = House()
    try:
        house.start_daemon()
        folder = {"destination": {"directory": str(house.folder / "files")}}
        ids = house.add({"url": "data:,1"} | folder, {"url": failing} | folder, {"url": "data:,3", "startPaused": True} | folder)
        eventually(lambda: [house.call("task.get", {"id": task})["state"] for task in ids] == STATES, "each task is in its state")
        house.daemon.stop()
        fill(house, count)
        house.start()
    except BaseException:
        house.end()
        raise
    return house


def fill(house: House, count: int) -> None:
    """Copies the first tasks in turn until there are so many."""
    with closing(sqlite3.connect(house.folder / "state" / "dld.sqlite")) as store:
        columns = [row[1] for row in store.execute("PRAGMA table_info(task)")]
        there = store.execute("SELECT count(*) FROM task").fetchone()[0]
        changed = {"id": "n", "url": "'http://files.example/' || n || '.bin'", "position": "n", "created_at": "task.created_at + n",
                   "spec": "json_set(spec, '$.url', 'http://files.example/' || n || '.bin')",
                   "result_file": "CASE WHEN result_file IS NULL THEN NULL ELSE '/srv/files/' || n || '.bin' END"}
        chosen = ", ".join(changed.get(name, f"task.{name}") for name in columns)
        store.execute(f"""
            WITH RECURSIVE number (n) AS (SELECT {there + 1} UNION ALL SELECT n + 1 FROM number WHERE n < {count})
            INSERT INTO task ({", ".join(columns)}) SELECT {chosen} FROM number JOIN task ON task.id = 1 + (n - 1) % {there} ORDER BY n""")
        store.execute("UPDATE counter SET value = ? WHERE name = 'task'", [count])
        store.commit()


class Many(PageTest):
    count = 100_000

    @classmethod
    def make_house(cls) -> House:
        house = crowded_house(cls.count, origin().url("status/404/none"))
        cls.addClassCleanup(house.end)
        return house

    def clear(self) -> None:
        """The tasks are the same for all tests."""

    def drawn(self) -> int:
        return int(self.page.run("return document.querySelectorAll('[role=row]').length"))

    def test_only_rows_in_sight_are_drawn_and_the_last_is_reached(self) -> None:
        grid = self.page.find("grid", "Transfers")
        self.assertEqual(grid.get_attribute("aria-rowcount"), str(self.count + 1))
        self.assertLessEqual(self.drawn(), MOST_ROWS)
        self.page.press("Tab", "Enter", "End")
        self.page.equals(lambda: self.page.focused, "1", "the oldest task is the last row")
        self.assertLessEqual(self.drawn(), MOST_ROWS)
        self.page.equals(lambda: self.page.row(1).get_attribute("aria-rowindex"), str(self.count + 1), "its place")
        self.page.press("Home")
        self.page.equals(lambda: self.page.focused, str(self.count), "the newest task is the first row")

    def test_a_jump_to_the_middle_shows_the_rows_there(self) -> None:
        self.page.run("""
            const view = [...document.querySelectorAll('[role=grid] *')].find((each) => each.scrollHeight > 10 * each.clientHeight && each.clientHeight);
            view.scrollTop = view.scrollHeight / 2""")
        middle = self.count // 2

        def seen() -> bool:
            rows = [row for row in self.page.rows() if abs(row["index"] - middle) < 30]
            return len(rows) > 15 and all(row["id"] == self.count + 2 - row["index"] for row in rows)

        self.page.until(seen, "rows of the middle are drawn, each at its place")
        self.assertLessEqual(self.drawn(), MOST_ROWS)

    def test_everything_is_selected_without_reading_it(self) -> None:
        self.page.run("window.isSame = true")
        self.page.press("Control+a")
        self.page.until(lambda: f"{self.count:,} selected" in self.page.seen(), "all are selected")
        self.page.press("End")
        self.page.press("Control+a")
        self.page.until(lambda: 1 in self.page.selected(), "rows that come into sight are selected")
        self.assertLessEqual(self.drawn(), MOST_ROWS)

    def test_orders_of_the_page_say_why_they_cannot(self) -> None:
        for name in ("Name", "Size", "Progress", "Rate"):
            button = self.page.find("button", re.compile(f"^{name}"), within=self.page.find("columnheader", re.compile(f"^{name}")))
            self.assertFalse(button.is_enabled(), name)
            told = f"{button.get_attribute('title')} {button.get_attribute('aria-description')}"
            self.assertIn("5,000", told)
        self.assertTrue(self.page.find("button", re.compile("^Added")).is_enabled())

    def test_an_order_of_the_daemon_has_all_rows(self) -> None:
        self.page.open("#/?order=added")
        self.page.until(lambda: self.page.ids()[:3] == [1, 2, 3], "the oldest first")
        self.page.open("#/failed")
        self.page.equals(lambda: self.page.find("grid", "Transfers").get_attribute("aria-rowcount"),
                         str(self.house.call("daemon.stats")["tasks"]["failed"] + 1), "the whole filter")

    def test_a_search_finds_what_is_not_drawn(self) -> None:
        self.page.find("searchbox", "Search").send_keys("/77.bin")
        self.page.until(lambda: self.page.ids() == [77], "one row")
        self.page.until(lambda: f"1 of {self.count:,}" in self.page.seen(), "the caption counts")


class FiveThousand(Many):
    count = 5_000

    def test_orders_of_the_page_say_why_they_cannot(self) -> None:
        self.page.click("button", re.compile("^Name"), within=self.page.find("columnheader", re.compile("^Name")))
        self.page.until(lambda: "order=name" in self.page.hash and self.page.ids() and self.page.ids()[0] < 5, "names in order")
        names = [row["name"] for row in self.page.rows()]
        numbers = [int(name.split(".")[0]) for name in names if name.split(".")[0].isdigit()]
        self.assertEqual(numbers, sorted(numbers))
        self.assertLessEqual(self.drawn(), MOST_ROWS)


if __name__ == "__main__":
    unittest.main()
