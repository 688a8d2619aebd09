// What the list shows: the daemon's order of ids, with holes where nothing was read yet, and the rows of those in sight.
import { call, on } from "./api.js";
import { nameOf } from "./text.js";

const pageSize = 100;
const keptRows = 6_000;
export const sortable = 5_000;

const isByID = (order) => order === "added" || order === "-added";
const daemonOrders = { "-added": "newest", added: "oldest", queue: "queue", finished: "finished", activity: "activity" };

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const comparisons = {
  name: (a, b) => collator.compare(nameOf(a), nameOf(b)),
  size: (a, b) => a.bytesExpected - b.bytesExpected,
  progress: (a, b) => progressOf(a) - progressOf(b),
  rate: (a, b) => a.rate - b.rate,
  eta: (a, b) => (a.eta ?? Infinity) - (b.eta ?? Infinity) || 0,
};

/// The part that is done, from 0 to 1; -1 if unknown.
export function progressOf(task) {
  if (task.state === "completed") return 1;
  if (task.state === "failed" && !(task.bytesReceived > 0)) return -1;
  const [done, all] = task.bytesToSend > 0 ? [task.bytesSent, task.bytesToSend] : [task.bytesReceived, task.bytesExpected];
  return all > 0 ? Math.min(1, done / all) : all === 0 ? 0 : -1;
}

const eventStates = {
  "task.added": null, "task.started": "running", "task.waiting": "waiting", "task.decision": "waiting", "task.paused": "paused",
  "task.queued": "queued", "task.completed": "completed", "task.failed": "failed", "task.cancelled": "cancelled",
};

/// Rows that were taken off and can still come back, in all tabs. A hide is `{ids}` or a rule `{key, states, session, upTo, except}`.
export const hides = new Map();

function isHidden(id, task) {
  for (const hide of hides.values()) {
    if (hide.ids?.has(id)) return true;
    if (!hide.ids && task && id <= hide.upTo && !hide.except.has(id) && (!hide.states || hide.states.includes(task.state))
      && (!hide.session || hide.session === task.session)) return true;
  }
  return false;
}

export class TaskList {
  /// `view` hears `before()` and `after()` around every change of places, `changed()` when rows changed,
  /// `forget(id)` when one is gone, and `busy(1 or -1)`.
  constructor(view) {
    this.view = view;
    this.reads = 0;
    this.close();
    on("log", (event) => this.#hear(event));
    on("progress", (event) => this.#progress(event));
    on("resync", () => this.resync());
  }

  close() {
    this.generation = (this.generation ?? 0) + 1;
    this.ids = []; // place in the daemon's order → id
    this.known = new Set(); // the ids in it
    this.tasks = new Map(); // id → Task
    this.sight = new Set();
    this.dirty = new Set();
    this.overtaken = new Set(); // ids of events that came while something was read: what was read may be older
    this.shown = null; // memory of #hidden
    this.changes = 0;
    this.isLoading = false;
  }

  // Places. A view index counts the rows that are not hidden.

  get count() {
    return this.ids.length - this.#hidden.length;
  }
  idAt(index) {
    return this.ids[this.#place(index)];
  }
  taskAt(index) {
    return this.tasks.get(this.idAt(index));
  }
  indexOf(id) {
    if (!this.known.has(id)) return -1;
    const place = this.ids.indexOf(id);
    const before = lowerBound(this.#hidden, (each) => each >= place);
    return this.#hidden[before] === place ? -1 : place - before;
  }
  get #hidden() {
    if (hides.size === 0) return [];
    if (!this.shown) {
      const hasRule = [...hides.values()].some((hide) => hide.key === this.key);
      this.shown = [];
      for (let place = 0; place < this.ids.length; place++) {
        const id = this.ids[place];
        if (id === undefined ? hasRule : isHidden(id, this.tasks.get(id) ?? (hasRule && { state: this.filter.states?.[0], session: this.filter.session }))) this.shown.push(place);
      }
    }
    return this.shown;
  }
  #place(index) {
    const hidden = this.#hidden;
    return index + lowerBound(hidden, (each, k) => each - k > index);
  }
  /// After a change of `hides`.
  rehide() {
    this.#change(() => {});
  }
  #change(body) {
    this.view.before();
    body();
    this.shown = null;
    this.changes += 1;
    this.view.after();
  }

  // Reading

  /// Shows other tasks. `filter` has members of task.list; resolves when the first rows are there.
  async open(filter, order) {
    this.close();
    Object.assign(this, { filter, order, key: JSON.stringify([filter, order]) });
    const generation = this.generation;
    const isStale = () => generation !== this.generation;
    this.isLoading = true;
    try {
      await this.#busy(async () => {
        if (this.isSorted || filter.match) return this.#loadAll(isStale, this.isSorted);
        const page = await this.#read({ limit: pageSize });
        if (!isStale()) this.#start(page);
      });
    } finally {
      if (!isStale()) this.isLoading = false;
    }
  }

  #read(parameters, order = this.order) {
    return this.#call({ ...this.filter, order: daemonOrders[order] ?? "newest", ...parameters });
  }

  async #call(parameters) {
    this.reads += 1;
    try {
      return await call("task.list", parameters);
    } finally {
      this.reads -= 1;
      if (this.reads === 0) {
        this.overtaken.forEach((id) => this.#mark(id));
        this.overtaken.clear();
      }
    }
  }

  #start(page) {
    this.#change(() => {
      this.ids = new Array(page.total ?? page.tasks.length);
      this.known = new Set();
      this.#put(0, page.tasks);
    });
  }

  #put(place, tasks) {
    for (const task of tasks) {
      this.ids[place++] = task.id;
      this.known.add(task.id);
      this.tasks.set(task.id, task);
    }
    if (this.tasks.size > keptRows && !this.isSorted) {
      for (const id of this.tasks.keys()) {
        if (this.tasks.size <= keptRows - 2_000) break;
        if (!this.sight.has(id)) this.tasks.delete(id);
      }
    }
  }

  get isSorted() {
    return this.order.replace("-", "") in comparisons;
  }

  /// Reads page by page what is sorted here or searched by the daemon. Shows what was found so far.
  async #loadAll(isStale, sorts) {
    this.isLoading = true;
    let found = [];
    let isFirst = true;
    for (let cursor; ;) {
      const page = await this.#read({ limit: 1_000, cursor });
      if (isStale()) return;
      if (sorts && Math.max(page.total ?? 0, found.length + page.tasks.length) > sortable) {
        return this.open(this.filter, "-added"); // too many: the daemon's order
      }
      found = found.concat(page.tasks);
      cursor = page.nextCursor;
      if (!sorts && (found.length || !cursor)) {
        if (isFirst) this.#start({ tasks: found });
        else this.#change(() => this.#put(this.ids.length, found));
        isFirst = false;
        found = [];
      }
      if (!cursor) break;
    }
    this.isLoading = false;
    if (sorts) {
      this.tasks = new Map();
      this.#start({ tasks: found.sort(this.#compare) });
    } else this.view.after();
  }

  get #compare() {
    const compare = comparisons[this.order.replace("-", "")];
    const sign = this.order.startsWith("-") ? -1 : 1;
    return (a, b) => sign * compare(a, b) || b.id - a.id;
  }

  /// Puts rows that changed since into their places, in an order that is made here.
  sort() {
    if (!this.isSorted || this.isLoading) return;
    this.#change(() => this.ids.sort((a, b) => this.#compare(this.tasks.get(a), this.tasks.get(b))));
  }

  /// Says which rows are in sight, and reads those that are missing. While one read is under way, only the newest wish is kept.
  async need(first, last) {
    this.sight = new Set();
    for (let index = first; index <= last; index++) {
      const id = this.idAt(index);
      if (id !== undefined) this.sight.add(id);
    }
    this.wish = [first, last];
    if (this.isReading || !this.#missing().length) return;
    this.isReading = true;
    await this.#busy(async () => {
      for (let missing, tries = 0; (missing = this.#missing()).length && tries < 20; tries++) await this.#fill(missing);
    }).catch(() => {});
    this.isReading = false;
  }

  #missing() {
    const places = [];
    for (let index = this.wish[0]; index <= Math.min(this.wish[1], this.count - 1); index++) {
      const place = this.#place(index);
      if (!this.tasks.has(this.ids[place])) places.push(place);
    }
    return places;
  }

  async #fill(places) {
    const { generation, changes } = this;
    const evicted = places.map((place) => this.ids[place]).filter((id) => id !== undefined);
    const offsets = [...new Set(places.filter((place) => this.ids[place] === undefined).map((place) => place - (place % pageSize)))];
    const [rows, ...pages] = await Promise.all([
      evicted.length ? this.#call({ ids: evicted, limit: 1_000, ...(this.filter.owner && { owner: this.filter.owner }) }) : null,
      ...offsets.map((offset) => this.#read({ offset, limit: pageSize })),
    ]);
    if (generation !== this.generation) return;
    for (const task of rows?.tasks ?? []) this.tasks.set(task.id, task);
    for (const id of evicted) if (!this.tasks.has(id)) this.#remove(id);
    if (changes !== this.changes && pages.length) return; // places moved meanwhile: ask again
    const total = pages[0]?.total;
    if (total !== undefined && total !== this.ids.length) return this.#settle(offsets[0], pages[0]);
    this.#change(() => pages.forEach((page, i) => this.#put(offsets[i], page.tasks)));
  }

  /// Takes a page as the truth about all places; what was known of others is forgotten.
  #settle(offset, page, top = []) {
    this.#change(() => {
      this.ids = new Array(page.total);
      this.known = new Set();
      this.#put(0, top);
      this.#put(offset, page.tasks);
    });
  }

  /// Reads the places anew, quietly: what is in sight stays where it is. At most once a second.
  resync() {
    this.resyncTimer ??= setTimeout(async () => {
      const { generation } = this;
      await this.#reread().catch(() => {});
      this.resyncTimer = null;
      if (generation !== this.generation) return;
      this.isLoading = false;
      this.need(...this.wish ?? [0, 0]);
    }, 1_000 - Math.min(900, Date.now() - (this.resynced ?? 0)));
  }

  async #reread() {
    this.resynced = Date.now();
    const { generation } = this;
    if (!this.filter) return;
    const isStale = () => generation !== this.generation;
    if (this.isSorted || this.filter.match) return this.#loadAll(isStale, this.isSorted);
    const place = this.count ? this.#place(Math.max(0, this.wish?.[0] ?? 0)) : 0;
    const offset = place - (place % pageSize);
    const [page, top] = await Promise.all([this.#read({ offset, limit: pageSize * 2 }), offset && this.#read({ limit: 1 })]);
    if (!isStale()) this.#settle(Math.min(offset, page.total), page, top?.tasks);
  }

  /// All ids from one view index to another; reads those that nobody has seen.
  async idsBetween(first, last) {
    await this.#busy(async () => {
      for (let index = first; index <= last;) {
        const place = this.#place(index);
        if (this.ids[place] !== undefined) index += 1;
        else {
          const page = await this.#read({ offset: place, limit: 1_000 });
          if (!page.tasks.length) break;
          this.#put(place, page.tasks);
          this.shown = null;
        }
      }
    });
    const ids = [];
    for (let index = first; index <= last; index++) if (this.idAt(index) !== undefined) ids.push(this.idAt(index));
    return ids;
  }

  /// The tasks of some ids, read if need be.
  async read(ids) {
    const missing = ids.filter((id) => !this.tasks.has(id));
    const found = new Map();
    for (let start = 0; start < missing.length; start += 500) {
      const page = await call("task.list", { ids: missing.slice(start, start + 500), limit: 1_000, ...(this.filter.owner && { owner: this.filter.owner }) });
      for (const task of page.tasks) found.set(task.id, task);
    }
    return ids.map((id) => this.tasks.get(id) ?? found.get(id)).filter(Boolean);
  }

  async #busy(body) {
    this.view.busy(1);
    try {
      return await body();
    } finally {
      this.view.busy(-1);
    }
  }

  // Changes

  #progress(event) {
    const task = this.tasks.get(event.task);
    if (!task) return;
    const { type, time, session, owner, task: id, subscription, ...members } = event;
    Object.assign(task, { eta: undefined }, members, task.state === "queued" && { state: "running" });
    if (this.sight.has(id)) this.view.changed();
  }

  #hear({ type, task: id, session }) {
    if (!this.filter || !id || !type.startsWith("task.")) return;
    if (this.filter.session && session !== this.filter.session) return;
    if (this.reads > 0) this.overtaken.add(id);
    if (type === "task.removed") return this.#queueRemoval(id);
    const state = eventStates[type];
    const { states } = this.filter;
    const isKnown = this.known.has(id);
    if (state && states && !states.includes(state)) {
      if (isKnown) this.#queueRemoval(id);
      else if (this.hasHoles) this.resync();
      return;
    }
    if (isKnown ? this.sight.has(id) || this.isSorted || this.filter.match : type === "task.added" || states || this.filter.match) this.#mark(id);
    else if (isKnown) this.tasks.delete(id);
    if (state !== undefined && !isByID(this.order) && !this.isSorted) this.resync();
  }

  get hasHoles() {
    return this.known.size < this.ids.length;
  }

  #queueRemoval(id) {
    this.dirty.delete(id);
    (this.removals ??= new Set()).add(id);
    this.#wait();
  }
  #mark(id) {
    this.dirty.add(id);
    this.#wait();
  }
  #wait() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.#flush().catch(() => this.resync());
    }, 250);
  }

  async #flush() {
    const { generation } = this;
    if (this.isLoading || this.isFlushing) return this.#wait(); // what is being read may be older
    const ids = [...this.dirty];
    const removed = [...(this.removals ?? [])];
    this.dirty.clear();
    this.removals = null;
    if (removed.length + ids.length > 1_000) return this.resync();
    if (removed.length) this.#change(() => removed.forEach((id) => this.#take(id)));
    if (!ids.length) return;
    this.isFlushing = true;
    const { tasks } = await this.#call({ ...this.filter, ids, limit: 1_000 }).finally(() => (this.isFlushing = false));
    if (generation !== this.generation) return;
    const found = new Set(tasks.map((task) => task.id));
    const gone = ids.filter((id) => !found.has(id) && this.known.has(id));
    const added = tasks.filter((task) => !this.known.has(task.id));
    for (const task of tasks) if (this.known.has(task.id)) this.tasks.set(task.id, task);
    if (gone.length || added.length) {
      this.#change(() => {
        gone.forEach((id) => this.#take(id));
        added.sort((a, b) => a.id - b.id).forEach((task) => this.#insert(task));
      });
    }
    this.view.changed();
  }

  #remove(id) {
    this.#change(() => this.#take(id));
  }

  /// Takes an id out of the order. If it stands in a hole, the order of ids says in which.
  #take(id) {
    this.tasks.delete(id);
    this.view.forget(id);
    if (this.known.delete(id)) return this.ids.splice(this.ids.indexOf(id), 1);
    if (!this.hasHoles) return;
    if (!isByID(this.order) || this.filter.states) return this.resync();
    const next = this.#nextKnown(id);
    if (next > 0 && this.ids[next - 1] === undefined) this.ids.splice(next - 1, 1);
  }

  #insert(task) {
    if (this.isSorted) {
      this.ids.splice(lowerBound(this.ids, (id) => this.#compare(this.tasks.get(id), task) > 0), 0, task.id);
    } else if (isByID(this.order)) {
      const next = this.#nextKnown(task.id);
      if (next > 0 && this.ids[next - 1] === undefined) return this.resync(); // it may be counted already
      this.ids.splice(next, 0, task.id);
    } else return this.resync();
    this.known.add(task.id);
    this.tasks.set(task.id, task);
  }

  /// The place of the first known id that comes after this one.
  #nextKnown(id) {
    const comes = this.order === "added" ? (each) => each > id : (each) => each < id;
    const place = this.ids.findIndex((each) => each !== undefined && comes(each));
    return place < 0 ? this.ids.length : place;
  }
}

/// The first index for which `test` holds, in a list that is ordered by it.
function lowerBound(list, test) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(list[middle], middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
