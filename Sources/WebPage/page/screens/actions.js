// What can be done with the selected rows: the menu, bulk actions, Remove with Undo, and moves in the queue.
import { call, connectionState, sendAtLeaving } from "../api.js";
import { alertMessage, dialog, field, foreign, h, menu, message, visible } from "../dom.js";
import { hides } from "../list.js";
import { format, nameOf, t } from "../text.js";
import { ended, fits, tabs, unfinished } from "../transfers.js";

/// More tasks than these are named by their states, not one by one.
const mostIDs = 10_000;
const pathOf = (task) => task.file ?? task.destination?.path;

export class Actions {
  /// `screen` is Transfers.
  constructor(screen) {
    this.screen = screen;
    this.grid = screen.grid;
    this.list = screen.list;
    this.leaves = new Map(); // what is sent if the page is left before it is: key → removal
    addEventListener("pagehide", () => this.#leave());
  }

  openMenu(at, isToolbar) {
    const can = this.screen.can();
    const n = this.grid.selectedCount;
    const isLive = connectionState() === "live";
    const one = n === 1 && !this.grid.selection.all ? this.list.tasks.get([...this.grid.selection.ids][0]) : null;
    const some = isLive && n > 0;
    const entry = (name, isPossible, action, key) => ({ label: t.list[name], disabled: !isPossible, action, key });
    const act = (name, key) => entry(name, can(name), () => this.act(name), key);
    menu(at, [
      entry("details", n === 1, () => this.screen.app.go(`#/task/${one.id}`), "Enter"), null,
      act("pause", "P"), act("resume", "R"), act("retry", "T"), null,
      entry("top", some, () => this.moveToEnd("first"), "Ctrl+Alt+↑"), entry("bottom", some, () => this.moveToEnd("last"), "Ctrl+Alt+↓"),
      { label: t.list.priority, disabled: !some, submenu: Object.keys(t.list.priorities).map((priority) => ({
        label: t.list.priorities[priority], checked: one ? one.priority === priority || one.priority === { high: 0.75, normal: 0.5, low: 0.25 }[priority] : false,
        action: () => this.update({ priority }),
      })) },
      entry("limitRate", some, () => this.#askRate(one)), entry("changeLink", isLive && one && one.state !== "completed", () => this.#askLink(one)), null,
      entry("copyLinks", n > 0, () => this.#copy((task) => task.url, t.list.links)),
      entry("copyPath", n > 0 && (!one || pathOf(one)), () => this.#copy(pathOf, t.list.paths)), null,
      act("cancel"), entry("remove", can("remove"), () => this.remove(), "Delete"),
      entry("deleteFiles", can("remove"), () => this.askDelete(), "Shift+Delete"),
      ...(isToolbar ? [null, entry("selectAll", this.list.count > 0, () => this.grid.selectAll(), "Ctrl+A")] : []),
    ], { label: t.menu.title });
  }

  // Actions

  /// Whether the selection is a whole list that the daemon can name by session and states.
  get #isWhole() {
    const { all, ids } = this.grid.selection;
    return all && ids.size === 0 && !this.list.filter.match && hides.size === 0;
  }
  #scope() {
    const { session: name, owner } = this.list.filter;
    return { ...(name ? { session: name } : { all: true }), ...(owner && { owner }) };
  }

  /// Sends a control method for many ids in pieces, and adds up the answers.
  async #control(method, ids, parameters = {}) {
    const sum = { changed: [], skipped: [], files: [] };
    for (let start = 0; start < ids.length; start += mostIDs) {
      const result = await call(method, { ids: ids.slice(start, start + mostIDs), ...parameters, ...(this.list.filter.owner && { owner: this.list.filter.owner }) });
      for (const key of Object.keys(sum)) sum[key].push(...(result[key] ?? []));
    }
    return sum;
  }

  #report(error) {
    alertMessage(error.code === "web.away" || error.code === "daemon.away" ? t.list.maybe : error.message);
  }

  /// Pause, resume, retry or cancel the selected tasks.
  async act(name) {
    if (!this.screen.can()(name)) return;
    this.grid.busy(1);
    const n = this.grid.selectedCount;
    const parameters = name === "cancel" ? { keepPartial: true } : {};
    try {
      let result;
      if (this.#isWhole) {
        const states = (this.list.filter.states ?? fits[name]).filter((state) => fits[name].includes(state));
        result = await call(`task.${name}`, { ...this.#scope(), states, ...parameters });
      } else result = await this.#control(`task.${name}`, await this.screen.selectedIds(), parameters);
      const { changed } = result;
      const rest = Math.max(0, n - changed.length);
      const text = `${t.list.changed[name]} ${format.count(changed.length)}${rest ? `, ${format.count(rest)} ${t.list.skipped[name]}` : ""}`;
      const undo = name === "cancel" && changed.length ? () => this.#control("task.retry", changed).catch((error) => this.#report(error)) : undefined;
      message(text, { undo });
    } catch (error) {
      this.#report(error);
    }
    this.grid.busy(-1);
  }

  /// Takes the selected rows off at once. The daemon hears of it when it can no longer be undone.
  async remove() {
    if (!this.screen.can()("remove")) return;
    const removal = await this.#take();
    const n = removal.count;
    message(t.list.removed(n), {
      undo: () => this.#show(removal),
      done: () => this.#send(removal).catch((error) => {
        this.#show(removal);
        this.#report(error);
      }),
    });
    this.leaves.set(removal.key, removal);
  }

  /// Hides the selected rows in all tabs. Returns what `#send` needs to remove them.
  async #take() {
    const count = this.grid.selectedCount;
    const key = `${Date.now()}-${Math.random()}`;
    const { states } = this.list.filter;
    // Tasks are named by states only where that cannot reach others: unfinished ones of one state become cancelled ones.
    const byRule = this.#isWhole && count > mostIDs && (!states || ended.includes(states[0]));
    let hide;
    if (byRule) {
      const { tasks } = await call("task.list", { order: "newest", limit: 1, ...(this.list.filter.owner && { owner: this.list.filter.owner }) });
      hide = { key: this.list.key, states, session: this.list.filter.session, upTo: tasks[0]?.id ?? 0, except: new Set() };
    } else hide = { ids: new Set(await this.screen.selectedIds()) };
    const removal = { key, count, hide, owner: this.list.filter.owner };
    this.grid.clear();
    this.screen.hide(key, hide);
    tabs.postMessage({ hide, key });
    return removal;
  }

  /// The calls that remove the tasks of a removal, in this order.
  #calls({ hide, owner }, parameters) {
    const own = owner ? { owner } : {};
    if (!hide.ids) {
      // Later tasks are not meant: the range ends at the newest that was there.
      const scope = hide.session ? { session: hide.session } : { idRange: { first: 1, last: hide.upTo } };
      const cancel = hide.states ? [] : [["task.cancel", { ...scope, ...own, states: unfinished }]];
      return [...cancel, ["task.remove", { ...scope, ...own, states: hide.states ?? ended, ...parameters }]];
    }
    const ids = [...hide.ids];
    const calls = [];
    for (let start = 0; start < ids.length; start += mostIDs) {
      const piece = ids.slice(start, start + mostIDs);
      const isEnded = piece.every((id) => ended.includes(this.list.tasks.get(id)?.state));
      if (!isEnded) calls.push(["task.cancel", { ids: piece, ...own, states: unfinished }]);
      calls.push(["task.remove", { ids: piece, ...own, ...parameters }]);
    }
    return calls;
  }

  async #send(removal, parameters = {}) {
    this.leaves.delete(removal.key);
    const files = [];
    const kept = [];
    for (const [method, each] of this.#calls(removal, parameters)) {
      const result = await call(method, each);
      if (method !== "task.remove") continue;
      files.push(...(result.files ?? []));
      kept.push(...result.skipped.filter(({ code }) => code !== "task.not_found"));
    }
    if (kept.length) {
      this.#show(removal);
      alertMessage(`${format.count(kept.length)} ${t.list.skipped.remove}`);
    } else setTimeout(() => this.screen.unhide(removal.key), 20_000); // by then their events have come
    return files;
  }

  #leave() {
    for (const removal of this.leaves.values()) {
      sendAtLeaving(this.#calls(removal));
      this.leaves.delete(removal.key);
    }
  }

  #show({ key }) {
    this.leaves.delete(key);
    this.screen.unhide(key);
    tabs.postMessage({ show: key });
  }

  /// Asks before files are deleted.
  async askDelete() {
    if (!this.screen.can()("remove")) return;
    const count = this.grid.selectedCount;
    const { all, ids } = this.grid.selection;
    const first = all ? Array.from({ length: Math.min(count, 5) }, (_, i) => this.list.taskAt(i)) : await this.list.read([...ids].slice(0, 5));
    dialog({
      title: t.list.deleteTitle, role: "alertdialog", initial: t.list.keep,
      body: [h("p", null, t.list.deleteText(count)),
        h("ul", { class: "names" }, first.filter(Boolean).map((task) => h("li", null, foreign(nameOf(task))))), count > 5 && h("p", { class: "muted" }, t.list.andMore(count - 5))],
      buttons: [{ label: t.list.keep }, { label: t.list.deleteButton(count), danger: true, action: () => void this.#delete() }],
    });
  }

  async #delete() {
    let removal;
    try {
      removal = await this.#take();
      const tasks = removal.hide.ids ? await this.list.read([...removal.hide.ids].slice(0, 1_000)) : [];
      const names = new Map(tasks.map((task) => [task.id, nameOf(task)]));
      const files = await this.#send(removal, { deleteFile: true });
      message(t.list.removed(removal.count));
      const kept = files.filter(({ fate }) => fate === "kept");
      if (kept.length) alertMessage(t.list.kept(kept.slice(0, 5).map(({ id, reason }) => `${names.get(id) ?? id} (${reason ?? ""})`).join(", ")));
    } catch (error) {
      if (removal) this.#show(removal);
      this.#report(error);
    }
  }

  /// Changes a member of each selected task.
  async update(parameters, ids) {
    try {
      ids ??= await this.screen.selectedIds();
      let changed = 0;
      let problem = null;
      for (let start = 0; start < ids.length; start += 500) {
        const results = await Promise.allSettled(ids.slice(start, start + 500).map((id) => call("task.update", { id, ...(typeof parameters === "function" ? parameters(id) : parameters) })));
        for (const { status, reason } of results) {
          if (status === "fulfilled") changed += 1;
          else problem ??= reason;
        }
      }
      if (problem) this.#report(problem);
      if (changed) message(t.list.changedCount(changed));
    } catch (error) {
      this.#report(error);
    }
  }

  #askRate(one) {
    const input = h("input", { type: "number", min: "0", step: "any", inputmode: "decimal", value: one?.rateLimit ? one.rateLimit / 1000 : null });
    const save = () => void this.update({ rateLimit: Math.round((Number(input.value) || 0) * 1000) });
    form(t.list.rateTitle, field(t.list.rateLabel, input, t.list.rateHint), input, t.list.limit, save);
  }

  #askLink(task) {
    const input = h("input", { type: "url", value: task.url, spellcheck: "false" });
    const save = async () => {
      try {
        await call("task.update", { id: task.id, url: input.value.trim() });
        if (task.state === "failed" || task.state === "cancelled") await call("task.retry", { ids: [task.id] });
      } catch (error) {
        this.#report(error);
        return false;
      }
      message(t.list.changedCount(1));
    };
    form(t.list.linkTitle, field(t.list.linkLabel, input), input, t.list.change, save);
  }

  async #copy(textOf, words) {
    try {
      const texts = (await this.list.read(await this.screen.selectedIds())).map(textOf).filter(Boolean);
      if (texts.length) await copyText(texts.join("\n"));
      message(texts.length ? t.list.copied(texts.length, words) : t.list.nothingToCopy);
    } catch (error) {
      this.#report(error);
    }
  }

  // Queue

  /// Several keep their order: the last one that is set is outermost.
  async moveToEnd(position) {
    if (connectionState() !== "live" || !this.grid.selectedCount) return;
    const ids = this.#inOrder(await this.screen.selectedIds());
    await this.update({ position }, position === "first" ? ids.reverse() : ids);
  }
  #inOrder(ids) {
    return ids.length > 1_000 ? ids : ids.map((id) => [this.list.indexOf(id), id]).sort(([a], [b]) => a - b).map(([, id]) => id);
  }

  async moveBy(step) {
    if (this.list.order !== "queue" || connectionState() !== "live") return;
    const places = (await this.screen.selectedIds()).map((id) => this.list.indexOf(id)).filter((index) => index >= 0).sort((a, b) => a - b);
    if (places.length) await this.moveTo(step < 0 ? Math.max(0, places[0] - 1) : places.at(-1) + 2);
  }

  /// Puts the selected rows before the row of an index: between the positions of its neighbours, which count only among
  /// tasks of one session and priority.
  async moveTo(index) {
    const ids = this.#inOrder(await this.screen.selectedIds());
    const neighbour = (from, step) => {
      for (let i = from; i >= 0 && i < this.list.count; i += step) if (!ids.includes(this.list.idAt(i))) return this.list.taskAt(i);
    };
    const [before, after] = [neighbour(index - 1, -1), neighbour(index, 1)];
    const [own] = await this.list.read(ids.slice(0, 1));
    const isPeer = (task) => task && unfinished.includes(task.state) && task.session === own?.session && task.priority === own.priority;
    if (!isPeer(before)) return isPeer(after) && this.update({ position: "first" }, ids.reverse());
    if (!isPeer(after)) return this.update({ position: "last" }, ids);
    const step = (after.position - before.position) / (ids.length + 1);
    await this.update((id) => ({ position: before.position + step * (ids.indexOf(id) + 1) }), ids);
    this.list.resync();
  }
}

/// A dialog with one field; Enter submits.
function form(title, body, input, label, save) {
  const { element, close } = dialog({ title, body, initial: input, buttons: [{ label: t.cancel }, { label, primary: true, action: save }] });
  input.select?.();
  input.addEventListener("keydown", async (event) => event.key === "Enter" && element.open && (await save()) !== false && close());
}

async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain http from elsewhere has no clipboard.
  const area = h("textarea", null, text);
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
