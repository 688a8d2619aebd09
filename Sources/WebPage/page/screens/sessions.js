// The screen "Sessions": the list, and the settings and the schedule of one.
import { t, format } from "../text.js";
import { h, foreign, button, dialog, field, message, newID } from "../dom.js";
import { call, on, session as page } from "../api.js";
import { bytesText, checkbox, complain, number, problemPlace, readAmounts, select, sentence, text } from "./fields.js";
import { ScheduleGrid } from "./schedule.js";

const conditions = ["allowsExpensiveNetworkAccess", "allowsCellularAccess", "allowsConstrainedNetworkAccess"];
const kinds = ["challenge", "redirect", "response", "begin"];

export function show(host, { id, owner }, app) {
  const section = h("section", { role: "region", "aria-label": t.sessions.title, class: "screen" });
  host.append(section);
  return id === undefined || id === null || id === "" ? showList(section, app) : showSettings(section, { id, owner }, app);
}

// The list

function showList(section, app) {
  const list = h("ul", { class: "sessions" });
  section.append(h("div", { class: "screen-head" }, h("h2", null, t.sessions.title), button(t.sessions.add, () => openNew(app))), list);
  let timer;
  let drawn = "";

  async function read() {
    timer = undefined;
    const sessions = [];
    for (let cursor; ;) {
      const answer = await call("session.list", { ...(cursor && { cursor }), ...(page.daemon.administrator && { owner: "*" }) });
      sessions.push(...answer.sessions);
      cursor = answer.nextCursor;
      if (!cursor) break;
    }
    const key = JSON.stringify(sessions);
    if (key === drawn) return;
    drawn = key;
    const focused = list.contains(document.activeElement) && document.activeElement.dataset.key;
    list.replaceChildren(...sessions.map((each) => drawSession(each, read)));
    if (focused) [...list.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  }

  const refresh = () => read().catch(() => { /* The connection's banner says it. */ });
  const later = () => (timer ??= setTimeout(refresh, 500));
  refresh();
  const offs = [on("log", later), on("resync", later), on("connection", (state) => state === "live" && later())];
  return () => {
    clearTimeout(timer);
    offs.forEach((off) => off());
  };
}

function drawSession(each, read) {
  const { id, owner, paused, state, tasks } = each;
  const title = h("h3", { id: newID("session") }, foreign(id));
  const counts = Object.entries(tasks).filter(([, count]) => count > 0).map(([name, count]) => `${format.count(count)} ${t.sessions.states[name]}`);
  const hash = `#/sessions/${encodeURIComponent(id)}`;
  const toggle = button(paused ? t.list.resume : t.list.pause, async () => {
    // A disabled button would lose the focus.
    if (toggle.ariaBusy) return;
    toggle.ariaBusy = "true";
    try {
      await call(paused ? "session.resume" : "session.pause", { id, ...(page.daemon.administrator && { owner }) });
      message(paused ? t.sessions.resumed(id) : t.sessions.paused(id));
    } catch (error) {
      message(error.message);
    }
    toggle.ariaBusy = null;
    await read().catch(() => {});
  }, { "aria-describedby": title.id, "data-key": `pause ${owner} ${id}`, disabled: state === "invalidated" });
  return h("li", { "aria-labelledby": title.id },
    h("div", null, title, h("p", { class: "hint" }, paused && h("strong", { class: "warn" }, t.sessions.isPaused, " · "),
      state !== "active" && `${t.sessions.stateWords[state] ?? state} · `,
      counts.join(", ") || t.sessions.noTasks, each.configuration.schedule?.length > 0 && ` · ${t.sessions.hasSchedule}`)),
    h("div", { class: "answers" }, toggle, h("a", { class: "button", href: hash, "aria-describedby": title.id, "data-key": `settings ${owner} ${id}` }, t.sessions.settings)));
}

function openNew(app) {
  const name = text("", { maxlength: "255" });
  async function make() {
    if (name.value.trim() === "") {
      complain(name, t.decisions.needed);
      name.focus();
      return false;
    }
    try {
      await call("session.open", { id: name.value.trim() });
    } catch (error) {
      complain(name, sentence(error));
      name.focus();
      return false;
    }
    setTimeout(() => app.go(`#/sessions/${encodeURIComponent(name.value.trim())}`));
  }
  const { close } = dialog({
    title: t.sessions.newTitle, body: field(t.sessions.name, name), initial: name,
    buttons: [{ label: t.cancel }, { label: t.sessions.create, primary: true, action: make }],
  });
  name.addEventListener("keydown", async (event) => event.key === "Enter" && (await make()) !== false && close());
}

// The settings of one

function showSettings(section, { id, owner }, app) {
  const title = h("h2", { tabindex: "-1" }, foreign(id));
  const body = h("div");
  section.append(h("p", null, h("a", { href: "#/sessions" }, `← ${t.sessions.title}`)),
    h("div", { class: "screen-head" }, title, h("a", { href: `#/?session=${encodeURIComponent(id)}` }, t.sessions.transfers)), body);
  let isEnded = false;
  call("session.get", { id, ...(owner && { owner: Number(owner) }) }).then(
    (session) => isEnded || body.append(settingsForm(session, app)),
    (error) => isEnded || body.append(h("p", { class: "nothing" }, error.code === "session.not_found" ? t.sessions.gone : foreign(error.message))));
  return () => { isEnded = true; };
}

function settingsForm({ id, configuration }, app) {
  const base = app.settings.get("units");
  const amount = (name) => text(configuration[name] > 0 ? bytesText(configuration[name], base) : "", { placeholder: t.unlimited });
  const amounts = { downloadRateLimit: amount("downloadRateLimit"), uploadRateLimit: amount("uploadRateLimit") };
  const numbers = {
    maximumConcurrentTasks: number(configuration.maximumConcurrentTasks, { min: "1" }),
    httpMaximumConnectionsPerHost: number(configuration.httpMaximumConnectionsPerHost, { min: "1" }),
    connectionsPerDownload: number(configuration.connectionsPerDownload, { min: "1", max: "64" }),
  };
  const directory = text(configuration.directory);
  const conflict = select([["", t.sessions.default], ...Object.entries(t.conflicts)], configuration.conflictPolicy ?? "");
  const attempts = number(configuration.retry?.attempts, { min: "0" });
  const allowed = Object.fromEntries(conditions.map((name) => [name, checkbox(configuration[name] !== false)]));
  const asks = Object.fromEntries(kinds.map((kind) => [kind, checkbox(configuration.asks?.includes(kind))]));
  const schedule = new ScheduleGrid(configuration.schedule ?? [], base);
  const usesSchedule = checkbox(configuration.schedule?.length > 0);
  const problem = problemPlace();
  const showSchedule = () => (schedule.element.hidden = !usesSchedule.checked);
  usesSchedule.addEventListener("change", showSchedule);
  showSchedule();

  async function save() {
    if (usesSchedule.checked && schedule.isEmpty) return problem.say(t.schedule.nothing);
    const rates = readAmounts(amounts, base);
    if (!rates) return;
    const whole = (control) => (control.value === "" ? null : Number(control.value));
    const retry = { ...configuration.retry, attempts: whole(attempts) ?? undefined };
    const chosen = [...kinds.filter((kind) => asks[kind].checked), ...(configuration.asks ?? []).filter((kind) => !kinds.includes(kind))];
    const all = {
      directory: directory.value.trim() || null, conflictPolicy: conflict.value || null,
      downloadRateLimit: rates.downloadRateLimit || null, uploadRateLimit: rates.uploadRateLimit || null,
      ...Object.fromEntries(Object.entries(numbers).map(([name, control]) => [name, whole(control)])),
      retry: JSON.stringify(retry) === "{}" ? null : retry, asks: chosen.length > 0 ? chosen : null,
      schedule: !usesSchedule.checked ? null : schedule.isPainted ? schedule.value : configuration.schedule ?? null,
      ...Object.fromEntries(conditions.map((name) => [name, allowed[name].checked ? null : false])),
    };
    // Only what was changed is sent: administrators may set some members alone, and another page may have changed the rest.
    const isSame = (name) => JSON.stringify(all[name]) === JSON.stringify(configuration[name] ?? null)
      || (conditions.includes(name) && all[name] === null && configuration[name] === true);
    const changed = Object.fromEntries(Object.entries(all).filter(([name]) => !isSame(name)));
    problem.say("");
    complain(directory, "");
    try {
      const answer = Object.keys(changed).length > 0 ? await call("session.open", { id, configuration: changed }) : null;
      if (answer) configuration = answer.configuration;
      message(t.sessions.saved);
    } catch (error) {
      const path = error.details?.field ?? "";
      const control = { directory, ...amounts, ...numbers }[path.split(".").at(-1)];
      if (control) {
        complain(control, sentence(error));
        control.focus();
      } else problem.say(sentence(error));
    }
  }

  return h("div", { class: "settings" },
    h("section", { "aria-label": t.sessions.general }, h("h3", null, t.sessions.general), h("div", { class: "columns" },
      field(t.sessions.directory, directory), field(t.add.conflict, conflict),
      field(t.limits.downloadRateLimit, amounts.downloadRateLimit, t.fields.rateHint), field(t.limits.uploadRateLimit, amounts.uploadRateLimit),
      Object.entries(numbers).map(([name, control]) => field(t.sessions[name], control)), field(t.sessions.attempts, attempts, t.sessions.attemptsHint))),
    h("fieldset", null, h("legend", null, t.sessions.networks), conditions.map((name) => field(t.sessions[name], allowed[name]))),
    h("fieldset", null, h("legend", null, t.sessions.asks), kinds.map((kind) => field(t.sessions.asksAbout[kind], asks[kind]))),
    h("section", { "aria-label": t.schedule.title }, h("h3", null, t.schedule.title), field(t.schedule.uses, usesSchedule), schedule.element),
    problem.element, h("div", { class: "answers" }, button(t.save, save, { class: "primary" })));
}
