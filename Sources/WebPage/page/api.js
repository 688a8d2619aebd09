// The page's side of dld-web: calls that travel in batches, and one stream of events for all tabs of a browser.

export let session = null;

export class CallError extends Error {
  constructor({ code, message, details, retryable }) {
    super(message);
    Object.assign(this, { code, details: details ?? {}, retryable: Boolean(retryable) });
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Connection

const handlers = new Map();
let connection = "connecting";
let isServerLost = false;

/// Hears `log`, `progress`, `stats`, `daemon`, `resync` and `connection`. Returns a function that ends that.
export function on(kind, handler) {
  if (!handlers.has(kind)) handlers.set(kind, new Set());
  handlers.get(kind).add(handler);
  return () => handlers.get(kind).delete(handler);
}

function tell(kind, data) {
  for (const handler of handlers.get(kind) ?? []) handler(data);
}

/// `live`, `connecting`, `away` (dld) or `signed-out`.
export const connectionState = () => connection;
/// Whether it is the page's own server that does not answer.
export const serverIsLost = () => isServerLost;

function setConnection(state, lost = false) {
  if (state === connection && lost === isServerLost) return;
  connection = state;
  isServerLost = lost;
  tell("connection", state);
}

function untilLive() {
  if (connection === "live") return pause(500);
  return new Promise((resolve) => {
    const off = on("connection", (state) => state === "live" && (off(), resolve()));
  });
}

/// Asks who we are. Throws with the code `signed-out` or `web.away`.
export async function signIn() {
  let answer;
  try {
    answer = await fetch("./session");
  } catch {
    throw new CallError({ code: "web.away", message: "The page's server does not answer.", retryable: true });
  }
  if (answer.status === 401) {
    setConnection("signed-out");
    throw new CallError({ code: "signed-out", message: "Signed out." });
  }
  if (!answer.ok) throw new CallError({ code: "web.away", message: `The page's server answered ${answer.status}.`, retryable: true });
  session = await answer.json();
  return session;
}

// Calls

let waiting = [];
let lastCall = 0;
/// What may be sent twice: reading, and adding, because its tokens make the second time harmless.
const mayRepeat = (method) => /\.(list|get|stats|info)$/.test(method) || method === "task.add";

/// Calls a method of the protocol. Calls of one tick travel together.
export async function call(method, params = {}) {
  for (;;) {
    try {
      return await new Promise((resolve, reject) => {
        if (waiting.length === 0) queueMicrotask(flush);
        waiting.push({ request: { jsonrpc: "2.0", id: ++lastCall, method, params }, resolve, reject });
      });
    } catch (error) {
      if (!["web.away", "daemon.away"].includes(error.code) || !mayRepeat(method)) throw error;
      await untilLive();
    }
  }
}

function flush() {
  const all = waiting;
  waiting = [];
  for (let start = 0; start < all.length; start += 100) send(all.slice(start, start + 100));
}

const headers = () => ({ "Content-Type": "application/json", "X-Dld-Token": session.token });

async function post(path, body, type) {
  for (let isFirst = true; ; isFirst = false) {
    let answer;
    try {
      answer = await fetch(path, { method: "POST", headers: { ...headers(), ...(type && { "Content-Type": type }) }, body });
    } catch {
      throw new CallError({ code: "web.away", message: "The page's server does not answer.", retryable: true });
    }
    if (answer.status === 401) setConnection("signed-out");
    if (answer.status === 403 && isFirst) {
      await signIn(); // the token of another session of this browser
      continue;
    }
    return answer;
  }
}

async function send(entries) {
  const fail = (error) => entries.forEach((entry) => entry.reject(error));
  try {
    const answer = await post("./rpc", JSON.stringify(entries.length === 1 ? entries[0].request : entries.map((entry) => entry.request)));
    const body = await answer.json().catch(() => null);
    const results = new Map([body].flat().map((each) => [each?.id, each]));
    for (const { request, resolve, reject } of entries) {
      const { result, error } = results.get(request.id) ?? (body && !Array.isArray(body) ? body : {});
      if (result !== undefined && !error) resolve(result);
      else reject(errorOf(error, answer.status));
    }
  } catch (error) {
    fail(error);
  }
}

function errorOf(error, status) {
  const code = error?.data?.code ?? (typeof error?.code === "string" ? error.code : status === 401 ? "signed-out" : status >= 500 ? "daemon.away" : "internal");
  return new CallError({ code, message: error?.message ?? `The page's server answered ${status}.`, details: error?.data?.details, retryable: error?.data?.retryable });
}

/// Sends requests while the page is being left. They are not answered any more.
export function sendAtLeaving(calls) {
  const requests = calls.map(([method, params]) => ({ jsonrpc: "2.0", id: ++lastCall, method, params }));
  for (let start = 0; start < requests.length; start += 100) {
    const body = JSON.stringify(requests.slice(start, start + 100));
    fetch("./rpc", { method: "POST", headers: headers(), keepalive: body.length < 60_000, body }).catch(() => {});
  }
}

/// The tasks that a Metalink document describes. Adds nothing.
export async function metalink(document) {
  const answer = await post("./metalink", document, document.type || "application/metalink4+xml");
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw errorOf(body.error, answer.status);
  return body.tasks;
}

/// `{interval, down, up}` of the last five minutes.
export const rates = async () => (await fetch("./rates", { cache: "no-store" })).json();

/// Ends this session in every tab.
export async function signOut() {
  await post("./logout", "{}");
  setConnection("signed-out");
  channel.postMessage({ kind: "connection", data: { state: "signed-out" } });
}

// Events

const channel = new BroadcastChannel("dld-events");
const silence = 40_000;
let last = 0; // the newest event that this tab has heard
let heard = Date.now();
let isLeader = false;
let lastStats = null;
let stream = null;
let asking = null; // the request for the lock
let isCached = false;

channel.onmessage = ({ data: { kind, data } }) => {
  if (kind === "hello") {
    if (!isLeader) return;
    share("connection", { state: connection, lost: isServerLost });
    if (lastStats) share("stats", lastStats);
  } else {
    heard = Date.now();
    receive(kind, data);
  }
};

/// What the leader hears, all tabs hear.
function share(kind, data) {
  channel.postMessage({ kind, data });
}

function receive(kind, data) {
  if (kind === "connection") return setConnection(data.state, data.lost);
  if (kind === "log") {
    if (data.sequence <= last) return;
    last = data.sequence;
  }
  if (kind === "resync") last = data.head;
  if (kind === "stats") lastStats = data;
  if (kind !== "alive") tell(kind, data);
}

function publish(kind, data) {
  share(kind, data);
  receive(kind, data);
}

/// Begins to hear events after `head`.
export function listen(head) {
  last = head;
  if (!navigator.locks) return void lead(); // plain http from elsewhere: a stream for each tab
  follow(false);
  channel.postMessage({ kind: "hello" });
  setInterval(() => {
    if (isLeader || Date.now() - heard < silence) return;
    heard = Date.now();
    follow(true); // the leading tab is frozen
  }, 5_000);
}

function follow(steal) {
  asking = new AbortController();
  navigator.locks.request("dld-events", steal ? { steal } : { signal: asking.signal }, lead).catch(() => {
    isLeader = false; // another tab took over
    stream?.abort();
    heard = Date.now();
    if (!isCached) follow(false);
  });
}

let wake = () => {};
for (const type of ["online", "visibilitychange", "pageshow"]) {
  (type === "visibilitychange" ? document : window).addEventListener(type, () => {
    if (document.hidden) return;
    if (isLeader && connection === "live" && Date.now() - heard > silence) stream?.abort();
    wake();
  });
}

// A frozen tab hears nothing and does not know it; one in the back/forward cache must not keep the lock.
document.addEventListener("resume", () => {
  heard = Date.now();
  stream?.abort();
  wake();
});
addEventListener("pagehide", () => {
  isCached = true;
  isLeader = false;
  stream?.abort();
  asking?.abort();
  wake();
});
addEventListener("pageshow", ({ persisted }) => {
  isCached = false;
  if (!persisted || !asking) return;
  tell("resync", { head: last });
  if (navigator.locks) follow(false);
  else lead();
});

async function lead() {
  isLeader = true;
  for (let delay = 250; isLeader;) {
    const began = Date.now();
    const reason = await readStream();
    if (!isLeader) return;
    if (reason === "signed-out") return publish("connection", { state: "signed-out", lost: false });
    if (Date.now() - began > 10_000) delay = 250;
    // A stream that ended is no outage yet: the next answer tells.
    if (reason === "away") publish("connection", { state: "away", lost: false });
    if (reason === "lost") publish("connection", { state: "connecting", lost: true });
    await Promise.race([pause(Math.min(delay * (0.75 + Math.random() / 2), 5_000)), new Promise((resolve) => (wake = resolve))]);
    delay = Math.min(delay * 2, 5_000);
  }
}

async function readStream() {
  stream = new AbortController();
  const { signal } = stream;
  heard = Date.now();
  const watch = setInterval(() => Date.now() - heard > silence && stream.abort(), 2_000);
  let hasBegun = false;
  try {
    const answer = await fetch(`./events?after=${last}`, { headers: { Accept: "text/event-stream" }, cache: "no-store", signal });
    if (answer.status === 401) return "signed-out";
    if (answer.status === 503) return "away";
    if (!answer.ok) return "lost";
    hasBegun = true;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done || !isLeader) return "ended";
      heard = Date.now();
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) hear(block);
    }
  } catch {
    return hasBegun ? "ended" : "lost";
  } finally {
    clearInterval(watch);
    stream.abort();
  }
}

function hear(block) {
  let kind = "message";
  let text = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    if (line.startsWith("data:")) text += line.slice(5);
  }
  if (!text) return share("alive"); // a comment, or `retry`
  const data = JSON.parse(text);
  if (kind === "hello" || kind === "daemon") {
    const state = data.state ?? data.daemon?.state ?? data.daemon;
    publish("connection", { state: state === "away" ? "away" : "live", lost: false });
    if (kind === "daemon") publish(kind, data);
  } else publish(kind, data);
}
