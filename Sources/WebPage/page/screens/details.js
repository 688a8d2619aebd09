// The region "Details" of one task: what it does and why, how long it took, its parts and its events.
import { t, format, statusWord, statusReason, advice, nameOf } from "../text.js";
import { h, foreign, link, time, button, dialog, field, message, newID, alertMessage } from "../dom.js";
import { call, on } from "../api.js";
import { complain, sentence, text } from "./fields.js";
import { EventList, newest } from "./log.js";

const tabs = ["overview", "timing", "segments", "log"];
/// While a task runs, what only `task.get` tells is read anew this often.
const readAgain = 1000;

export function show(host, { id, tab }, app) {
  const details = new Details(host, Number(id), app);
  details.open(tabs.includes(tab) ? tab : "overview");
  return () => details.end();
}

class Details {
  #host;
  #id;
  #app;
  #task;
  #tab;
  #drawn = "";
  #timer;
  #isReading = false;
  #isEnded = false;
  #offs = [];
  #events = new EventList(t.details.tabs.log, true);

  #name = h("h2", { id: newID("name"), tabindex: "-1" }, t.details.title);
  #status = h("p", { class: "standing" });
  #tabs = tabs.map((name) => h("button", {
    type: "button", role: "tab", id: newID("tab"), on: { click: () => this.open(name), keydown: (event) => this.#walk(event, name) },
  }, t.details.tabs[name]));
  #panel = h("div", { role: "tabpanel", id: newID("panel"), tabindex: "0" });
  #live = new Overview();

  constructor(host, id, app) {
    this.#host = host;
    this.#id = id;
    this.#app = app;
    for (const each of this.#tabs) each.setAttribute("aria-controls", this.#panel.id);
    const body = [
      h("div", { class: "details-head" }, h("div", null, this.#name, this.#status), button(t.close, () => app.go(app.listHash), { class: "quiet" })),
      h("div", { role: "tablist", "aria-label": t.details.title }, this.#tabs), this.#panel,
    ];
    // The frame's own place for details is the region already.
    const isRegion = host.getAttribute("role") === "region" || host.tagName === "SECTION" || host.tagName === "ASIDE";
    host.append(...(isRegion ? body : [h("section", { role: "region", "aria-label": t.details.title, class: "details" }, body)]));
    this.#offs = [
      on("log", (event) => event.task === id && this.#hear(event)),
      on("progress", (event) => event.task === id && this.#progress(event)),
      on("resync", () => this.#read()),
      on("connection", (state) => state === "live" && this.#read()),
    ];
    this.#read();
    this.#readEvents();
  }

  end() {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#offs.forEach((off) => off());
  }

  open(tab) {
    this.#tab = tab;
    this.#tabs.forEach((each, index) => {
      each.setAttribute("aria-selected", String(tabs[index] === tab));
      each.tabIndex = tabs[index] === tab ? 0 : -1;
    });
    this.#panel.setAttribute("aria-labelledby", this.#tabs[tabs.indexOf(tab)].id);
    const hash = `#/task/${this.#id}${tab === "overview" ? "" : `/${tab}`}`;
    // A tab is a view of the same place, so it is no step back; and the router need not build it anew.
    if (location.hash.startsWith(`#/task/${this.#id}`) && location.hash !== hash) history.replaceState(history.state, "", hash);
    this.#drawn = "";
    this.#draw();
    if (tab === "log") this.#events.element.scrollTop = this.#events.element.scrollHeight;
  }

  #walk(event, name) {
    const at = tabs.indexOf(name);
    const step = document.dir === "rtl" ? -1 : 1;
    const moves = { ArrowRight: at + step, ArrowLeft: at - step, Home: 0, End: -1 };
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (moves[event.key] + tabs.length) % tabs.length;
    this.open(tabs[next]);
    this.#tabs[next].focus();
  }

  // Reading

  async #read() {
    clearTimeout(this.#timer);
    if (this.#isReading || this.#isEnded) return;
    this.#isReading = true;
    try {
      this.#task = await call("task.get", { id: this.#id });
      this.#draw();
    } catch (error) {
      if (error.code === "task.not_found") this.#gone();
      else if (!error.retryable) alertMessage(error.message);
    } finally {
      this.#isReading = false;
    }
    if (this.#task?.state === "running") this.#later(readAgain);
    else if (this.#task?.state === "waiting" || this.#task?.state === "queued") this.#later(10 * readAgain);
  }

  #later(delay) {
    clearTimeout(this.#timer);
    if (this.#isEnded) return;
    this.#timer = setTimeout(() => (document.hidden ? this.#later(delay) : this.#read()), delay);
  }

  #hear(event) {
    if (event.type === "task.removed") return this.#gone();
    this.#events.append(event);
    this.#later(100);
  }

  #progress(event) {
    if (!this.#task || this.#task.state !== "running") return;
    for (const name of ["phase", "bytesReceived", "bytesExpected", "bytesSent", "bytesToSend", "rate"]) this.#task[name] = event[name] ?? this.#task[name];
    this.#task.eta = event.eta;
    this.#showStanding();
  }

  async #readEvents() {
    try {
      const { head } = await call("daemon.stats");
      const events = await newest({ tasks: [this.#id] }, head);
      if (!this.#isEnded) this.#events.replace(events);
    } catch { /* The connection's banner says it. */ }
  }

  #gone() {
    this.end();
    this.#host.querySelector(".standing").textContent = "";
    this.#name.textContent = t.details.gone(this.#id);
    this.#host.querySelector('[role="tablist"]').hidden = true;
    this.#panel.replaceChildren();
  }

  // Drawing

  #showStanding() {
    const reason = statusReason(this.#task);
    this.#status.dataset.state = this.#task.state;
    this.#status.replaceChildren(h("span", { class: "word" }, statusWord(this.#task)), ...(reason ? [" · ", foreign(reason)] : []));
    this.#live.update(this.#task);
  }

  /// What has not changed is left alone, so that neither the focus nor a selection of text is lost.
  #draw() {
    if (!this.#task || this.#isEnded) return;
    this.#name.replaceChildren(foreign(nameOf(this.#task)));
    this.#showStanding();
    const { bytesReceived, bytesSent, bytesDecoded, rate, eta, phase, ...rest } = this.#task;
    const key = this.#tab === "overview" ? JSON.stringify({ ...rest, metrics: null, segments: null })
      : this.#tab === "log" ? "log" : JSON.stringify([this.#task.metrics, this.#task.segments, this.#task.state, this.#tab === "segments" && bytesReceived]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    const focused = document.activeElement?.dataset.action;
    this.#panel.replaceChildren(...{
      overview: () => this.#live.draw(this.#task, this.#app),
      timing: () => drawTiming(this.#task),
      segments: () => drawSegments(this.#task),
      log: () => [this.#events.element],
    }[this.#tab]());
    if (focused) this.#panel.querySelector(`[data-action="${focused}"]`)?.focus();
  }
}

// Overview

class Overview {
  #bar = h("div", { role: "progressbar", class: "bar", "aria-label": t.details.progress, "aria-valuemin": "0", "aria-valuemax": "100" }, h("div"));
  #figures = h("p", { class: "figures" });

  update(task) {
    const [part, expected] = task.kind === "upload" ? [task.bytesSent, task.bytesToSend] : [task.bytesReceived, task.bytesExpected];
    // Before the first byte, the length may be that of an error's page.
    const whole = part > 0 || task.state === "running" ? expected : -1;
    const isDone = task.state === "completed";
    const percent = isDone ? 100 : whole > 0 ? Math.floor((100 * part) / whole) : null;
    if (percent === null) this.#bar.removeAttribute("aria-valuenow");
    else this.#bar.setAttribute("aria-valuenow", percent);
    this.#bar.firstChild.style.setProperty("inline-size", `${percent ?? 0}%`);
    this.#figures.textContent = [
      whole > 0 && !isDone ? t.details.part(format.bytes(part), format.bytes(whole), percent) : format.bytes(part),
      task.state === "running" && format.rate(task.rate), task.state === "running" && task.eta !== undefined && t.details.left(format.duration(task.eta)),
    ].filter(Boolean).join(" · ");
  }

  draw(task, app) {
    this.update(task);
    const row = (label, ...content) => content.some(Boolean) && h("div", null, h("dt", null, label), h("dd", null, content));
    const moment = (date) => date && time(date, format.clock(date));
    const { destination, checksum } = task;
    const digest = checksum ? `${checksum.algorithm} ${checksum.value}` : task.sha256 && `sha-256 ${task.sha256}`;
    const verdict = task.state === "completed" && task.verified !== undefined && (task.verified ? t.details.verified : t.details.notVerified);
    return [
      ...why(task, app), this.#bar, this.#figures,
      h("dl", null,
        row(t.details.link, link(task.url)),
        row(t.details.from, task.response?.url && task.response.url !== task.url && link(task.response.url)),
        row(t.details.mirrors, task.mirrors?.length > 0 && h("ul", null, task.mirrors.map((url) => h("li", null, link(url))))),
        row(t.details.file, task.file && foreign(task.file)),
        row(t.details.folder, !task.file && (destination?.path ?? destination?.directory) && foreign(destination.path ?? destination.directory)),
        row(t.details.source, task.source?.path && foreign(task.source.path)),
        row(t.details.digest, digest && foreign(digest), verdict && `${digest ? " · " : ""}${verdict}`),
        row(t.details.session, h("a", { href: `#/sessions/${encodeURIComponent(task.session)}` }, foreign(task.session))),
        row(t.details.priority, t.details.priorities[task.priority] ?? task.priority ?? t.details.priorities.normal),
        row(t.details.rateLimit, task.rateLimit > 0 && format.rate(task.rateLimit)),
        row(t.details.added, moment(task.createdAt)), row(t.details.started, moment(task.startedAt)), row(t.details.finished, moment(task.finishedAt)),
        row(t.details.next, task.state === "waiting" && moment(task.nextAttemptAt)),
        row(t.details.begins, moment(task.earliestBeginAt)), row(t.details.deadline, moment(task.deadlineAt)),
        row(t.details.attempts, task.attempts > 1 && format.count(task.attempts)),
        row(t.details.description, task.description && foreign(task.description)), row(t.details.tags, task.tags?.length > 0 && foreign(task.tags.join(", ")))),
    ];
  }
}

/// Why the task is in its state, what to do, and one button that does it.
function why(task, app) {
  const error = task.state === "completed" ? null : task.error;
  const isCause = task.state === "failed" || task.state === "waiting";
  const hint = advice(task) ?? t.details.queued[task.reason] ?? null;
  const explanation = task.explanation?.replace(/\. dlctl .*$/s, ".");
  const action = task.state === "paused" ? "resume" : task.reason === "sessionPaused" ? "resumeSession" : hint?.action;
  if (!error && !hint && !explanation && !action) return [];
  return [h("div", { class: "why" },
    error && h("p", null, h("strong", null, `${isCause ? t.details.why : t.details.lastError}: `), foreign(error.message)),
    explanation && h("p", null, !error && h("strong", null, `${t.details.why}: `), foreign(explanation)),
    hint && h("p", null, hint.text ?? hint),
    action && button(t.details.actions[action], () => actions[action](task, app), { class: isCause ? "primary" : null, "data-action": action }))];
}

const actions = {
  retry: (task) => control("task.retry", { ids: [task.id] }),
  resume: (task) => control("task.resume", { ids: [task.id] }),
  resumeSession: (task) => control("session.resume", { id: task.session }),
  answer: (task, app) => app.go("#/decisions"),
  changeLink(task) {
    const url = text(task.url);
    change(task, t.list.linkTitle, [[t.list.linkLabel, url]], () => ({ url: url.value.trim() }));
  },
  saveElsewhere(task) {
    const { path, directory } = task.destination ?? {};
    const folder = text(directory ?? path?.replace(/\/[^/]*$/, ""));
    change(task, t.details.saveTitle, [[t.add.folder, folder]], () => ({ destination: { directory: folder.value.trim() } }));
  },
  signIn(task) {
    const username = text(task.username);
    const password = text("", { type: "password", autocomplete: "new-password" });
    change(task, t.details.signInTitle, [[t.add.username, username], [t.add.password, password]], () => ({ username: username.value, password: password.value }));
  },
};

async function control(method, parameters) {
  try {
    const { skipped } = await call(method, parameters);
    if (skipped?.length > 0) alertMessage(t.details.notChanged);
  } catch (error) {
    alertMessage(error.message);
  }
}

/// Asks for other values of a task, and tries again with them.
function change(task, title, controls, parameters) {
  const [[, first]] = controls;
  const save = async () => {
    try {
      await call("task.update", { id: task.id, ...parameters() });
      if (["failed", "cancelled", "waiting"].includes(task.state)) await call("task.retry", { ids: [task.id] });
    } catch (error) {
      complain(first, sentence(error));
      first.focus();
      return false;
    }
    message(t.details.changed);
  };
  const { element, close } = dialog({
    title, body: controls.map(([label, each]) => field(label, each)), initial: first,
    buttons: [{ label: t.cancel }, { label: t.details.saveAndRetry, primary: true, action: save }],
  });
  element.addEventListener("keydown", async (event) => event.key === "Enter" && event.target.matches("input") && (await save()) !== false && close());
}

// Timing

const steps = ["queue", "lookup", "connect", "tls", "request", "wait", "body"];

/// The steps of an exchange in milliseconds since the task's first request, as `dlctl show --timing` has them.
function periods(exchange, origin) {
  const at = (date) => Date.parse(date) - origin;
  const found = [["lookup", exchange.domainLookup], ["connect", exchange.connect], ["tls", exchange.secureConnection], ["request", exchange.request]]
    .filter(([, period]) => period).map(([step, period]) => ({ step, start: at(period.start), end: at(period.end) }));
  const start = at(exchange.fetchStart);
  if (found[0]?.start > start) found.unshift({ step: "queue", start, end: found[0].start });
  if (exchange.request && exchange.response) {
    const sent = at(exchange.request.end);
    found.push({ step: "wait", start: sent, end: Math.max(sent, at(exchange.response.start)) });
  }
  if (exchange.response) found.push({ step: "body", start: at(exchange.response.start), end: at(exchange.response.end) });
  return { start, end: Math.max(start, ...found.map((period) => period.end)), steps: found };
}

const headings = (labels) => h("thead", null, h("tr", null, labels.map((label) => h("th", { scope: "col" }, label))));
const place = ({ remote, protocol, tls, reused }) => [remote, protocol, tls?.version, reused && t.details.reused].filter(Boolean).join(", ");

function drawTiming(task) {
  const exchanges = task.metrics ?? [];
  if (exchanges.length === 0) {
    return [h("p", { class: "nothing" }, task.attempts === 0 ? t.details.notRun : task.state === "running" ? t.details.noneEnded : t.details.noTiming)];
  }
  const origin = Math.min(...exchanges.map((each) => Date.parse(each.fetchStart)));
  const rows = exchanges.map((each) => periods(each, origin));
  const total = Math.max(1, ...rows.map((row) => row.end));
  const used = steps.filter((step) => rows.some((row) => row.steps.some((period) => period.step === step)));
  const length = (row, step) => {
    const period = row.steps.find((each) => each.step === step);
    return period ? format.took(period.end - period.start) : "–";
  };
  const bars = rows.map((row) => h("div", { class: "line" }, h("div", { class: "track" }, row.steps.map((period) => {
    const bar = h("span", { class: `step-${period.step}`, title: `${t.details.steps[period.step]}: ${format.took(period.end - period.start)}` });
    bar.style.setProperty("inset-inline-start", `${(100 * period.start) / total}%`);
    bar.style.setProperty("inline-size", `max(1px, ${(100 * (period.end - period.start)) / total}%)`);
    return bar;
  })), h("span", { class: "total" }, format.took(row.end - row.start))));
  return [
    h("ul", { class: "legend", "aria-hidden": "true" }, used.map((step) => h("li", null, h("span", { class: `step-${step}` }), t.details.steps[step]))),
    h("div", { class: "waterfall", role: "img", "aria-label": t.details.waterfall(rows.length, format.took(total)) }, bars),
    task.metricsDropped && h("p", { class: "hint" }, t.details.dropped(task.metricsDropped)),
    h("div", { class: "sr" }, h("table", null, h("caption", null, t.details.tabs.timing),
      headings([t.details.request, t.details.start, ...steps.map((step) => t.details.steps[step]), t.details.size, t.details.server]),
      h("tbody", null, rows.map((row, index) => h("tr", null, h("th", { scope: "row" }, format.count(index + 1)), h("td", null, format.took(row.start)),
        steps.map((step) => h("td", null, length(row, step))), h("td", null, format.bytes(exchanges[index].responseBodyBytes)),
        h("td", null, place(exchanges[index])))))))
  ].filter(Boolean);
}

// Segments

function drawSegments(task) {
  const whole = task.bytesExpected;
  // A download over one connection is one part.
  const parts = task.segments?.length > 0 ? task.segments
    : [{ start: 0, end: whole > 0 ? whole : task.bytesReceived, received: task.bytesReceived, active: task.state === "running", isWhole: task.state === "completed" }];
  const isComplete = (part) => part.isWhole || (part.end > part.start && part.received >= part.end - part.start && (whole > 0 || task.segments));
  const count = parts.filter(isComplete).length;
  const end = Math.max(1, whole, ...parts.map((part) => part.end));
  const map = h("div", { class: "map", role: "img", "aria-label": t.details.parts(count, parts.length) }, parts.map((part) => {
    const box = h("div", { class: part.active ? "active" : null }, h("div"));
    box.style.setProperty("inset-inline-start", `${(100 * part.start) / end}%`);
    box.style.setProperty("inline-size", `max(2px, ${(100 * (part.end - part.start)) / end}%)`);
    const share = part.isWhole ? 1 : part.end > part.start ? part.received / (part.end - part.start) : 0;
    box.firstChild.style.setProperty("inline-size", `${100 * Math.min(1, share)}%`);
    return box;
  }));
  return [
    h("p", { class: "figures" }, t.details.parts(count, parts.length)), map,
    h("table", { class: "parts" }, h("caption", { class: "sr" }, t.details.tabs.segments),
      headings([t.details.partNumber, t.details.start, t.details.size, t.details.received]),
      h("tbody", null, parts.map((part, index) => h("tr", null, h("th", { scope: "row" }, format.count(index + 1)), h("td", null, format.bytes(part.start)),
        h("td", null, format.bytes(part.end - part.start)),
        h("td", null, isComplete(part) ? t.details.complete : format.bytes(part.received), part.active && ` · ${t.details.active}`))))),
    ...[...new Set(parts.map((part) => part.url).filter(Boolean))].map((url) => h("p", { class: "hint" }, link(url))),
  ];
}
