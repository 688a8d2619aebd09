// The screen "Decisions": what tasks ask, and the answers that the daemon takes.
import { t, format, nameOf } from "../text.js";
import { h, foreign, link, time, button, field, message, newID } from "../dom.js";
import { call, on, session } from "../api.js";
import { complain, problemPlace, select, sentence, text } from "./fields.js";

const ordinary = new Set(["useCredential", "trust", "follow", "allow", "continue", "store"]);

export function show(host, parameters, app) {
  const list = h("div", { class: "questions" });
  const title = h("h2", { id: newID("decisions"), tabindex: "-1" }, t.decisions.title);
  const nothing = h("p", { class: "nothing", hidden: true }, t.decisions.none);
  const owner = session.daemon.administrator ? { owner: "*" } : {};
  /// Questions that are shown, by number: what is being typed must stay when others come or go.
  const cards = new Map();
  let timer;
  let isEnded = false;
  host.append(h("section", { role: "region", "aria-labelledby": title.id, class: "screen" }, h("div", { class: "screen-head" }, title), nothing, list));

  async function read() {
    timer = undefined;
    const { decisions } = await call("decision.list", owner);
    const ids = [...new Set(decisions.map((each) => each.task))].slice(0, 1000);
    const { tasks } = ids.length > 0 ? await call("task.list", { ids, limit: 1000, ...owner }) : { tasks: [] };
    if (isEnded) return;
    const open = new Set(decisions.map((each) => each.decision));
    for (const [number, card] of cards) {
      if (open.has(number)) continue;
      const hadFocus = card.contains(document.activeElement);
      card.remove();
      cards.delete(number);
      if (hadFocus) title.focus();
    }
    for (const decision of decisions) {
      if (cards.has(decision.decision)) continue;
      const card = drawQuestion(decision, tasks.find((task) => task.id === decision.task), refresh);
      cards.set(decision.decision, card);
      list.append(card);
    }
    nothing.hidden = cards.size > 0;
    if (decisions.some((each) => each.deadline)) later(5000);
  }

  const refresh = () => read().catch(() => { /* The connection's banner says it. */ });
  /// A question may close without an event of its own: its task goes on, or its deadline passes.
  function later(delay) {
    if (!isEnded) timer ??= setTimeout(refresh, delay);
  }
  refresh();
  const offs = [
    on("log", (event) => {
      const concerns = event.type === "task.decision" || [...cards.values()].some((card) => card.dataset.task === String(event.task));
      if (!concerns) return;
      clearTimeout(timer);
      timer = undefined;
      later(200);
    }),
    on("resync", refresh), on("connection", (state) => state === "live" && refresh()),
  ];
  return () => {
    isEnded = true;
    clearTimeout(timer);
    offs.forEach((off) => off());
    // Passwords do not outlive the screen.
    for (const control of list.querySelectorAll('input[type="password"]')) control.value = "";
  };
}

const origin = (space) => `${space.protocol}://${space.host.includes(":") ? `[${space.host}]` : space.host}:${space.port}`;

/// The question as a sentence, in which foreign words stand apart.
function ask(decision) {
  const { kind, protectionSpace: space, response, request, key, keyChanged, reason, previousFailureCount: failures, proposedUser } = decision;
  const answered = () => [t.decisions.answers, [response?.status, response?.mimeType, response?.expectedLength >= 0 && format.bytes(response.expectedLength)]
    .filter(Boolean).flatMap((each, index) => [index > 0 ? ", " : " ", foreign(each)])];
  if (kind === "redirect") return [t.decisions.redirects(response?.status), " ", foreign(request?.method), " ", link(request?.url), "."];
  if (kind === "begin") return [t.decisions.begins, " ", foreign(request?.method), " ", link(request?.url), "."];
  if (kind === "response") return [...answered(), t.decisions.wanted];
  if (kind === "cache") return [...answered(), t.decisions.kept];
  if (!space) return [t.decisions.waits];
  const place = foreign(origin(space));
  if (space.method === "clientCertificate") return [place, t.decisions.wantsCertificate];
  if (space.method === "serverTrust") {
    return [keyChanged ? [place, t.decisions.keyChanged] : [t.decisions.untrusted, " ", place], reason && [": ", foreign(reason)], ". ", t.decisions.key, " ",
      h("code", null, foreign(key)), ". ", t.decisions.trustOnly];
  }
  return [space.isProxy ? t.decisions.proxy : "", place, t.decisions.wantsPassword, " (", t.decisions.methods[space.method] ?? space.method, ")",
    space.realm && [t.decisions.realm, " “", foreign(space.realm), "”"], ".",
    failures > 0 && [" ", t.decisions.refused(failures), proposedUser && [t.decisions.lastUser, " ", foreign(proposedUser)], "."],
    reason && [" Kerberos: ", foreign(reason), "."]];
}

function drawQuestion(decision, task, refresh) {
  const { actions, deadline, task: id, protectionSpace: space } = decision;
  const title = h("h3", { id: newID("question") }, foreign(task ? nameOf(task) : t.add.task(id)));
  const controls = inputs(decision);
  const problem = problemPlace();

  async function answer(action) {
    const parameters = { id: decision.decision, action, ...controls.read(action) };
    problem.say("");
    const missing = controls.missing(action);
    if (missing) {
      complain(missing, t.decisions.needed);
      return missing.focus();
    }
    setDisabled(true);
    try {
      await call("decision.answer", parameters);
      message(t.decisions.answered);
    } catch (error) {
      setDisabled(false);
      if (error.code === "decision.gone") message(t.decisions.gone);
      else return problem.say(sentence(error));
    } finally {
      controls.forget();
    }
    refresh();
  }

  // The default of a server that is not trusted is to fail.
  const word = (action) => t.decisions.actions[space?.method === "serverTrust" && action === "performDefaultHandling" ? "distrust" : action] ?? action;
  const buttons = actions.map((action) => button(word(action), () => answer(action), { class: ordinary.has(action) ? "primary" : null }));
  const setDisabled = (isDisabled) => buttons.forEach((each) => (each.disabled = isDisabled));
  const first = actions.includes("useCredential") && buttons[actions.indexOf("useCredential")];
  controls.element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && first && event.target.matches("input")) first.click();
  });
  return h("article", { class: "question", "aria-labelledby": title.id, dataset: { task: String(id) } },
    title,
    h("p", { class: "hint" }, h("a", { href: `#/task/${id}` }, t.add.task(id)), ` · ${t.details.session} `, foreign(decision.session), " · ",
      time(decision.time, format.time(decision.time))),
    h("p", null, ask(decision)),
    deadline && h("p", { class: "hint" }, t.decisions.else(t.decisions.actions[decision.default] ?? decision.default), " ", time(deadline, format.clock(deadline)), "."),
    controls.element, h("div", { class: "answers" }, buttons), problem.element);
}

/// The controls that the actions of a question need.
function inputs({ actions, protectionSpace: space, request, proposedUser }) {
  const isCertificate = space?.method === "clientCertificate";
  const needs = (...names) => names.some((name) => actions.includes(name));
  const credential = actions.includes("useCredential");
  const username = text(proposedUser, { autocomplete: "off" });
  const password = text("", { type: "password", autocomplete: "new-password" });
  const certificate = text("");
  const key = text("");
  const persistence = select(Object.entries(t.decisions.persistence), actions.includes("trust") ? "session" : "none");
  const url = text(request?.url, { type: "url" });
  const path = text("");
  const element = h("div", { class: "columns" },
    credential && !isCertificate && [field(t.decisions.username, username), field(t.decisions.password, password)],
    credential && isCertificate && [field(t.decisions.certificate, certificate), field(t.decisions.certificateKey, key), field(t.decisions.password, password)],
    needs("useCredential", "trust") && field(t.decisions.remember, persistence),
    needs("followWith", "newRequest") && field(t.decisions.otherLink, url),
    needs("becomeDownload") && field(t.decisions.saveAs, path));
  return {
    element,
    missing: (action) => (action === "useCredential" ? [isCertificate ? certificate : username] : ["followWith", "newRequest"].includes(action) ? [url] : [])
      .find((control) => control.value.trim() === ""),
    read(action) {
      const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value));
      if (action === "useCredential") {
        const own = isCertificate ? { certificate: certificate.value.trim(), key: key.value.trim() } : { username: username.value };
        return { credential: given({ ...own, password: password.value, persistence: persistence.value }) };
      }
      if (action === "trust") return { persistence: persistence.value };
      if (action === "followWith" || action === "newRequest") return { request: { url: url.value.trim() } };
      return action === "becomeDownload" && path.value.trim() ? { destination: { path: path.value.trim() } } : {};
    },
    forget: () => { password.value = ""; },
  };
}
