// Starts the page: settings, routes, keys, the connection's state, and the screens around the list.
import * as api from "./api.js";
import { alertMessage, giveFocus, h, undoLast } from "./dom.js";
import { configureFormat, format, t } from "./text.js";
import { Transfers, filters } from "./transfers.js";

// Settings

const storageKey = "dld.settings";
const defaults = {
  theme: "auto", density: "auto", units: 1000, time: "local", keys: true, notify: { done: false, failed: false, asks: false }, views: {}, folders: [],
};
const readSettings = () => {
  try {
    return { ...defaults, ...JSON.parse(localStorage.getItem(storageKey)) };
  } catch {
    return { ...defaults };
  }
};

const settings = {
  values: readSettings(),
  listeners: new Set(),
  get: (name) => settings.values[name],
  set(name, value) {
    settings.values[name] = value;
    try {
      localStorage.setItem(storageKey, JSON.stringify(settings.values));
    } catch { /* storage is full or forbidden: they hold as long as this page */ }
    settings.apply();
  },
  on: (listener) => settings.listeners.add(listener),
  apply() {
    const { theme, density, units, time } = settings.values;
    const { dataset } = document.documentElement;
    if (theme === "auto") delete dataset.theme;
    else dataset.theme = theme;
    dataset.density = density;
    configureFormat({ units, time });
    for (const listener of settings.listeners) listener();
  },
};
addEventListener("storage", ({ key }) => {
  if (key !== storageKey) return;
  settings.values = readSettings();
  settings.apply();
});

// The page as the screens see it

const byID = (id) => document.getElementById(id);
let transfers = null;

const app = {
  settings,
  get session() {
    return api.session;
  },
  go(hash) {
    if (location.hash === hash) route();
    else location.hash = hash;
  },
  /// Goes somewhere without a step for Back; `isRoute` false changes only what the URL says.
  replace(hash, isRoute = false) {
    history.replaceState(null, "", hash);
    if (isRoute) route();
    else listHash = hash;
  },
  /// Where the list was before details or another screen covered it.
  get listHash() {
    return listHash;
  },
  /// Details that are open show the row that is selected, as soon as the selection rests.
  follow(id) {
    clearTimeout(following);
    if (current.screen === "task" && current.id !== id) following = setTimeout(() => app.replace(`#/task/${id}${current.tab ? `/${current.tab}` : ""}`, true), 150);
  },
  selectedIds: () => transfers.selectedIds(),
  focusTask(id) {
    if (!id) return;
    if (current.screen !== "list" || current.filter !== "all" || current.q) app.go("#/");
    transfers.focusTask(id);
  },
  openAdd: async (given = {}) => (await load("add"))?.openAdd(app, given),
  load,
  openLimits: async () => (await load("limits"))?.openLimits(app),
  openKeys: async () => (await load("keys"))?.openKeys(app),
  showAsking(n) {
    const link = byID("asking");
    link.hidden = n === 0;
    link.textContent = t.page.asking(n);
  },
  report: (error) => alertMessage(error.message),
};

async function load(name) {
  try {
    return await import(`./screens/${name}.js`);
  } catch (error) {
    alertMessage(t.page.failedToLoad(error.message));
  }
}

// Routes

let current = {};
let listHash = "#/";
let following;
let cleanups = { screen: null, side: null };

function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const [first] = parts;
  if (first === "task" && /^\d+$/.test(parts[1])) return { screen: "task", id: Number(parts[1]), tab: parts[2] };
  if (["decisions", "sessions", "log", "settings"].includes(first)) return { screen: first, id: parts[1] };
  const parameters = Object.fromEntries(new URLSearchParams(query));
  return { screen: "list", filter: first in filters ? first : "all", ...Object.fromEntries(["q", "order", "session", "owner"].map((key) => [key, parameters[key]])) };
}

function cover(place, isShown) {
  cleanups[place]?.();
  cleanups[place] = null;
  const host = byID(place);
  host.replaceChildren();
  host.hidden = !isShown;
  return host;
}

async function route() {
  const wanted = parse(location.hash);
  const isSame = wanted.screen === current.screen && wanted.id === current.id && wanted.screen !== "list";
  const before = current;
  current = wanted;
  if (isSame && wanted.screen !== "task") return;
  if (wanted.screen === "list") listHash = location.hash || "#/";
  const isScreen = ["decisions", "sessions", "log"].includes(wanted.screen);
  byID("title").textContent = isScreen ? t.page[wanted.screen] : t.title;
  byID("list").hidden = isScreen;
  const screen = cover("screen", isScreen);
  const isSide = wanted.screen === "task";
  const side = cover("side", isSide);
  byID("main").classList.toggle("with-side", isSide);
  transfers.showScreen(isScreen ? wanted.screen : undefined);
  // The list stays behind details and dialogs.
  const opened = isScreen ? null : transfers.open(wanted.screen === "list" ? wanted : transfers.route ?? parse("#/"));
  if (wanted.screen === "settings") {
    (await load("settings"))?.openSettings(app, () => current.screen === "settings" && app.go(listHash));
  } else if (isScreen || isSide) {
    const module = await load(isSide ? "details" : wanted.screen);
    if (current !== wanted || !module) return;
    const place = isSide ? "side" : "screen";
    cleanups[place] = module.show(isSide ? side : screen, { id: wanted.id, tab: wanted.tab }, app);
  }
  if (before.screen === "task" && wanted.screen === "list") {
    const index = transfers.list.indexOf(before.id);
    if (index >= 0) transfers.grid.focus(index, { takesFocus: !document.querySelector("dialog[open]") });
  }
  await opened;
}

// Connection, title, notifications

let banner = null;

function showConnection() {
  const state = api.connectionState();
  const isLost = api.serverIsLost();
  const { dataset } = document.documentElement;
  dataset.connection = state;
  if (isLost) dataset.lost = "";
  else delete dataset.lost;
  byID("connection").textContent = { live: t.page.live, connecting: t.page.connecting, away: t.page.awayShort, "signed-out": t.page.signedOutShort }[state];
  const text = state === "away" ? t.page.away : state === "signed-out" ? t.page.signedOut : isLost ? t.page.lost : null;
  if (banner?.textContent === text) return;
  banner?.remove();
  banner = text && h("div", { role: "alert", class: "banner" }, text);
  if (banner) byID("notices").prepend(banner);
}

function showStats({ tasks, downloadRate, uploadRate, damage }) {
  const words = [downloadRate >= 1 && `↓ ${format.rate(downloadRate)}`, uploadRate >= 1 && `↑ ${format.rate(uploadRate)}`, tasks.running > 0 && t.page.active(tasks.running)].filter(Boolean);
  document.title = words.length ? `${words.join(" · ")} – dld` : "dld";
  if (damage && !showStats.isTold) alertMessage(t.page.damage(damage));
  showStats.isTold ||= Boolean(damage);
}

function notify({ type, task, url }) {
  const kind = { "task.completed": "done", "task.failed": "failed", "task.decision": "asks" }[type];
  if (!kind || !settings.get("notify")[kind] || document.visibilityState === "visible") return;
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  // All tabs say the same; the tag makes it one.
  const made = new Notification(t.page.notifications[kind], { body: url ?? String(task), tag: `dld-${task}-${kind}` });
  made.onclick = () => {
    window.focus();
    app.go(kind === "asks" ? "#/decisions" : `#/task/${task}`);
  };
}

// Keys

const isText = (element) => element?.closest?.('input:not([type="checkbox"], [type="radio"], [type="button"]), textarea, select, [contenteditable]');
const isCovered = () => document.querySelector("dialog[open], .menu");

function onKey(event) {
  const { key, altKey, shiftKey } = event;
  const isControl = event.ctrlKey || event.metaKey;
  if (event.defaultPrevented || isCovered()) return;
  if (key === "Escape") return onEscape(event);
  if (isText(event.target)) return;
  const isList = current.screen === "list" || current.screen === "task";
  const take = (action) => {
    event.preventDefault();
    action();
  };
  if (isControl && !altKey && !shiftKey && key.toLowerCase() === "z") return take(undoLast);
  if (isList && altKey && !shiftKey && (key === "ArrowUp" || key === "ArrowDown")) {
    const isUp = key === "ArrowUp";
    return take(() => (isControl ? transfers.do("moveToEnd", isUp ? "first" : "last") : transfers.do("moveBy", isUp ? -1 : 1)));
  }
  if (isList && key === "Delete" && !isControl && !altKey) return take(() => (transfers.do(shiftKey ? "askDelete" : "remove")));
  if (!isControl && !altKey && settings.get("keys")) {
    const letters = { n: () => app.openAdd(), "/": () => transfers.search.focus(), "?": () => app.openKeys() };
    if (isList) Object.assign(letters, { p: () => transfers.do("act", "pause"), r: () => transfers.do("act", "resume"), t: () => transfers.do("act", "retry") });
    Object.keys(filters).forEach((name, i) => (letters[i + 1] = () => app.go(transfers.entries.get(name).element.getAttribute("href"))));
    const action = letters[key.length === 1 ? key.toLowerCase() : key];
    if (action && (!shiftKey || key === "?" || key === "/")) return take(action);
  }
  // Keys of the list work wherever nothing else has the focus.
  const isLoose = [document.body, byID("main")].includes(document.activeElement);
  if (isList && (isLoose || (isControl && key.toLowerCase() === "a"))) transfers.grid.key(event);
}

function onEscape(event) {
  if (current.screen !== "list") app.go(listHash);
  else if (transfers.grid.selectedCount) transfers.grid.clear();
  else return;
  event.preventDefault();
}

const linksIn = (text) => (text.match(/\b(?:https?|ftps?|sftp):\/\/[^\s<>"]+/gi) ?? []).join("\n");

function listenToUser() {
  addEventListener("keydown", onKey);
  addEventListener("hashchange", route);
  addEventListener("paste", (event) => {
    if (isText(event.target) || isCovered()) return;
    const links = linksIn(event.clipboardData?.getData("text/plain") ?? "");
    if (links) app.openAdd({ links });
  });
  const brings = (event) => ["Files", "text/uri-list", "text/plain"].some((type) => event.dataTransfer?.types.includes(type));
  addEventListener("dragover", (event) => brings(event) && !isText(event.target) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!brings(event) || isText(event.target) || isCovered()) return;
    event.preventDefault();
    const file = [...event.dataTransfer.files].find(({ name }) => /\.(meta4|metalink)$/i.test(name)) ?? event.dataTransfer.files[0];
    const links = linksIn(event.dataTransfer.getData("text/uri-list") || event.dataTransfer.getData("text/plain"));
    if (file) app.openAdd({ file });
    else if (links) app.openAdd({ links });
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment is the route
    giveFocus(document.querySelector('[role="row"][tabindex="0"]'));
  });
  byID("undo").addEventListener("click", undoLast);
}

// Start

async function signIn() {
  for (let delay = 250; ; delay = Math.min(5_000, delay * 2)) {
    try {
      return await api.signIn();
    } catch (error) {
      if (error.code === "signed-out") throw error;
      document.documentElement.dataset.lost = "";
      banner ??= h("div", { role: "alert", class: "banner" }, t.page.lost);
      byID("notices").prepend(banner);
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}

async function start() {
  settings.apply();
  api.on("connection", showConnection);
  try {
    await signIn();
  } catch {
    byID("list").append(h("p", { class: "empty" }, t.page.signedOut));
    return showConnection();
  }
  transfers = new Transfers(app);
  api.on("stats", showStats);
  api.on("log", notify);
  api.listen(api.session.head ?? 0);
  showConnection();
  listenToUser();
  const counted = transfers.readStats().then(showStats);
  await Promise.all([route(), counted]);
  document.documentElement.dataset.ready = "true";
  performance.mark("dld-ready");
  transfers.loadActions();
  (await load("graph"))?.show(byID("rates"), {}, app);
}

start();
