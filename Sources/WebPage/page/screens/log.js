// The screen "Log": events as they come, and how one is said in words.
import { t, format, errorWords } from "../text.js";
import { h, foreign, time, button, field } from "../dom.js";
import { call, on, session } from "../api.js";
import { select } from "./fields.js";

/// Rows that are kept in the page, and read at once.
const page = 200;
const most = 1000;

/// What an event says beyond its type, as `[own words, foreign text]…`.
function parts(event) {
  const { error, response, reason } = event;
  return [
    reason && [t.reasons[reason] ?? reason],
    event.attempt && [t.log.attempt(event.attempt)],
    response?.status && [`${response.status}`, response.statusText],
    response?.mimeType && ["", response.mimeType],
    event.status && [`${event.status}`],
    event.offset >= 0 && [t.log.from(format.bytes(event.offset))],
    event.bytes >= 0 && [format.bytes(event.bytes)],
    event.duration >= 0 && [t.log.took(format.took(1000 * event.duration))],
    event.verified && [t.log.verified],
    event.fields && [event.fields.join(", ")],
    event.kind && [t.log.kinds[event.kind] ?? event.kind],
    event.nextAttemptAt && [t.log.next(format.time(event.nextAttemptAt))],
    event.settings && [Object.entries(event.settings).map(([name, value]) => `${name} ${value ?? t.log.reset}`).join(", ")],
    error && ["", error.message ?? errorWords(error)],
    event.code && [errorWords({ code: event.code })],
    event.explanation && ["", event.explanation],
    event.message && ["", event.message],
    (event.file ?? event.url) && ["", event.file ?? event.url],
  ].filter(Boolean);
}

/// One event as a row. `isOwn`: the row stands with its task, so it does not name it.
export function eventRow(event, { isOwn = false } = {}) {
  const words = parts(event).map(([own, others], index) => [index > 0 ? " · " : "", own, own && others ? " " : "", others ? foreign(others) : ""]);
  const tone = event.type === "task.failed" ? "bad" : event.type === "task.completed" ? "good" : event.type === "task.decision" ? "warn" : null;
  return h("li", null, time(event.time, format.clock(event.time)),
    !isOwn && h("span", { class: "of" }, event.task !== undefined ? h("a", { href: `#/task/${event.task}` }, `#${event.task}`) : event.session && foreign(event.session)),
    h("span", { class: tone ?? undefined }, t.log.types[event.type] ?? event.type), h("span", { class: "said" }, words));
}

/// A list of events that grows at its end, and follows it while the reader is there.
export class EventList {
  #isOwn;
  #waiting = [];
  #timer;
  #empty = h("p", { class: "nothing" }, t.log.empty);
  #rows = h("ol");

  constructor(label, isOwn = false) {
    this.#isOwn = isOwn;
    // Tab reaches it, so that the keys scroll it.
    this.element = h("div", { class: "events", role: "group", "aria-label": label, tabindex: "0" }, this.#empty, this.#rows);
  }

  replace(events) {
    this.#waiting = [];
    this.#rows.replaceChildren(...events.map((event) => eventRow(event, { isOwn: this.#isOwn })));
    this.#empty.hidden = events.length > 0;
    this.element.scrollTop = this.element.scrollHeight;
  }

  prepend(events) {
    const before = this.element.scrollHeight;
    this.#rows.prepend(...events.map((event) => eventRow(event, { isOwn: this.#isOwn })));
    this.element.scrollTop += this.element.scrollHeight - before;
  }

  /// Rows are drawn four times a second at most, however many events come.
  append(event) {
    this.#waiting.push(event);
    if (this.#waiting.length > most) this.#waiting.shift();
    this.#timer ??= setTimeout(() => this.#draw(), 250);
  }

  #draw() {
    this.#timer = undefined;
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const follows = scrollTop + clientHeight > scrollHeight - 30;
    this.#rows.append(...this.#waiting.map((event) => eventRow(event, { isOwn: this.#isOwn })));
    this.#waiting = [];
    this.#empty.hidden = this.#rows.childElementCount > 0;
    if (!follows) return;
    while (this.#rows.childElementCount > most) this.#rows.firstChild.remove();
    this.element.scrollTop = this.element.scrollHeight;
  }
}

/// The newest stored events up to `head`, oldest first. The log is read forwards only, so this goes back in growing steps.
export async function newest(query, head, count = page) {
  for (let step = query.tasks ? head : count * 2; ; step *= 8) {
    const after = Math.max(0, head - step);
    const found = [];
    for (let next = after === 0 ? "start" : after; next !== undefined;) {
      const answer = await call("events.list", { ...query, after: next, limit: 1000 });
      found.push(...answer.events.filter((event) => event.sequence <= head));
      if (found.length > 4 * count) found.splice(0, found.length - count);
      next = answer.events.length > 0 && answer.events.at(-1).sequence < head ? answer.nextAfter : undefined;
    }
    if (found.length >= count || after === 0) return found.slice(-count);
  }
}

export function show(host, parameters, app) {
  const type = select([["", t.log.all], ...Object.entries(t.log.types)]);
  const earlier = button(t.log.earlier, readEarlier, { class: "quiet", hidden: true });
  const list = new EventList(t.log.events);
  const owner = session.daemon.administrator ? { owner: "*" } : {};
  let first = 0;
  let turn = 0;
  let missed = null;
  host.append(h("section", { role: "region", "aria-label": t.log.title, class: "screen log" },
    h("div", { class: "screen-head" }, h("h2", null, t.log.title), field(t.log.filter, type), earlier), list.element));

  const query = () => ({ ...owner, ...(type.value && { types: [type.value] }) });

  async function read() {
    const own = ++turn;
    missed = [];
    const { head } = await call("daemon.stats");
    const events = await newest(query(), head);
    if (own !== turn) return;
    first = events[0]?.sequence ?? 0;
    // Before the rows: showing the button makes the list shorter, and it would no longer be at its end.
    earlier.hidden = events.length < page;
    list.replace([...events, ...missed.filter((event) => event.sequence > head)]);
    missed = null;
  }

  async function readEarlier() {
    const own = turn;
    const events = await newest(query(), first - 1);
    if (own !== turn) return;
    list.prepend(events);
    first = events[0]?.sequence ?? 0;
    earlier.hidden = events.length < page;
  }

  const refresh = () => read().catch(app.report);
  type.addEventListener("change", refresh);
  refresh();
  const offs = [
    on("log", (event) => (type.value === "" || event.type === type.value) && (missed ? missed.push(event) : list.append(event))),
    on("resync", refresh),
  ];
  return () => offs.forEach((off) => off());
}
