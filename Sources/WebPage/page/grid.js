// A grid that draws the rows in sight of a list of any length, with the keys and the selection of file managers.
import { h, button } from "./dom.js";

const overscan = 8;
const mostRows = 160;
/// Numbers in rows change at most twice a second.
const calm = 500;

export class Grid {
  /// `columns` are `{key, label, width, least, header, sorts, sign(task), draw(cell, task)}`; `list` is a TaskList. `act` has the functions
  /// `open(id)`, `menu(at)`, `selected()`, `sort(key)`, `drawn()` and `drop(ids, before)`.
  constructor(label, act) {
    this.act = act;
    this.header = h("div", { role: "row", "aria-rowindex": "1" });
    this.rows = h("div", { class: "rows", role: "presentation" });
    this.view = h("div", { class: "view", role: "rowgroup", tabindex: "-1" }, this.rows);
    this.element = h("div", { role: "grid", "aria-label": label, "aria-multiselectable": "true", on: { keydown: (event) => this.#key(event) } },
      h("div", { class: "head", role: "rowgroup" }, this.header), this.view);
    this.elements = new Map(); // id → row
    this.drawn = []; // [index, id] of the rows in sight
    this.active = 0;
    this.anchor = 0;
    this.selection = { all: false, ids: new Set() };
    this.waits = 0;
    this.view.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.layout()).observe(this.view);
    this.#listenToPointer();
  }

  // Columns

  /// Shows these columns as far as they fit; the list of `leave` goes first.
  setColumns(columns, leave, sort) {
    Object.assign(this, { columns, leave, sorting: sort });
    this.layout();
  }

  layout() {
    if (!this.columns) return;
    const width = this.view.clientWidth - 2 * parseFloat(getComputedStyle(this.header).paddingInlineStart || 0);
    this.isNarrow = innerWidth < 640;
    const shown = new Set(this.columns.map((column) => column.key));
    const needed = () => this.columns.reduce((sum, { key, least }) => sum + (shown.has(key) ? least + 12 : 0), 0);
    for (const key of this.leave) if (this.isNarrow || needed() > width) shown.delete(key);
    const columns = this.columns.filter((column) => shown.has(column.key));
    const sign = JSON.stringify([columns.map((column) => column.key), this.isNarrow, this.sorting]);
    this.rowHeight = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 44;
    if (sign !== this.layoutSign) {
      this.layoutSign = sign;
      this.shown = columns;
      this.element.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
      this.element.setAttribute("aria-colcount", columns.length);
      this.#drawHeader();
      this.wantsFocus ||= this.view.contains(document.activeElement);
      for (const row of this.elements.values()) row.remove();
      this.elements.clear();
    }
    this.schedule();
  }

  #drawHeader() {
    const focused = this.header.contains(document.activeElement) && document.activeElement.dataset.key;
    this.header.replaceChildren(...this.shown.map((column) => {
      const { direction, blocked } = this.sorting[column.key] ?? {};
      return h("div", { role: "columnheader", class: column.isNumber ? "number" : null, "aria-sort": direction ?? "none" },
        button(column.label, () => this.act.sort(column.key), {
          disabled: Boolean(blocked), title: blocked, "aria-description": blocked, dataset: { key: column.key },
        }));
    }));
    if (focused) this.header.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  // Drawing

  /// Called by the list around each change of places. What is in sight stays in sight, unless the list is scrolled to its top.
  before() {
    const top = this.view.scrollTop;
    this.held = top < 1 ? [] : this.drawn.filter(([index]) => (index + 1) * this.rowHeight > top);
    this.heldTop = top;
  }
  after() {
    this.resize();
    const { list } = this;
    for (const [index, id] of this.held ?? []) {
      const now = list.indexOf(id);
      if (now < 0) continue;
      if (now !== index) this.view.scrollTop = this.heldTop + (now - index) * this.rowHeight;
      break;
    }
    const now = this.activeID === undefined ? -1 : list.indexOf(this.activeID);
    // A row that is gone gives its place to the next one; one whose place is not known yet keeps it.
    if (now >= 0) this.active = now;
    else this.active = Math.max(0, Math.min(this.active, list.count - 1));
    if (now < 0) this.activeID = list.idAt(this.active);
    this.schedule();
  }
  /// Draws changed rows anew, but not at once if it did so just now.
  changed() {
    if (document.hidden || this.calmTimer) return;
    this.calmTimer = setTimeout(() => {
      this.calmTimer = null;
      this.schedule();
    }, Math.max(0, calm - (performance.now() - (this.drawnAt ?? 0))));
  }
  busy(change) {
    this.waits += change;
    this.element.setAttribute("aria-busy", String(this.waits > 0));
    clearTimeout(this.barTimer);
    if (this.waits === 0) this.element.classList.remove("loading");
    else this.barTimer = setTimeout(() => this.element.classList.add("loading"), 200);
  }

  resize() {
    this.rows.style.blockSize = `${this.list.count * this.rowHeight}px`;
    this.element.setAttribute("aria-rowcount", this.list.count + 1);
  }

  schedule() {
    if (this.frame) return;
    this.frame = true;
    const draw = () => {
      this.frame = false;
      this.draw();
    };
    if (document.hidden) setTimeout(draw, 100);
    else requestAnimationFrame(draw);
  }

  draw() {
    const { list, rowHeight } = this;
    // The rows of before stay until there are others.
    if (!this.shown || !list?.filter) return;
    if (list.isLoading && !list.ids.length) return this.act.drawn();
    this.resize();
    const count = list.count;
    const top = this.view.scrollTop;
    const first = Math.max(0, Math.floor(top / rowHeight) - overscan);
    const last = Math.min(count - 1, Math.ceil((top + this.view.clientHeight) / rowHeight) + overscan, first + mostRows);
    const indexes = [];
    for (let index = first; index <= last; index++) indexes.push(index);
    if (this.active < first) indexes.unshift(this.active);
    else if (this.active > last && this.active < count) indexes.push(this.active);

    const hadFocus = this.view.contains(document.activeElement);
    this.activeID = list.idAt(this.active) ?? this.activeID;
    if (this.isPending && list.idAt(this.active) !== undefined) {
      this.isPending = false;
      this.#select([list.idAt(this.active)]);
    }
    const used = new Map();
    for (const index of indexes) {
      const id = list.idAt(index);
      const task = id === undefined ? null : list.tasks.get(id);
      if (!task || used.has(id)) continue;
      const row = this.elements.get(id) ?? this.#makeRow(id);
      this.#update(row, task, index);
      used.set(id, row);
    }
    for (const [id, row] of this.elements) if (!used.has(id)) row.remove();
    let next = this.rows.firstChild;
    for (const row of used.values()) {
      if (row === next) next = next.nextSibling;
      else this.rows.insertBefore(row, next);
    }
    this.elements = used;
    this.drawn = indexes.filter((index) => index >= first && index <= last).map((index) => [index, list.idAt(index)]).filter(([, id]) => id !== undefined);
    this.drawnAt = performance.now();
    if (this.wantsFocus || hadFocus) this.#focusRow();
    list.need(first, last);
    this.act.drawn();
  }

  #makeRow(id) {
    return h("div", { role: "row", dataset: { task: id } }, this.shown.map((column) =>
      h("div", { role: column.header ? "rowheader" : "gridcell", class: [column.key, column.isNumber && "number"].filter(Boolean).join(" ") })));
  }

  #update(row, task, index) {
    set(row, "aria-rowindex", index + 2);
    set(row, "aria-selected", this.has(task.id));
    set(row, "tabindex", index === this.active ? 0 : -1);
    set(row, "data-state", task.state);
    if (this.isMovable) set(row, "draggable", "true");
    else row.removeAttribute("draggable");
    const place = `translateY(${index * this.rowHeight}px)`;
    if (row.style.transform !== place) row.style.transform = place;
    this.shown.forEach((column, i) => {
      const sign = column.sign(task, this);
      const cell = row.children[i];
      if (cell.sign === sign) return;
      cell.sign = sign;
      column.draw(cell, task, this);
    });
  }

  #focusRow() {
    const row = this.elements.get(this.list.idAt(this.active));
    if (row === document.activeElement) return void (this.wantsFocus = false);
    if (row) {
      this.wantsFocus = false;
      row.focus({ preventScroll: true });
    } else this.view.focus({ preventScroll: true }); // keys go on while the row comes
  }

  // Focus and selection

  has(id) {
    return this.selection.all !== this.selection.ids.has(id);
  }
  /// With `all`, `ids` are those that are not selected.
  get selectedCount() {
    const { all, ids } = this.selection;
    return all ? Math.max(0, this.list.count - ids.size) : ids.size;
  }
  #select(ids, all = false) {
    this.selection = { all, ids: new Set(ids) };
    this.#reselected();
  }
  #reselected() {
    this.act.selected();
    this.schedule();
  }
  clear() {
    this.isPending = false;
    this.#select([]);
  }
  selectAll() {
    this.#select([], this.list.count > 0);
  }
  forget(id) {
    if (!this.selection.all && this.selection.ids.delete(id)) this.act.selected();
  }
  toggle(index) {
    const id = this.list.idAt(index);
    if (id === undefined) return;
    const { ids } = this.selection;
    if (!ids.delete(id)) ids.add(id);
    this.anchor = index;
    this.#reselected();
  }
  async extend(index) {
    const [first, last] = [Math.min(this.anchor, index), Math.max(this.anchor, index)];
    if (first === 0 && last === this.list.count - 1) return this.selectAll();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const ids = await this.list.idsBetween(first, last);
    if (turn === this.turn) this.#select(ids);
  }
  selectOnly(index) {
    this.turn = (this.turn ?? 0) + 1;
    this.anchor = index;
    const id = this.list.idAt(index);
    this.isPending = id === undefined;
    this.#select(id === undefined ? [] : [id]);
  }

  /// For another list: begins at its first row.
  toTop() {
    this.active = this.anchor = 0;
    this.activeID = undefined;
    this.held = this.drawn = [];
    this.view.scrollTop = 0;
  }

  /// Moves the focus to a row, and brings it into sight.
  focus(index, { takesFocus = true } = {}) {
    this.active = Math.max(0, Math.min(index, this.list.count - 1));
    this.activeID = this.list.idAt(this.active);
    const { rowHeight, view } = this;
    const top = this.active * rowHeight;
    this.resize();
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + rowHeight > view.scrollTop + view.clientHeight) view.scrollTop = top + rowHeight - view.clientHeight;
    this.wantsFocus ||= takesFocus;
    this.draw();
  }

  #key(event) {
    const { key, shiftKey, altKey } = event;
    const isControl = event.ctrlKey || event.metaKey;
    if (event.target.closest("button") || altKey) return;
    const page = Math.max(1, Math.floor(this.view.clientHeight / this.rowHeight) - 1);
    const moves = { ArrowUp: this.active - 1, ArrowDown: this.active + 1, Home: 0, End: this.list.count - 1, PageUp: this.active - page, PageDown: this.active + page };
    if (key in moves) {
      if (this.list.count === 0) return;
      // The first arrow on an untouched list takes the row that has the focus.
      const isFirst = !isControl && !shiftKey && this.selectedCount === 0 && key === "ArrowDown" && this.active === 0;
      this.focus(isFirst ? 0 : moves[key]);
      if (shiftKey) this.extend(this.active);
      else if (!isControl) this.selectOnly(this.active);
    } else if (key === " ") {
      if (shiftKey) this.extend(this.active);
      else this.toggle(this.active);
    } else if (isControl && key.toLowerCase() === "a") this.selectAll();
    else if (key === "Enter" && !isControl && this.list.idAt(this.active) !== undefined) this.act.open(this.list.idAt(this.active));
    else if (key === "ContextMenu" || (key === "F10" && shiftKey)) this.#menu();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  /// Passes a key on that nobody else wanted.
  key(event) {
    this.#key(event);
  }

  #menu(at) {
    const id = this.list.idAt(this.active);
    if (id === undefined) return;
    if (!this.has(id)) this.selectOnly(this.active);
    this.draw();
    const box = this.elements.get(id)?.getBoundingClientRect();
    this.act.menu(at ?? { x: (box?.left ?? 0) + 32, y: box?.bottom ?? 0 });
  }

  #indexOf(event) {
    const row = event.target.closest?.('[role="row"]');
    return row && this.rows.contains(row) ? Number(row.getAttribute("aria-rowindex")) - 2 : -1;
  }

  #listenToPointer() {
    const { rows } = this;
    rows.addEventListener("click", (event) => {
      const index = this.#indexOf(event);
      if (index < 0) return;
      this.focus(index);
      const isTouch = event.pointerType === "touch";
      if (event.shiftKey) this.extend(index);
      else if (event.ctrlKey || event.metaKey || (isTouch && this.selectedCount)) this.toggle(index);
      else if (isTouch) this.act.open(this.list.idAt(index));
      else this.selectOnly(index);
    });
    rows.addEventListener("dblclick", (event) => {
      const index = this.#indexOf(event);
      if (index >= 0 && !event.ctrlKey && !event.shiftKey) this.act.open(this.list.idAt(index));
    });
    rows.addEventListener("contextmenu", (event) => {
      const index = this.#indexOf(event);
      if (index < 0) return;
      event.preventDefault();
      this.focus(index);
      this.#menu(event.clientX || event.clientY ? { x: event.clientX, y: event.clientY } : undefined);
    });
    rows.addEventListener("focusin", (event) => {
      const index = this.#indexOf(event);
      if (index >= 0 && index !== this.active) this.focus(index);
    });
    let target = null;
    const mark = (row) => {
      target?.classList.remove("drop");
      target = row;
      target?.classList.add("drop");
    };
    rows.addEventListener("dragstart", (event) => {
      const index = this.#indexOf(event);
      if (!this.has(this.list.idAt(index))) this.selectOnly(index);
      event.dataTransfer.setData("application/x-dld", "rows");
      event.dataTransfer.effectAllowed = "move";
    });
    rows.addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes("application/x-dld")) return;
      event.preventDefault();
      mark(event.target.closest('[role="row"]'));
    });
    rows.addEventListener("dragend", () => mark(null));
    rows.addEventListener("drop", (event) => {
      if (!event.dataTransfer.types.includes("application/x-dld")) return;
      event.preventDefault();
      event.stopPropagation();
      const index = this.#indexOf(event);
      mark(null);
      if (index >= 0) this.act.drop(index);
    });
  }
}

function set(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}
