// The times at which a session runs, as a grid of a week that is painted with pointer or keys.
import { t, format } from "../text.js";
import { h, button, field, newID } from "../dom.js";
import { bytesText, readAmounts, text } from "./fields.js";

const day = 1440;
const week = 7 * day;
/// The week of a calendar; the protocol's day 0 is Sunday.
const days = [1, 2, 3, 4, 5, 6, 0];
const never = "";

const minutes = (clock) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
const clock = (minute) => `${String(Math.floor(minute / 60) % 24).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
const limits = (value) => JSON.parse(value);
/// Of the limits of two windows, the lower one counts.
const lower = (a, b) => Math.min(a || Infinity, b || Infinity) === Infinity ? 0 : Math.min(a || Infinity, b || Infinity);

/// Each minute of the week: `never`, or the limits of its windows as JSON. Minutes keep windows that do not begin on the hour.
export function minutesOf(schedule) {
  const all = new Array(week).fill(never);
  for (const { begin, end, days: on = days, downloadRateLimit = 0, uploadRateLimit = 0 } of schedule) {
    const length = (minutes(end) - minutes(begin) + day - 1) % day + 1;
    for (const each of on) {
      for (let i = 0; i < length; i++) {
        const at = (each * day + minutes(begin) + i) % week;
        const [down, up] = all[at] === never ? [0, 0] : limits(all[at]);
        all[at] = JSON.stringify([lower(down, downloadRateLimit), lower(up, uploadRateLimit)]);
      }
    }
  }
  return all;
}

/// The fewest windows for these minutes: equal ones of several days are one.
export function windowsOf(all) {
  const found = new Map();
  // A run that passes midnight belongs to the day on which it begins, unless it lasts longer than a day.
  const begins = (at) => all[at] !== never && (all[at] !== all[(at + week - 1) % week]);
  const starts = [...Array(week).keys()].filter(begins);
  if (starts.length === 0 && all[0] !== never) starts.push(0);
  for (const start of starts) {
    let length = 1;
    while (length < week && all[(start + length) % week] === all[start]) length++;
    for (let at = start; length > 0;) {
      // Whole days are windows of their own, so that equal days become one.
      const piece = at % day === 0 ? Math.min(length, day) : length <= day ? length : day - (at % day);
      const key = JSON.stringify([clock(at % day), clock((at + piece) % day), all[start]]);
      found.set(key, [...(found.get(key) ?? []), Math.floor(at / day) % 7]);
      at += piece;
      length -= piece;
    }
  }
  return [...found].map(([key, on]) => {
    const [begin, end, value] = JSON.parse(key);
    const [down, up] = limits(value);
    return { begin, end, ...(on.length < 7 && { days: on.sort() }), ...(down && { downloadRateLimit: down }), ...(up && { uploadRateLimit: up }) };
  });
}

/// The grid: columns are days, rows are hours, as in a calendar.
export class ScheduleGrid {
  isPainted = false;
  #all;
  #base;
  #cells = [];
  #painting = null;
  #down;
  #up;

  constructor(schedule, base) {
    this.#all = minutesOf(schedule);
    this.#base = base;
    this.#down = text("", { placeholder: t.unlimited });
    this.#up = text("", { placeholder: t.unlimited });
    const body = Array.from({ length: 24 }, (_, hour) => {
      const cells = days.map((each) => h("td", { role: "gridcell", tabindex: "-1", dataset: { at: String(each * day + hour * 60) } }));
      this.#cells.push(cells);
      return h("tr", null, h("th", { scope: "row" }, `${String(hour).padStart(2, "0")}:00`), cells);
    });
    this.#cells[0][0].tabIndex = 0;
    const hint = h("p", { class: "hint", id: newID("hint") }, t.schedule.hint);
    const table = h("table", { role: "grid", class: "week", "aria-label": t.schedule.title, "aria-multiselectable": "true", "aria-describedby": hint.id },
      h("thead", null, h("tr", null, h("td", null), days.map((each) => h("th", { scope: "col", abbr: t.schedule.days[each] }, t.schedule.short[each])))), h("tbody", null, body));
    this.#listen(table);
    this.element = h("div", { class: "schedule" }, hint,
      h("div", { class: "columns" }, field(t.limits.downloadRateLimit, this.#down, t.schedule.brush), field(t.limits.uploadRateLimit, this.#up)),
      h("div", { class: "answers" }, button(t.schedule.always, () => this.#fill(true)), button(t.schedule.clear, () => this.#fill(false))), table);
    this.#draw();
  }

  /// The windows; null if the session always runs.
  /// Nothing is painted, so that nothing would ever run.
  get isEmpty() {
    return windowsOf(this.#all).length === 0;
  }

  get value() {
    const windows = windowsOf(this.#all);
    const isAlways = windows.length === 1 && windows[0].begin === windows[0].end && !windows[0].days && !windows[0].downloadRateLimit && !windows[0].uploadRateLimit;
    return windows.length === 0 || isAlways ? null : windows;
  }

  #brush() {
    const amounts = readAmounts({ down: this.#down, up: this.#up }, this.#base);
    return amounts && JSON.stringify([amounts.down ?? 0, amounts.up ?? 0]);
  }

  #fill(runs) {
    const value = runs ? this.#brush() : never;
    if (value === null) return;
    this.isPainted = true;
    this.#all.fill(value);
    this.#draw();
  }

  #paint(cell, value) {
    const at = Number(cell.dataset.at);
    this.isPainted = true;
    this.#all.fill(value, at, at + 60);
    this.#drawCell(cell);
  }

  /// What a stroke that begins at this cell paints: it takes away what is there, or puts the limits of the brush.
  #stroke(cell) {
    const brush = this.#brush();
    return brush === null ? null : this.#all[Number(cell.dataset.at)] === brush ? never : brush;
  }

  #listen(table) {
    const cellAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("td[data-at]");
    table.addEventListener("pointerdown", (event) => {
      const cell = event.target.closest("td[data-at]");
      if (!cell || event.button !== 0) return;
      this.#focus(cell);
      this.#painting = this.#stroke(cell);
      if (this.#painting !== null) this.#paint(cell, this.#painting);
      event.preventDefault();
    });
    table.addEventListener("pointermove", (event) => {
      if (event.buttons !== 1) this.#painting = null;
      const cell = this.#painting !== null && cellAt(event);
      if (cell && table.contains(cell)) this.#paint(cell, this.#painting);
    });
    table.addEventListener("keydown", (event) => {
      const row = this.#cells.findIndex((cells) => cells.includes(event.target));
      if (row < 0) return;
      const column = this.#cells[row].indexOf(event.target);
      if (event.key === " " || event.key === "Enter") {
        const value = this.#stroke(event.target);
        if (value !== null) this.#paint(event.target, value);
      } else {
        const step = document.dir === "rtl" ? -1 : 1;
        const moves = {
          ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - step], ArrowRight: [row, column + step],
          Home: [row, 0], End: [row, 6], PageUp: [0, column], PageDown: [23, column],
        };
        const next = moves[event.key] && this.#cells[moves[event.key][0]]?.[moves[event.key][1]];
        if (!moves[event.key]) return;
        if (next) {
          // With Shift, the walk paints as the cell that it leaves.
          if (event.shiftKey) this.#paint(next, this.#all[Number(event.target.dataset.at)]);
          this.#focus(next);
        }
      }
      event.preventDefault();
      event.stopPropagation();
    });
  }

  #focus(cell) {
    for (const each of this.#cells.flat()) each.tabIndex = each === cell ? 0 : -1;
    cell.focus();
  }

  #draw() {
    this.#cells.flat().forEach((cell) => this.#drawCell(cell));
  }

  #drawCell(cell) {
    const at = Number(cell.dataset.at);
    const values = new Set(this.#all.slice(at, at + 60));
    const value = [...values].find((each) => each !== never) ?? never;
    const [down, up] = value === never ? [0, 0] : limits(value);
    const kind = value === never ? "never" : values.size > 1 ? "partly" : down || up ? "limited" : "runs";
    cell.dataset.kind = kind;
    cell.setAttribute("aria-selected", String(kind !== "never"));
    const limit = [down && `↓ ${bytesText(down, this.#base)}/s`, up && `↑ ${bytesText(up, this.#base)}/s`].filter(Boolean).join(", ");
    const words = `${t.schedule.days[Math.floor(at / day)]} ${clock(at % day)}–${clock((at + 60) % day)}: ${t.schedule.kinds[kind]}${limit && `, ${limit}`}`;
    cell.setAttribute("aria-label", words);
    cell.title = words;
  }
}
