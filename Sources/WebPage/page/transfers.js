// The screen Transfers: filters, search, orders, and what can be done with the selected rows.
import { call, connectionState, on, session } from "./api.js";
import { h, button, cut, foreign, visible, time, message, alertMessage, giveFocus } from "./dom.js";
import { Grid } from "./grid.js";
import { TaskList, hides, progressOf, sortable } from "./list.js";
import { t, format, nameOf, statusWord, statusReason } from "./text.js";

export const filters = {
  all: null, active: "running", queued: "queued", waiting: "waiting", paused: "paused", done: "completed", failed: "failed", cancelled: "cancelled",
};
export const ended = ["completed", "failed", "cancelled"];
export const unfinished = ["queued", "running", "waiting", "paused"];
export const fits = {
  pause: ["queued", "running", "waiting"], resume: ["paused"], retry: ["waiting", "failed", "cancelled"], cancel: unfinished,
  remove: [...unfinished, ...ended], deleteFiles: [...unfinished, ...ended],
};

// Columns

const numberColumn = (key, least, words) => ({
  key, label: t.columns[key], least, width: `${least}px`, isNumber: true, sign: words, draw: (cell, task, grid) => (cell.textContent = words(task, grid)),
});
const sizeOf = (task) => Math.max(task.bytesExpected, task.bytesToSend, task.state === "completed" ? task.bytesReceived : 0);
const rateWords = (task) => (task.state === "running" ? format.rate(task.rate) : "");
const timeLeft = (task) => (task.state === "running" && task.eta !== undefined && task.eta !== null ? format.duration(task.eta) : "");

/// After the word: why, or on a phone what the other columns say.
function reasonWords(task, grid) {
  const shows = (key) => grid.shown.some((column) => column.key === key);
  const words = [statusReason(task)];
  if (!shows("rate")) words.push(rateWords(task));
  if (grid.isNarrow && !shows("eta")) words.push(timeLeft(task) && t.list.left(timeLeft(task)));
  if (grid.isNarrow && task.state === "completed") words.push(format.bytes(sizeOf(task)));
  return words.filter(Boolean).map((text) => ` · ${text}`).join("");
}

export const columns = {
  name: {
    key: "name", label: t.columns.name, least: 180, width: "minmax(0, 1fr)", header: true, sign: nameOf,
    draw: (cell, task) => {
      cell.replaceChildren(cut(nameOf(task)));
      cell.title = visible(nameOf(task));
    },
  },
  status: {
    key: "status", label: t.columns.status, least: 150, width: "minmax(0, 1fr)", sign: (task, grid) => statusWord(task) + reasonWords(task, grid),
    draw: (cell, task, grid) => {
      const reason = reasonWords(task, grid);
      cell.replaceChildren(h("span", { class: "word" }, statusWord(task)), h("span", { class: "reason" }, foreign(reason)));
      cell.title = visible(statusWord(task) + reason);
    },
  },
  progress: {
    key: "progress", label: t.columns.progress, least: 116, width: "116px", sign: (task) => `${progressOf(task).toFixed(3)} ${nameOf(task)}`,
    draw: (cell, task) => {
      const share = progressOf(task);
      const percent = Math.floor(share * 100);
      const fill = h("div", null);
      fill.style.transform = `scaleX(${Math.max(0, share)})`;
      cell.replaceChildren(
        h("div", { role: "progressbar", class: "bar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share < 0 ? null : percent, "aria-label": t.list.progressOf(visible(nameOf(task))) }, fill),
        h("span", { class: "number" }, share < 0 || task.state === "completed" ? "" : `${percent}%`));
    },
  },
  size: numberColumn("size", 72, (task) => format.bytes(sizeOf(task) || undefined)),
  rate: numberColumn("rate", 80, rateWords),
  eta: numberColumn("eta", 80, timeLeft),
  added: {
    ...numberColumn("added", 96, (task) => format.time(task.createdAt)),
    draw: (cell, task) => cell.replaceChildren(time(task.createdAt, format.time(task.createdAt))),
  },
};
export const columnKeys = Object.keys(columns);
const leaving = ["added", "eta", "size", "rate"];

export class Transfers {
  constructor(app) {
    this.app = app;
    this.stats = null;
    this.asking = new Set(); // tasks with an open question
    this.grid = new Grid(t.title, {
      open: (id) => app.go(`#/task/${id}`), menu: (at) => this.do("openMenu", at), selected: () => this.#selected(), sort: (key) => this.#sortBy(key),
      drawn: () => this.#drawn(), drop: (index) => this.do("moveTo", index),
    });
    this.list = this.grid.list = new TaskList(this.grid);
    this.#buildToolbar();
    this.#buildCaption();
    this.#buildNavigation();
    this.empty = h("p", { class: "empty", hidden: true });
    this.grid.element.append(this.empty);
    document.getElementById("list").append(this.caption, this.grid.element);
    on("stats", (stats) => this.#showStats(stats));
    on("log", (event) => this.#hear(event));
    on("resync", () => this.refresh());
    on("connection", () => this.#showSelection());
    app.settings.on(() => this.#layout(true));
    tabs.onmessage = ({ data }) => this.#hearTab(data);
    document.addEventListener("visibilitychange", () => document.hidden || this.grid.schedule());
    // Counts down to the next attempt, and keeps an order by rate or progress true while nobody points at a row.
    setInterval(() => document.hidden || this.list.sight.size === 0 || this.#tick(), 1_000);
  }

  #tick() {
    if ([...this.list.sight].some((id) => this.list.tasks.get(id)?.state === "waiting")) this.grid.changed();
    this.ticks = (this.ticks ?? 0) + 1;
    const moves = /rate|progress|eta/.test(this.route.order) && this.stats?.activeTransfers > 0;
    if (moves && this.ticks % 3 === 0 && !this.grid.element.matches(":hover, :focus-within")) this.list.sort();
  }

  // Route

  /// Shows the list of a route: `{filter, q, order, session, owner}`.
  async open(route) {
    const view = this.app.settings.get("views")[route.filter] ?? {};
    const before = this.route;
    this.route = { ...route, order: t.orders[route.order] ? route.order : view.order ?? "-added" };
    const sign = JSON.stringify(this.route);
    if (sign === this.sign) return;
    this.sign = sign;
    if (this.search.value !== (route.q ?? "")) this.search.value = route.q ?? "";
    if (this.owner) this.owner.value = route.owner ?? "";
    this.#showNavigation();
    this.#layout();
    if (before?.filter !== route.filter || before.q !== route.q || before.session !== route.session) this.grid.clear();
    this.grid.toTop();
    const state = filters[route.filter];
    const filter = { ...(state && { states: [state] }), ...(route.q && { match: route.q }), ...(route.session && { session: route.session }), ...(route.owner && { owner: route.owner }) };
    this.grid.isMovable = this.route.order === "queue";
    try {
      await this.list.open(filter, this.route.order);
    } catch (error) {
      if (sign === this.sign) alertMessage(error.message);
    }
    if (sign !== this.sign) return;
    this.#layout();
    this.grid.draw();
  }

  hash(changes = {}) {
    const { filter, q, order, session: name, owner } = { ...this.route, ...changes };
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries({ q, order: order === "-added" ? null : order, session: name, owner })) if (value) parameters.set(key, value);
    return `#/${filter === "all" ? "" : filter}${String(parameters) && `?${parameters}`}`;
  }

  /// Counts and open questions, as the daemon has them now.
  async readStats() {
    this.countQuestions();
    const stats = await call("daemon.stats");
    this.#showStats(stats);
    return stats;
  }
  refresh() {
    this.readStats().catch(() => {});
  }

  // Orders and columns

  get canSort() {
    return this.list.count <= sortable;
  }

  #layout(isForced) {
    if (!this.route) return;
    const view = this.app.settings.get("views")[this.route.filter] ?? {};
    const shown = (view.columns ?? columnKeys).filter((key) => columns[key]);
    const order = this.list.order ?? this.route.order;
    const key = order.replace("-", "");
    const blocked = this.canSort ? null : t.list.tooManyToSort(sortable);
    const sorting = {
      name: { blocked }, size: { blocked }, progress: { blocked }, rate: { blocked }, eta: { blocked }, added: {}, status: {},
    };
    const column = key === "activity" ? "status" : key;
    if (sorting[column]) sorting[column].direction = order.startsWith("-") ? "descending" : "ascending";
    if (isForced) this.grid.layoutSign = null;
    this.grid.setColumns(shown.map((each) => columns[each]), leaving, sorting);
    for (const option of this.order.options) option.disabled = Boolean(sorting[option.value.replace("-", "")]?.blocked);
    this.order.value = order;
  }

  #sortBy(key) {
    const now = this.list.order;
    if (key === "status") return this.setOrder(now === "activity" ? "-added" : "activity");
    const first = key === "name" || key === "eta" ? key : `-${key}`;
    this.setOrder(now === first ? (first === key ? `-${key}` : key) : first);
  }

  setOrder(order) {
    const { settings } = this.app;
    const views = settings.get("views");
    settings.set("views", { ...views, [this.route.filter]: { ...views[this.route.filter], order } });
    this.app.replace(this.hash({ order }));
    this.open({ ...this.route, order });
  }

  // Frame

  #buildToolbar() {
    const make = (name, action, properties) => (this.buttons[name] = button(t.list[name], action, { "aria-keyshortcuts": t.list.keys[name], ...properties }));
    this.buttons = {};
    document.getElementById("actions").append(
      make("add", () => this.app.openAdd(), { class: "primary" }), make("pause", () => this.do("act", "pause"), { class: "extra" }),
      make("resume", () => this.do("act", "resume"), { class: "extra" }), make("retry", () => this.do("act", "retry"), { class: "extra" }),
      make("remove", () => this.do("remove"), { class: "extra" }),
      make("more", (event) => this.do("openMenu", event.currentTarget, true), { "aria-haspopup": "menu" }));
    this.search = document.getElementById("search");
    this.search.addEventListener("input", () => {
      clearTimeout(this.searchTimer);
      this.searchTimer = setTimeout(() => {
        const route = { ...(this.route ?? { filter: "all" }), q: this.search.value.trim() };
        this.app.replace(this.hash(route), true);
      }, 150);
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && event.key !== "Enter" && event.key !== "ArrowDown") return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "Escape" && this.search.value) {
        this.search.value = "";
        this.search.dispatchEvent(new Event("input"));
      }
      this.grid.focus(this.grid.active);
    });
  }

  #buildCaption() {
    this.what = h("span", { id: "caption" });
    this.clear = button(t.list.clear, () => {
      this.grid.clear();
      giveFocus();
    }, { class: "quiet", hidden: true });
    this.scope = h("span", { hidden: true });
    this.order = h("select", { id: "order", "aria-label": t.list.order, on: { change: () => this.setOrder(this.order.value) } },
      Object.entries(t.orders).map(([value, label]) => h("option", { value }, label)));
    this.owner = session?.daemon?.mode === "system" && session.daemon.administrator && h("select", { "aria-label": t.list.owner, on: { change: () => this.app.replace(this.hash({ owner: this.owner.value }), true) } },
      h("option", { value: "" }, t.list.mine), h("option", { value: "*" }, t.list.anyOwner));
    this.caption = h("div", { class: "caption" }, h("p", { class: "what" }, this.what, this.scope, this.clear), this.owner,
      h("span", { class: "muted order-label", "aria-hidden": "true" }, t.list.order), this.order, button(t.list.columns, async () => (await this.app.load("columns"))?.openColumns(this), { class: "quiet columns-button" }));
    this.grid.element.setAttribute("aria-describedby", "caption");
  }

  #buildNavigation() {
    const entry = (name, label, href) => {
      const count = h("span", { class: "count" });
      return [name, { count, element: h("a", { href }, h("span", null, label), " ", count) }];
    };
    this.entries = new Map([
      ...Object.keys(filters).map((name) => entry(name, t.filters[name], `#/${name === "all" ? "" : name}`)),
      ...["decisions", "sessions", "log"].map((name) => entry(name, t.page[name], `#/${name}`)),
    ]);
    const settings = h("a", { href: "#/settings" }, t.page.settings);
    const list = [...this.entries.values()].map(({ element }) => element);
    list.splice(Object.keys(filters).length, 0, h("hr"));
    document.getElementById("filters").append(...list, h("hr"), button(t.page.limits, () => this.app.openLimits()), settings, button(t.page.keys, () => this.app.openKeys()));
  }

  #showNavigation(screen) {
    for (const [name, { element }] of this.entries) {
      if (name === (screen ?? this.route?.filter)) element.setAttribute("aria-current", "true");
      else element.removeAttribute("aria-current");
      const isFilter = name in filters;
      if (isFilter && this.route) element.href = this.#filterHash(name);
    }
    const current = document.querySelector('nav [aria-current="true"]');
    if (innerWidth < 640) current?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }
  /// Other filters keep search, session and owner, but have an order of their own.
  #filterHash(filter) {
    return this.hash({ filter, order: null });
  }
  showScreen(screen) {
    this.isCovered = Boolean(screen); // what is selected cannot be seen
    this.#showNavigation(screen);
    this.#showSelection();
  }

  #showStats(stats) {
    this.stats = stats;
    const { tasks } = stats;
    const all = Object.values(tasks).reduce((sum, n) => sum + n, 0);
    for (const [name, state] of Object.entries(filters)) {
      const text = format.count(state ? tasks[state] ?? 0 : all);
      const { count } = this.entries.get(name);
      if (count.textContent !== text) count.textContent = text;
    }
    this.totals = { ...tasks, all };
    this.#check();
    this.#showSelection();
  }

  /// The daemon's counts are the truth. A list that differs from them twice is read anew.
  #check() {
    const { filter, order, isLoading } = this.list;
    if (!filter || filter.match || filter.session || filter.owner || isLoading || !order) return;
    const expected = this.totals[filter.states?.[0] ?? "all"];
    this.misses = expected === this.list.ids.length ? 0 : (this.misses ?? 0) + 1;
    if (this.misses > 1) this.list.resync();
    else if (this.misses === 1) setTimeout(() => this.misses === 1 && this.refresh(), 1_500);
  }

  #drawn() {
    const isEmpty = this.list.count === 0 && this.grid.waits === 0;
    this.empty.hidden = !isEmpty;
    if (isEmpty) this.empty.textContent = this.route.q ? t.list.emptySearch : this.route.filter === "all" && !this.route.session ? t.list.empty : t.list.emptyFilter;
    this.#showSelection();
  }

  #selected() {
    this.#showSelection();
    const { all, ids } = this.grid.selection;
    if (!all && ids.size === 1) this.app.follow([...ids][0]);
  }

  #showSelection() {
    if (!this.route) return;
    const { count, isLoading } = this.list;
    const n = this.grid.selectedCount;
    const all = this.totals?.[filters[this.route.filter] ?? "all"] ?? count;
    const total = this.route.q || this.route.session ? (isLoading ? t.list.searching : t.list.found)(count, Math.max(all, count)) : t.list.total(count);
    setText(this.what, n ? `${t.list.selected(n)} · ${total}` : total);
    this.clear.hidden = n === 0;
    const scope = this.route.session ?? "";
    if (this.scopeShown !== scope) {
      this.scopeShown = scope;
      this.scope.hidden = !scope;
      this.scope.replaceChildren("· ", foreign(t.list.session(scope)), " ", h("a", { href: this.hash({ session: null }) }, t.list.leaveSession));
    }
    const can = this.can();
    const focused = document.activeElement;
    for (const name of ["pause", "resume", "retry", "remove"]) this.buttons[name].disabled = !can(name);
    this.buttons.add.disabled = connectionState() !== "live";
    // On a phone the menu holds the whole toolbar.
    this.buttons.more.disabled = this.isCovered || (n === 0 && count === 0);
    if (focused?.disabled && focused.closest("#actions")) giveFocus();
  }

  /// Says of an action whether a selected task fits it.
  can() {
    const { all, ids } = this.grid.selection;
    const isLive = connectionState() === "live";
    if (!isLive || this.isCovered || this.grid.selectedCount === 0) return () => false;
    const states = new Set();
    if (all) for (const state of this.list.filter.states ?? Object.keys(this.totals ?? {})) (this.totals?.[state] ?? 1) > 0 && states.add(state);
    // The counts come a moment after the rows.
    if (all) for (const task of this.list.tasks.values()) states.add(task.state);
    else {
      for (const id of ids) {
        states.add(this.list.tasks.get(id)?.state ?? "unknown");
        if (states.size > 7) break;
      }
    }
    return (name) => fits[name].some((state) => states.has(state)) || states.has("unknown");
  }

  /// The ids of the selected rows, read if nobody has seen them.
  async selectedIds() {
    const { all, ids } = this.grid.selection;
    if (!all) return [...ids];
    return (await this.list.idsBetween(0, this.list.count - 1)).filter((id) => !ids.has(id));
  }

  // Rows that were taken off, in all tabs

  hide(key, hide) {
    hides.set(key, hide);
    this.list.rehide();
  }
  unhide(key) {
    if (hides.delete(key)) this.list.rehide();
  }
  #hearTab({ hide, key, show }) {
    if (show) return this.unhide(show);
    this.hide(key, hide);
    // A tab that was lost sends nothing, so its rows come back.
    setTimeout(() => this.unhide(key), 20_000);
  }

  /// What can be done with rows is not needed for the first rows, so it comes after them.
  async loadActions() {
    const module = await this.app.load("actions");
    if (module) this.actions ??= new module.Actions(this);
  }
  /// Calls a function of `Actions`.
  do(name, ...values) {
    return this.actions ? this.actions[name](...values) : this.loadActions().then(() => this.actions?.[name](...values));
  }

  // Events

  #hear(event) {
    if (event.type === "task.updated" && event.fields?.includes("position") && this.list.order === "queue") this.list.resync();
    if (event.type === "task.decision" || this.asking.has(event.task)) {
      this.askTimer ??= setTimeout(() => {
        this.askTimer = null;
        this.countQuestions();
      }, 300);
    }
    if (event.type !== "task.completed" && event.type !== "task.failed") return;
    this.ends ??= { done: 0, failed: 0 };
    this.ends[event.type === "task.completed" ? "done" : "failed"] += 1;
    this.endTimer ??= setTimeout(() => {
      const { done, failed } = this.ends;
      this.ends = this.endTimer = null;
      message([done && t.list.done(done), failed && t.list.failed(failed)].filter(Boolean).join(", "));
    }, 2_000);
  }

  async countQuestions() {
    try {
      this.asking = new Set((await call("decision.list", {})).decisions.map(({ task }) => task));
    } catch {
      return;
    }
    setText(this.entries.get("decisions").count, this.asking.size ? format.count(this.asking.size) : "");
    this.app.showAsking(this.asking.size);
  }

  /// Brings a row into sight and gives it the focus, as soon as the list has it.
  focusTask(id, tries = 40) {
    const index = this.list.indexOf(id);
    if (index >= 0) {
      this.grid.selectOnly(index);
      this.grid.focus(index);
    } else if (tries > 0) setTimeout(() => this.focusTask(id, tries - 1), 100);
  }
}

export const tabs = new BroadcastChannel("dld-page");

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
