// The dialog "Add transfers": one link or ten thousand, and the files of Metalinks.
import { t, format } from "../text.js";
import { h, foreign, dialog, field, button, message, newID } from "../dom.js";
import { call, metalink } from "../api.js";
import { parseLinks } from "./links.js";
import { checkbox, complain, number, problemPlace, readAmounts, select, sentence, text } from "./fields.js";

const shownProblems = 10;
/// Links that are compared with the tasks before they are added; the daemon compares all of them afterwards.
const comparedLinks = 20;
/// One request stays below the 1 MiB of which the daemon takes one at a time.
const pieceLength = 500_000;
const keptFolders = 5;
const unfinished = ["queued", "running", "waiting", "paused"];
const digests = { 32: "md5", 40: "sha-1", 64: "sha-256", 96: "sha-384", 128: "sha-512" };

let shown = null;

/// Opens the dialog, or adds to the one that is open. `links` is text, one a line.
export function openAdd(app, { links, file } = {}) {
  shown ??= new AddDialog(app);
  if (links) shown.appendLinks(links);
  if (file) shown.readMetalink(file);
}

class AddDialog {
  #app;
  #schemes = [];
  #lines = [];
  #files = [];
  /// What the daemon said against a line, by its text.
  #refused = new Map();
  /// The token of each entry, by its specification: what is sent twice is added once.
  #tokens = new Map();
  #timer;
  #comparison = 0;

  #links = h("textarea", { rows: "6", wrap: "off", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
  #marks = h("div", { class: "marks", "aria-hidden": "true" });
  #problems = h("div", { class: "problems" });
  #drop = button("", () => this.#dropBad(), { class: "drop-bad", hidden: true });
  #notes = h("ul", { class: "notes", hidden: true });
  #input = h("input", { type: "file", accept: ".meta4,.metalink,application/metalink4+xml,application/metalink+xml", hidden: true, "aria-label": t.add.metalinkFile });
  #metalinkProblem = problemPlace();
  #tree = h("fieldset", { class: "files", hidden: true });
  #folder = text("", { inputmode: "text" });
  #name = text("");
  #nameField = field(t.add.name, this.#name);
  #paused = checkbox(false);
  #options = new Options(() => this.#showSession());
  #submit = button(t.add.submit(0), () => this.#add(), { class: "primary", disabled: true });
  #dialog;

  constructor(app) {
    this.#app = app;
    this.#links.addEventListener("input", () => this.#read({ isTyping: true }));
    this.#links.addEventListener("scroll", () => this.#marks.style.setProperty("translate", `0 ${-this.#links.scrollTop}px`));
    this.#links.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#add();
    });
    this.#input.addEventListener("change", async () => {
      for (const file of this.#input.files) await this.readMetalink(file);
      this.#input.value = "";
    });
    const linksField = field(t.add.links, this.#links, t.add.linksHint);
    const lines = h("div", { class: "lines" }, this.#marks);
    this.#links.before(lines);
    lines.append(this.#links);
    // The last folders are buttons: a list of suggestions would make the text box a combo box.
    const folders = (app.settings.get("folders") ?? []).map((folder) => button(foreign(folder), () => {
      this.#folder.value = folder;
      this.#folder.focus();
    }, { class: "quiet" }));
    const body = h("div", { class: "add" },
      linksField, this.#problems, this.#drop, this.#notes,
      h("p", null, button(t.add.metalink, () => this.#input.click()), this.#input), this.#metalinkProblem.element, this.#tree,
      h("div", null, field(t.add.folder, this.#folder, t.add.folderHint),
        folders.length > 0 && h("div", { class: "recent", role: "group", "aria-label": t.add.lastFolders }, folders)),
      this.#nameField, field(t.add.paused, this.#paused), this.#options.element);
    this.#nameField.hidden = true;
    this.#dialog = dialog({
      title: t.add.title, body, initial: this.#links, wide: true,
      buttons: [{ label: t.cancel }, this.#submit],
      onClose: () => {
        shown = null;
        clearTimeout(this.#timer);
      },
    });
    this.#load();
  }

  async #load() {
    try {
      const [info, { sessions }] = await Promise.all([call("daemon.info"), call("session.list")]);
      this.#schemes = info.schemes ?? [];
      this.#options.offer(sessions.filter((each) => each.state === "active"), info.userDirectory);
      this.#showSession();
      this.#read();
    } catch { /* The connection's banner says it; adding says it again. */ }
  }

  /// Shows where files go if no folder is named.
  #showSession() {
    this.#folder.placeholder = this.#options.folder ?? "";
  }

  // Links

  appendLinks(links) {
    const before = this.#links.value.replace(/\s+$/, "");
    this.#links.value = before ? `${before}\n${links}` : links;
    this.#read();
  }

  /// - isTyping: the line of the caret is not judged yet, because it may be half written.
  #read({ isTyping = false } = {}) {
    clearTimeout(this.#timer);
    const caret = isTyping && this.#links.value.slice(0, this.#links.selectionStart).split("\n").length;
    this.#lines = parseLinks(this.#links.value, this.#schemes);
    for (const line of this.#lines) line.problem ??= this.#refused.get(line.text);
    this.#show(this.#lines.filter((line) => line.problem && line.number !== caret));
    this.#timer = setTimeout(() => (isTyping ? this.#read() : this.#compare()), isTyping ? 600 : 100);
  }

  get #entries() {
    const linked = this.#lines.filter((line) => !line.problem).flatMap((line) => line.entries);
    return { linked, files: this.#files.filter((file) => file.box.checked) };
  }

  #show(bad) {
    const { linked, files } = this.#entries;
    const count = linked.length + files.length;
    this.#submit.textContent = t.add.submit(count);
    this.#submit.disabled = count === 0 && bad.length === 0;
    this.#nameField.hidden = linked.length !== 1 || files.length > 0;
    this.#options.showsChecksum = !this.#nameField.hidden;
    this.#showProblems(bad);
  }

  #showProblems(bad) {
    const texts = bad.slice(0, shownProblems).map((line) => t.add.badLine(line.number, line.problem));
    if (bad.length > shownProblems) texts.push(t.add.moreBad(bad.length - shownProblems));
    // An alert that is made again would be read again.
    if (texts.join("\n") !== this.#problems.dataset.texts) {
      this.#problems.replaceChildren(...texts.map((each) => h("p", { role: "alert", class: "problem" }, foreign(each))));
      this.#problems.dataset.texts = texts.join("\n");
    }
    this.#marks.replaceChildren(...bad.slice(0, 500).map((line) => {
      const mark = h("span", null, String(line.number));
      mark.style.setProperty("--line", line.number - 1);
      return mark;
    }));
    this.#drop.hidden = bad.length === 0;
    this.#drop.textContent = t.add.drop(bad.length);
    if (bad.length > 0) this.#links.setAttribute("aria-invalid", "true");
    else this.#links.removeAttribute("aria-invalid");
  }

  #dropBad() {
    const bad = new Set(this.#lines.filter((line) => line.problem).map((line) => line.number));
    this.#links.value = this.#links.value.split("\n").filter((_, index) => !bad.has(index + 1)).join("\n");
    this.#read();
    this.#links.focus();
  }

  /// Notes links that a task has which is not done yet.
  async #compare() {
    const turn = ++this.#comparison;
    const { linked } = this.#entries;
    const found = [];
    if (linked.length > 0 && linked.length <= comparedLinks) {
      const pages = await Promise.all(linked.map(({ url }) => call("task.list", { match: url, states: unfinished, limit: 10 }).catch(() => ({ tasks: [] }))));
      pages.forEach(({ tasks }, index) => {
        const task = tasks.find((each) => each.url === linked[index].url);
        if (task) found.push({ url: task.url, id: task.id });
      });
    }
    if (turn !== this.#comparison) return;
    this.#notes.hidden = found.length === 0;
    this.#notes.replaceChildren(...found.map(({ url, id }) => h("li", null, foreign(url), ` ${t.add.duplicate} `,
      h("a", { href: `#/task/${id}`, on: { click: () => this.#dialog.close() } }, t.add.task(id)))));
  }

  // Metalinks

  async readMetalink(file) {
    this.#metalinkProblem.say("");
    try {
      const tasks = await metalink(file);
      this.#files.push(...tasks.map((spec) => ({ spec, box: checkbox(true) })));
      this.#showFiles();
    } catch (error) {
      this.#metalinkProblem.say(t.add.badMetalink(file.name, error.message));
    }
  }

  #showFiles() {
    const rows = this.#files.map(({ spec, box }) => {
      const id = (box.id ||= newID("file"));
      box.onchange = () => this.#read();
      const name = spec.destination?.filename ?? spec.fileName ?? spec.url;
      return h("li", null, box, h("label", { for: id }, foreign(name)),
        h("span", { class: "size" }, spec.size >= 0 ? format.bytes(spec.size) : t.add.unknownSize));
    });
    this.#tree.replaceChildren(h("legend", null, t.add.files), h("ul", null, rows));
    this.#tree.hidden = false;
    this.#read();
  }

  // Adding

  /// The tasks to add, each with the line that it comes from.
  #tasks(common, single) {
    const { linked, files } = this.#entries;
    const directory = this.#folder.value.trim();
    const destination = (filename) => directory || filename ? { destination: { ...(directory && { directory }), ...(filename && { filename }) } } : {};
    const isSingle = !this.#nameField.hidden;
    const specs = [
      ...linked.map(({ url, mirrors }) => ({
        url, ...(mirrors.length > 0 && { mirrors }), ...destination(isSingle && this.#name.value.trim()), ...(isSingle && single), ...common,
      })),
      ...files.map(({ spec }) => ({ ...spec, ...destination(spec.destination?.filename), ...common })),
    ];
    const seen = new Map();
    return specs.map((spec) => {
      const text = JSON.stringify([this.#options.session, spec]);
      const repeat = seen.get(text) ?? 0;
      seen.set(text, repeat + 1);
      const key = `${repeat} ${text}`;
      if (!this.#tokens.has(key)) this.#tokens.set(key, token());
      return { ...spec, clientToken: this.#tokens.get(key) };
    });
  }

  async #add() {
    this.#read();
    const bad = this.#lines.find((line) => line.problem);
    if (bad) return this.#select(bad);
    const options = this.#options.read(this.#app.settings.get("units"));
    if (!options || this.#submit.disabled) return;
    const tasks = this.#tasks({ ...options.common, ...(this.#paused.checked && { startPaused: true }) }, options.single);
    this.#submit.disabled = true;
    this.#submit.textContent = t.add.progress(0, tasks.length);
    complain(this.#folder, "");
    complain(this.#name, "");
    const added = [];
    try {
      for (const piece of pieces(tasks)) {
        const answer = await call("task.add", { session: this.#options.session, tasks: piece }).catch((error) => {
          throw Object.assign(error, { begin: added.length });
        });
        added.push(...answer.tasks);
        this.#submit.textContent = t.add.progress(added.length, tasks.length);
      }
    } catch (error) {
      return this.#refuse(error);
    }
    this.#end(added);
  }

  #end(added) {
    const folder = this.#folder.value.trim();
    if (folder) {
      const others = (this.#app.settings.get("folders") ?? []).filter((each) => each !== folder);
      this.#app.settings.set("folders", [folder, ...others].slice(0, keptFolders));
    }
    this.#options.forget();
    this.#dialog.close();
    const duplicates = added.filter((each) => each.duplicateOf !== undefined);
    const links = duplicates.slice(0, 3).flatMap((each) => [" ", h("a", { href: `#/task/${each.duplicateOf}` }, t.add.task(each.duplicateOf))]);
    message(h("span", null, t.add.added(added.length), duplicates.length > 0 && [" ", t.add.duplicates(duplicates.length), links]),
      duplicates.length > 0 ? { stays: true, seconds: 15 } : {});
    this.#app.focusTask(added.find((each) => !each.removed)?.id);
  }

  /// Shows the daemon's refusal beside what it refuses.
  #refuse(error) {
    const [, index, member] = /^tasks\[(\d+)\]\.?(.*)$/.exec(error.details?.field ?? "") ?? [];
    const said = sentence(error);
    this.#read();
    if (member?.startsWith("destination.filename")) complain(this.#name, said);
    else if (member?.startsWith("destination")) complain(this.#folder, said);
    else if (member?.startsWith("url") || member?.startsWith("mirrors")) {
      const line = this.#lineOf(error.begin + Number(index));
      if (line) this.#refused.set(line.text, said);
      this.#read();
      if (line) this.#select(line);
    } else if (!this.#options.complain(member, said)) {
      this.#problems.replaceChildren(h("p", { role: "alert", class: "problem" }, foreign(said)));
      this.#problems.dataset.texts = said;
    }
  }

  #lineOf(index) {
    let rest = index;
    return this.#lines.filter((line) => !line.problem).find((line) => (rest -= line.entries.length) < 0);
  }

  #select(line) {
    const start = this.#links.value.split("\n").slice(0, line.number - 1).join("\n").length + (line.number > 1 ? 1 : 0);
    this.#links.focus();
    this.#links.scrollTop = (line.number - 2) * 20; // the height of a line
    this.#links.setSelectionRange(start, this.#links.value.indexOf("\n", start) >= 0 ? this.#links.value.indexOf("\n", start) : this.#links.value.length);
  }
}

/// "More options": what most people never need.
class Options {
  #sessions = [];
  #userDirectory;
  #session = select([["shared", t.add.sharedSession]], "shared");
  #priority = select([["", t.add.normal], ["high", t.add.high], ["low", t.add.low]]);
  #conflict = select([["", t.add.sessionDecides], ...Object.entries(t.conflicts)]);
  #checksum = text("");
  #checksumField = field(t.add.checksum, this.#checksum, t.add.checksumHint);
  #rate = text("", { placeholder: t.unlimited });
  #connections = number("", { min: "1", max: "64" });
  #begin = text("", { type: "datetime-local" });
  #username = text("");
  #password = text("", { type: "password", autocomplete: "new-password" });
  #proxy = text("");
  #headers = h("textarea", { rows: "2", spellcheck: "false", autocomplete: "off" });
  #tags = text("");

  constructor(onSession) {
    this.#session.addEventListener("change", onSession);
    this.element = h("details", { class: "more" }, h("summary", null, t.add.more), h("div", { class: "columns" },
      field(t.add.session, this.#session), field(t.add.priority, this.#priority), field(t.add.conflict, this.#conflict),
      field(t.add.begin, this.#begin), field(t.add.rate, this.#rate, t.fields.rateHint), field(t.add.connections, this.#connections),
      field(t.add.username, this.#username), field(t.add.password, this.#password), field(t.add.proxy, this.#proxy), field(t.add.tags, this.#tags),
      this.#checksumField, field(t.add.headers, this.#headers, t.add.headersHint)));
  }

  get session() { return this.#session.value; }

  get folder() {
    return this.#sessions.find((each) => each.id === this.session)?.configuration.directory ?? this.#userDirectory;
  }

  set showsChecksum(isShown) { this.#checksumField.hidden = !isShown; }

  offer(sessions, userDirectory) {
    const chosen = this.session;
    this.#sessions = sessions;
    this.#userDirectory = userDirectory;
    this.#session.replaceChildren(...["shared", ...sessions.map((each) => each.id).filter((id) => id !== "shared")]
      .map((id) => h("option", { value: id }, id)));
    this.#session.value = chosen;
  }

  /// The members of all tasks, and those that fit a single one; null if something is wrong.
  read(base) {
    const amounts = readAmounts({ rateLimit: this.#rate }, base);
    const [, algorithm, value] = /^(?:([a-z]+-?\d+)\s*[:=]\s*)?([0-9a-f]+)$/i.exec(this.#checksum.value.trim()) ?? [];
    const headers = this.#headers.value.split("\n").filter((line) => line.trim()).map((line) => /^([^:\s]+):\s*(.*)$/.exec(line.trim())?.slice(1));
    const badChecksum = !this.#checksumField.hidden && this.#checksum.value.trim() && !(algorithm || digests[value?.length]);
    complain(this.#checksum, badChecksum ? t.add.badChecksum : "");
    complain(this.#headers, headers.includes(undefined) ? t.add.badHeader : "");
    if (!amounts || badChecksum || headers.includes(undefined)) {
      this.element.open = true;
      return null;
    }
    const given = {
      priority: this.#priority.value, conflictPolicy: this.#conflict.value, rateLimit: amounts.rateLimit, connections: Number(this.#connections.value),
      earliestBeginAt: this.#begin.value && new Date(this.#begin.value).toISOString(), username: this.#username.value, password: this.#password.value,
      proxy: this.#proxy.value.trim(), headers: headers.length > 0 && headers, tags: this.#tags.value.split(/[\s,]+/).filter(Boolean),
    };
    const isSet = ([, each]) => each && each.length !== 0;
    return {
      common: Object.fromEntries(Object.entries(given).filter(isSet)),
      single: value ? { checksum: { algorithm: (algorithm ?? digests[value.length]).toLowerCase().replace(/^sha(\d)/, "sha-$1"), value } } : {},
    };
  }

  /// Returns whether it has the member of a task that the daemon refuses.
  complain(member, problem) {
    const controls = {
      session: this.#session, checksum: this.#checksum, rateLimit: this.#rate, connections: this.#connections, earliestBeginAt: this.#begin,
      username: this.#username, password: this.#password, proxy: this.#proxy, headers: this.#headers, tags: this.#tags,
    };
    const control = controls[member?.split(/[.[]/)[0]];
    if (!control) return false;
    this.element.open = true;
    complain(control, problem);
    control.focus();
    return true;
  }

  /// Passwords stay nowhere in the page.
  forget() { this.#password.value = ""; }
}

/// Splits tasks so that no request is too long.
function* pieces(tasks) {
  let piece = [];
  let length = 0;
  for (const task of tasks) {
    const more = JSON.stringify(task).length;
    if (piece.length > 0 && length + more > pieceLength) {
      yield piece;
      piece = [];
      length = 0;
    }
    piece.push(task);
    length += more;
  }
  yield piece;
}

/// `crypto.randomUUID` exists only on secure origins; a page behind a plain proxy is none.
function token() {
  return `web-${Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
