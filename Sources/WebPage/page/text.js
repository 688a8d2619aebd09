// Every English text of the page, and how it writes numbers, sizes and times.

export const t = {
  title: "Transfers",
  close: "Close",
  cancel: "Cancel",
  save: "Save",
  menu: { title: "Actions" },
  columns: {
    name: "Name", status: "Status", progress: "Progress", size: "Size", rate: "Rate", eta: "Time left", added: "Added",
  },
  filters: {
    all: "All", active: "Active", queued: "Queued", waiting: "Waiting", paused: "Paused", done: "Done", failed: "Failed",
    cancelled: "Cancelled",
  },
  orders: {
    "-added": "Newest first", added: "Oldest first", queue: "Queue", finished: "Finished", activity: "Activity",
    name: "Name, A to Z", "-name": "Name, Z to A", size: "Size, smallest first", "-size": "Size, largest first",
    progress: "Progress, least first", "-progress": "Progress, most first", rate: "Rate, slowest first",
    "-rate": "Rate, fastest first", eta: "Time left, shortest first", "-eta": "Time left, longest first",
  },
  list: {
    add: "Add", pause: "Pause", resume: "Resume", retry: "Retry", remove: "Remove", more: "More", details: "Details",
    top: "Move to top", bottom: "Move to bottom", up: "Move up", down: "Move down",
    priority: "Priority", limitRate: "Limit rate…", changeLink: "Change link…", copyLinks: "Copy links", copyPath: "Copy path",
    cancel: "Cancel", deleteFiles: "Delete files…", columns: "Columns", order: "Order", clear: "Clear selection",
    selectAll: "Select all", left: (duration) => `${duration} left`,
    keys: { add: "N", pause: "P", resume: "R", retry: "T", remove: "Delete" },
    priorities: { high: "High", normal: "Normal", low: "Low" },
    empty: "Nothing here yet. Paste links anywhere, or press N.",
    emptyFilter: "No transfer is in this list.",
    emptySearch: "No transfer matches this search.",
    selected: (n) => `${format.count(n)} selected`,
    total: (n) => format.plural(n, { one: "transfer", other: "transfers" }),
    found: (n, all) => `${format.count(n)} of ${format.count(all)}`,
    searching: (n, all) => `${format.count(n)} of ${format.count(all)} so far`,
    tooManyToSort: (n) => `Sorts up to ${format.count(n)} transfers; narrow the list first.`,
    progressOf: (name) => `Progress of ${name}`,
    session: (name) => `Session ${name}`, owner: "Owner", anyOwner: "All users", mine: "Mine", leaveSession: "Show all sessions",
    removed: (n) => `Removed ${format.count(n)}`,
    done: (n) => `${format.count(n)} done`, failed: (n) => `${format.count(n)} failed`,
    copied: (n, what) => `Copied ${format.plural(n, what)}`,
    links: { one: "link", other: "links" }, paths: { one: "path", other: "paths" },
    nothingToCopy: "There is nothing to copy.",
    changed: { pause: "Paused", resume: "Resumed", retry: "Retried", cancel: "Cancelled", remove: "Removed" },
    skipped: {
      pause: "had ended", resume: "did not pause", retry: "had nothing to retry", cancel: "had ended", remove: "could not be removed",
    },
    maybe: "The connection broke. The change may not have happened.",
    rateTitle: "Limit rate", rateLabel: "Rate in KB/s", rateHint: "0 or empty: no limit.",
    linkTitle: "Change link", linkLabel: "Link", change: "Change", limit: "Limit",
    badLink: "This is not a link that dld can fetch.",
    deleteTitle: "Delete files", keep: "Keep",
    deleteButton: (n) => `Delete ${format.plural(n, { one: "file", other: "files" })}`,
    deleteText: (n) => `${format.plural(n, { one: "transfer and its file are", other: "transfers and their files are" })} deleted. This cannot be undone.`,
    andMore: (n) => `and ${format.count(n)} more`,
    kept: (names) => `Kept: ${names}`,
    moved: (n) => `Moved ${format.count(n)}`, changedCount: (n) => `Changed ${format.count(n)}`,
    gone: (id) => `There is no transfer ${id} any more.`,
  },
  page: {
    away: "dld does not answer. Trying again…", lost: "The page's server does not answer. Trying again…",
    signedOut: "You are signed out. Run “dlctl web” in a terminal, and open the link that it prints.",
    live: "live", connecting: "connecting", awayShort: "away", signedOutShort: "signed out",
    active: (n) => `${format.count(n)} active`,
    decisions: "Decisions", sessions: "Sessions", log: "Log", limits: "Limits", settings: "Settings", keys: "Keyboard shortcuts",
    asking: (n) => format.plural(n, { one: "decision", other: "decisions" }),
    failedToLoad: (what) => `This part of the page could not be loaded: ${what}`,
    notifications: { done: "Done", failed: "Failed", asks: "dld asks" },
    damage: (text) => `The daemon's store is damaged: ${text}`,
  },
  columnsDialog: { title: "Columns", hint: "They are remembered for each filter.", done: "Done", up: (n) => `Move ${n} up`, down: (n) => `Move ${n} down` },
  settings: {
    title: "Settings", done: "Done", theme: "Theme", themes: { auto: "As the system", light: "Light", dark: "Dark" },
    density: "Rows", densities: { auto: "Normal", compact: "Compact" }, units: "Units",
    unitWords: { 1000: "kB, MB, GB (1000)", 1024: "KiB, MiB, GiB (1024)" }, time: "Times", times: { local: "Local", utc: "UTC" },
    keys: "Keyboard shortcuts of one letter", notifications: "Notifications",
    notify: { done: "When a transfer is done", failed: "When a transfer has failed", asks: "When a transfer asks" },
    denied: "The browser does not allow notifications for this page.",
    signOut: "Sign out", signOutHint: "Ends this session in every tab.",
  },
  keys: {
    title: "Keyboard shortcuts",
    off: "Shortcuts of one letter are switched off in Settings.",
    list: [
      ["N", "Add"], ["/", "Search; Escape empties it"], ["Ctrl+V", "Add the links of the clipboard"], ["P", "Pause"], ["R", "Resume"],
      ["T", "Retry"], ["Delete", "Remove"], ["Shift+Delete", "Delete files"], ["Ctrl+Z", "Undo"],
      ["↑ ↓ Home End PgUp PgDn", "Walk and select; with Shift extend, with Ctrl only focus"], ["Space", "Select or deselect"],
      ["Ctrl+A", "Select the whole list"], ["Enter", "Details"], ["Escape", "Close, then drop the selection"],
      ["Alt+↑ Alt+↓", "Move in the queue; with Ctrl to the end"], ["1 … 8", "Filters"], ["Shift+F10", "Menu"], ["?", "This list"],
    ],
  },
  unlimited: "unlimited",
  conflicts: { rename: "Keep both files", overwrite: "Replace the file", fail: "Fail" },
  fields: { noAmount: "Write an amount such as 500 kB or 2 MB.", rateHint: "A second; for example 500 kB or 2 MB. Empty: unlimited." },
  add: {
    title: "Add transfers", links: "Links", linksHint: "One a line. [1-10] and {a,b} stand for several, as in curl.",
    metalink: "Choose Metalink", metalinkFile: "Metalink file", files: "Files", unknownSize: "unknown size",
    folder: "Save in", folderHint: "Empty: the folder of the session.", lastFolders: "Last folders", name: "Name", paused: "Start paused",
    submit: (n) => (n > 0 ? `Add ${format.count(n)}` : "Add"), progress: (n, all) => `Adding ${format.count(n)} of ${format.count(all)}`,
    badLine: (line, problem) => `Line ${line}: ${problem}`, moreBad: (n) => `And ${format.plural(n, { one: "more bad line", other: "more bad lines" })}.`,
    drop: (n) => `Drop ${format.plural(n, { one: "bad line", other: "bad lines" })}`,
    added: (n) => `Added ${format.count(n)}.`, task: (id) => `transfer ${id}`, duplicate: "is not done yet:",
    duplicates: (n) => `${format.plural(n, { one: "of them is also", other: "of them are also" })} in a transfer that is not done yet:`,
    badMetalink: (name, problem) => `${name}: ${problem}`,
    noLink: "This is no link; write it as https://host/path.", unknownScheme: (scheme) => `dld does not speak “${scheme}”.`,
    mustBeEncoded: (c) => `It has ${c === " " ? "a space" : `“${c}”`}, which must be percent-encoded.`, noHost: "It names no host.",
    tooMany: (n, most) => `It stands for ${format.count(n)} links; ${format.count(most)} are the most.`, unopened: (c) => `Nothing opens this “${c}”.`,
    unclosed: (c) => `Nothing closes this “${c}”.`, badBraces: "Nothing closes this “{”, or a brace or bracket in it needs a backslash.",
    emptyBraces: "“{}” names nothing.", noRange: (range) => `“${range}” is no range; write [1-10], [01-20], [1-10:2], [a-z] or [a-z:3].`,
    backwards: (range) => `“${range}” runs backwards.`, badStep: (range) => `The step of “${range}” must be at least 1 and within the range.`,
    more: "More options", session: "Session", sharedSession: "shared", priority: "Priority", normal: "Normal", high: "High", low: "Low",
    conflict: "If the name is taken", sessionDecides: "As the session says", begin: "Not before", rate: "Rate limit", connections: "Connections",
    username: "User name", password: "Password", proxy: "Proxy", tags: "Tags", checksum: "Digest", checksumHint: "In hexadecimal, perhaps as sha-256:….",
    badChecksum: "This is no digest in hexadecimal.", headers: "Header fields", headersHint: "One a line, as Referer: https://host/.", badHeader: "Write each field as Name: value.",
  },
  reasons: {
    retry: "tried again", network: "no network", schedule: "not its time", disk: "the disk", authentication: "needs a password", decision: "asks",
    metered: "metered network", power: "on battery", portal: "login page", slots: "all slots taken", user: "user's slots taken",
    session: "session's slots taken", hostSlots: "host's slots taken", host: "the host does not answer", sessionPaused: "session paused",
  },
  details: {
    title: "Details", tabs: { overview: "Overview", timing: "Timing", segments: "Segments", log: "Log" }, progress: "Progress",
    gone: (id) => `There is no transfer ${id} any more.`, part: (part, whole, percent) => `${part} of ${whole} (${percent} %)`, left: (time) => `${time} left`,
    why: "Why", lastError: "Last error", link: "Link", from: "Came from", mirrors: "Mirrors", file: "File", folder: "Folder", source: "Source", digest: "Digest",
    verified: "verified", notVerified: "not verified", session: "Session", priority: "Priority", priorities: { low: "Low", normal: "Normal", high: "High", 0.25: "Low", 0.5: "Normal", 0.75: "High" },
    rateLimit: "Rate limit", added: "Added", started: "Started", finished: "Finished", next: "Next try", begins: "Not before", deadline: "Deadline",
    attempts: "Attempts", description: "Description", tags: "Tags",
    queued: {
      slots: "It starts when another transfer ends. “Limits” lets more run at once.", user: "It starts when another transfer of its user ends.",
      session: "It starts when another transfer of its session ends.", hostSlots: "It starts when another transfer of its host ends. “Limits” lets more run at once.",
      host: "The host is tried again by itself.", sessionPaused: "Its session is paused.",
    },
    actions: { retry: "Retry", resume: "Resume", resumeSession: "Resume session", changeLink: "Change link…", saveElsewhere: "Save elsewhere…", answer: "Answer…", signIn: "Answer…" },
    saveTitle: "Save elsewhere", signInTitle: "Sign in", saveAndRetry: "Save and retry", changed: "Changed.", notChanged: "Its state does not allow that any more.",
    notRun: "It has not run yet.", noneEnded: "None of its requests has ended yet.", noTiming: "It made no request over the network.",
    steps: { queue: "Queue", lookup: "Lookup", connect: "Connect", tls: "TLS", request: "Request", wait: "Wait", body: "Body" },
    waterfall: (n, total) => `${format.plural(n, { one: "request", other: "requests" })} in ${total}`,
    dropped: (n) => `${format.plural(n, { one: "older request is", other: "older requests are" })} not kept.`,
    request: "Request", start: "Start", size: "Size", server: "Server", reused: "same connection",
    parts: (n, all) => `${format.count(n)} of ${format.plural(all, { one: "part", other: "parts" })}`, partNumber: "Part", received: "Received", complete: "complete", active: "now",
  },
  log: {
    title: "Log", events: "Events", filter: "Type", all: "All", earlier: "Show earlier", empty: "No events yet.", attempt: (n) => `attempt ${format.count(n)}`,
    from: (bytes) => `from ${bytes}`, took: (time) => `in ${time}`, verified: "verified", next: (time) => `next try ${time}`, reset: "as the file says",
    kinds: { challenge: "credentials", redirect: "redirect", response: "answer", begin: "begin", cache: "cache" },
    types: {
      "task.added": "Added", "task.started": "Started", "task.redirected": "Redirected", "task.response": "Answered", "task.resumed": "Resumed",
      "task.restarted": "Restarted", "task.waiting": "Waiting", "task.decision": "Asks", "task.paused": "Paused", "task.queued": "Queued",
      "task.updated": "Changed", "task.completed": "Done", "task.failed": "Failed", "task.cancelled": "Cancelled", "task.removed": "Removed",
      "session.opened": "Session opened", "session.paused": "Session paused", "session.resumed": "Session resumed", "session.drained": "Session empty",
      "session.invalidated": "Session ended", "settings.changed": "Settings changed",
    },
  },
  decisions: {
    title: "Decisions", none: "No transfer asks anything.", answered: "Answered.", gone: "This question was answered or closed meanwhile.", needed: "Fill this in first.",
    waits: "It waits for a decision.", redirects: (status) => `The server redirects${status ? ` (${status})` : ""} to`, begins: "Its time has come. It is about to request",
    answers: "The server answers", wanted: ". Is that wanted?", kept: ". Is that to be kept in the cache?", wantsCertificate: " wants a client certificate from you.",
    untrusted: "This certificate is not trusted:", keyChanged: " shows another key than the one that you trusted", key: "Its key is", trustOnly: "Trust it only if its operator tells you the same.",
    proxy: "The proxy ", wantsPassword: " wants a user name and a password", realm: "; it calls itself", refused: (n) => `It has refused ${format.plural(n, { one: "credential", other: "credentials" })}`,
    lastUser: ", the last one of user", methods: { httpBasic: "Basic", httpDigest: "Digest", ntlm: "NTLM", negotiate: "Kerberos" }, else: (action) => `Without an answer, dld takes “${action}” at`,
    username: "User name", password: "Password", certificate: "Certificate (path of a PEM file)", certificateKey: "Key (path, if in another file)", remember: "Remember for",
    persistence: { none: "this transfer", session: "this session", permanent: "all transfers" }, otherLink: "Other link", saveAs: "Save as (path)",
    actions: {
      useCredential: "Sign in", performDefaultHandling: "Go on without asking", rejectProtectionSpace: "Go on without credentials", distrust: "Do not trust", trust: "Trust",
      cancel: "Cancel transfer", follow: "Follow", followWith: "Follow to other link", refuse: "Do not follow", allow: "Allow", becomeDownload: "Save as file",
      continue: "Begin", newRequest: "Use other link", store: "Store", memoryOnly: "Keep in memory", doNotStore: "Do not store", wait: "Wait", reject: "Reject",
    },
  },
  sessions: {
    title: "Sessions", add: "New session", newTitle: "New session", name: "Name", create: "Create", settings: "Settings", transfers: "Transfers", noTasks: "no transfers",
    hasSchedule: "has a schedule", isPaused: "Paused", paused: (name) => `Paused ${name}`, resumed: (name) => `Resumed ${name}`, gone: "There is no such session any more.", saved: "Saved.",
    states: { queued: "queued", running: "active", waiting: "waiting", paused: "paused", completed: "done", failed: "failed", cancelled: "cancelled" },
    stateWords: { finishing: "takes no more transfers", invalidated: "ended" }, general: "Transfers of this session", directory: "Folder", default: "As dld does by itself",
    maximumConcurrentTasks: "Transfers at once", httpMaximumConnectionsPerHost: "Transfers at once on one host", connectionsPerDownload: "Connections of a download",
    attempts: "Tries in a row", attemptsHint: "0 or empty: without end.", networks: "Networks", allowsExpensiveNetworkAccess: "Run on metered networks",
    allowsCellularAccess: "Run on cellular networks", allowsConstrainedNetworkAccess: "Run in low data mode", asks: "Ask before",
    asksAbout: { challenge: "using credentials or trusting a server", redirect: "following a redirect", response: "taking an answer", begin: "beginning" },
  },
  schedule: {
    title: "Schedule", uses: "Run only at these times", hint: "Local times. Paint with the pointer, or walk with the arrows and press Space; with Shift, arrows paint.",
    brush: "These limits hold in the hours painted next.", always: "Paint the whole week", clear: "Clear",
    nothing: "Paint the hours in which it may run, or untick the box.", days: ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"], short: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
    kinds: { never: "does not run", partly: "runs for a part of the hour", limited: "runs, limited", runs: "runs" },
  },
  limits: {
    title: "Limits", downloadRateLimit: "Download limit", uploadRateLimit: "Upload limit", maximumConcurrentTasks: "Transfers at once", maximumConcurrentTasksPerHost: "On one host",
    maximumConcurrentTasksPerUser: "Of one user (0: no limit)", saved: "Limits saved.", origin: "A flag or a variable sets it when the daemon starts.",
  },
  graph: { name: "Rates", text: (down, up) => `Download ${down}, upload ${up}, over the last 5 minutes` },
};

const states = {
  queued: "Queued", waiting: "Waiting", paused: "Paused", completed: "Done", failed: "Failed", cancelled: "Cancelled",
};
const phases = {
  connecting: "Connecting", authenticating: "Connecting", deciding: "Connecting", verifying: "Verifying", decoding: "Finishing",
  finishing: "Finishing",
};
const waits = {
  network: "no network", schedule: "not its time yet", disk: "no space or no disk", authentication: "a password is needed",
  decision: "a question is open", metered: "the network is metered", power: "on battery or metered", portal: "the network wants a login",
  slots: "all slots are taken", user: "all slots are taken", session: "the session's slots are taken",
  hostSlots: "the host's slots are taken", host: "the host does not answer", sessionPaused: "its session is paused",
};

/// The word for what a task does, one of twelve.
export function statusWord(task) {
  if (task.state === "waiting" && ["decision", "authentication"].includes(task.reason)) return "Asks";
  if (task.state !== "running") return states[task.state] ?? task.state;
  return phases[task.phase] ?? (task.kind === "upload" ? "Uploading" : "Downloading");
}

/// Why it does that, in a few words; empty if the word says enough.
export function statusReason(task, now = Date.now()) {
  if (task.state === "failed") return errorWords(task.error);
  if (task.state === "queued") return waits[task.reason] ?? "";
  if (task.state !== "waiting") return "";
  const left = task.nextAttemptAt ? (Date.parse(task.nextAttemptAt) - now) / 1000 : 0;
  if (task.reason === "schedule" && left > 0) return `begins ${format.time(task.nextAttemptAt)}`;
  if (task.reason !== "retry") return waits[task.reason] ?? "";
  return left > 0 ? `retry in ${format.duration(left)}` : "retry";
}

const errors = {
  "request.bad_url": "the link is malformed", "permission.denied": "not allowed", "destination.exists": "a file has that name already",
  "destination.not_writable": "the folder is not writable", "destination.bad_path": "not a usable path",
  "source.unreadable": "the file cannot be read", "source.changed": "the file changed meanwhile", "disk.full": "the disk is full",
  "disk.quota": "the quota is used up", "disk.io": "the disk failed or is not mounted", "network.dns": "the host's name does not resolve",
  "network.connect": "the host does not accept the connection", "network.lost": "the connection broke",
  "network.timeout": "the server was silent for too long", "tls.untrusted": "the certificate is not trusted",
  "tls.failed": "no encrypted connection", "http.redirect_limit": "too many redirects", "http.protocol": "the server's answer is invalid",
  "auth.required": "a user name and password are needed", "auth.failed": "the credentials could not be used",
  "resume.validator_changed": "the server has another version", "integrity.checksum": "the bytes do not match the digest",
  "integrity.length": "the length is wrong", "deadline.exceeded": "its time was up", "policy.plaintext_refused": "unencrypted transfers are forbidden",
  "policy.conditions_refused": "not on this network", "cache.miss": "nothing is stored", "helper.failed": "the helper failed",
  "helper.protocol": "the helper is defective", "limit.reached": "a limit is reached", "daemon.shutting_down": "the daemon is stopping",
};

/// A protocol Error in a few words.
export function errorWords(error) {
  if (!error) return "";
  if (error.code === "http.status" && error.details?.status) return `the server answered ${error.details.status}`;
  return errors[error.code] ?? error.message ?? error.code;
}

const retry = (text) => ({ text, action: "retry" });
const relink = (text) => ({ text, action: "changeLink" });
const elsewhere = (text) => ({ text, action: "saveElsewhere" });
const only = (text) => ({ text, action: null });
const advices = {
  "request.bad_url": relink("Correct the link, and try again."),
  "permission.denied": elsewhere("Choose a folder that this user may read and write, and try again."),
  "destination.exists": elsewhere("Move the existing file away, or save elsewhere."),
  "destination.not_writable": elsewhere("Make the folder writable, or choose another."),
  "destination.bad_path": elsewhere("Choose another file name, and try again."),
  "source.unreadable": retry("Check the local file, and try again."),
  "source.changed": only("Check the file. To send it as it is now, run dlctl retry with --source-changed."),
  "disk.full": elsewhere("Free some space. The transfer then resumes by itself. Or save elsewhere."),
  "disk.quota": elsewhere("Free some of your quota. The transfer then resumes by itself. Or save elsewhere."),
  "disk.io": elsewhere("Check that the disk is mounted and healthy. The transfer then resumes by itself."),
  "network.dns": relink("Check the name server. If the host's name is wrong, correct the link."),
  "network.connect": retry("Try again."), "network.lost": retry("Try again."), "network.timeout": retry("Try again."),
  "tls.untrusted": only("Find out why before you trust this server. To trust its authority, run dlctl update with --ca-file."),
  "tls.failed": retry("Check the server's TLS versions and the certificate options, and try again."),
  "http.status": relink("Check the link. If it is wrong or has expired, change it."),
  "http.redirect_limit": relink("The server redirects in a circle. Use another link if there is one."),
  "http.protocol": relink("The server's answer is invalid. Use another link if there is one."),
  "auth.required": { text: "Give a user name and a password, and try again.", action: "signIn" },
  "auth.failed": { text: "Check user name and password, and give them again.", action: "signIn" },
  "resume.validator_changed": only("Nothing to do. The file is fetched again from the beginning."),
  "integrity.checksum": retry("Check the expected digest. If it is right, the server's file is damaged or forged."),
  "integrity.length": relink("Ask the server's operator, or use another link."),
  "deadline.exceeded": retry("To give it the same time again, try again."),
  "policy.plaintext_refused": relink("Use an https link, or allow plain http in the session."),
  "policy.conditions_refused": retry("Try again."),
  "cache.miss": only("Add the transfer again, with a cache policy that may use the network."),
  "helper.failed": retry("The helper for this kind of link failed; the daemon's log has what it said. Try again."),
  "helper.protocol": only("The helper for this kind of link is defective. Report it to its author."),
  "limit.reached": retry("Wait until other transfers have ended, or raise the limit."),
  "daemon.shutting_down": only("Wait until the daemon runs again."),
  internal: only("This is a defect. Please report it with the daemon's log."),
};
const waitAdvices = {
  retry: retry("It is tried again by itself. To try now, retry."),
  network: retry("It resumes by itself when the network is back. To try now, retry."),
  schedule: retry("It starts when its time comes. To start it now, retry."),
  disk: elsewhere("Free some space, or mount the disk. It then resumes by itself."),
  authentication: { text: "It asks for a password.", action: "answer" }, decision: { text: "It asks a question.", action: "answer" },
  metered: only("It resumes by itself when that has changed."),
  power: only("It resumes by itself on mains power and an unmetered network."),
  portal: only("Log in to the network with a browser. It then resumes by itself."),
};

/// What can be done about a task's error or wait: `{text, action}`; action is "retry", "changeLink", "saveElsewhere", "answer",
/// "signIn" or null. Null if there is nothing to say.
export function advice(task) {
  if (task.state === "waiting" && (task.reason !== "disk" || !task.error)) return waitAdvices[task.reason] ?? null;
  if (task.state === "cancelled") return retry("To start it again, retry.");
  if (task.state !== "failed" && task.state !== "waiting") return null;
  const { code, details } = task.error ?? {};
  if (code === "http.status" && (details?.status >= 500 || [408, 429].includes(details?.status))) {
    return retry("The server has a problem. Try again later.");
  }
  if (code === "auth.required" && (details?.isProxy || details?.status === 407)) {
    return only("Store a user name and a password for the proxy with dlctl credential add --proxy, and try again.");
  }
  if (details?.tooLarge) return elsewhere("Choose a folder that takes files of this size.");
  return advices[code] ?? retry("Try again.");
}

// Names of tasks

const lastPart = (path) => path.split("/").filter(Boolean).at(-1);

/// The delivered file's name, else the destination's, else that of the URL's path, else its host.
export function nameOf(task) {
  const own = lastPart(task.file ?? "") ?? lastPart(task.destination?.path ?? "") ?? task.destination?.filename;
  if (own) return own;
  try {
    const url = new URL(task.url);
    const part = lastPart(url.pathname);
    try {
      return part ? decodeURIComponent(part) : url.host || task.url;
    } catch {
      return part;
    }
  } catch {
    return task.url ?? String(task.id);
  }
}

// Numbers

let options = { units: 1000, time: "local" };
let clocks = {};

/// Follows Settings: `{units: 1000 or 1024, time: "local" or "utc"}`.
export function configureFormat(values) {
  options = values;
  clocks = {};
}

const language = document.documentElement.lang || "en";
const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const plurals = new Intl.PluralRules(language);
const names = { 1000: ["B", "kB", "MB", "GB", "TB", "PB"], 1024: ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] };

export const format = {
  /// 2.1 MB; empty if unknown.
  bytes(n) {
    if (n === undefined || n === null || n < 0) return "";
    let power = 0;
    while (n >= (power ? options.units * 0.99995 : options.units) && power < 5) {
      n /= options.units;
      power += 1;
    }
    return `${power && n < 99.95 ? tenths.format(n) : whole.format(n)} ${names[options.units][power]}`;
  },
  rate(n) {
    return `${format.bytes(Math.round(n ?? 0))}/s`;
  },
  /// The two largest units: 12 s, 2 min, 1 h 5 min, 3 d 4 h.
  duration(seconds) {
    const s = Math.max(0, Math.round(seconds));
    if (s < 60) return `${s} s`;
    const minutes = Math.round(s / 60);
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
    return hours % 24 ? `${whole.format(Math.floor(hours / 24))} d ${hours % 24} h` : `${whole.format(hours / 24)} d`;
  },
  /// A date as short as it can be: the time alone if it is today.
  time(date) {
    const value = new Date(date);
    const zone = options.time === "utc" ? "UTC" : undefined;
    clocks.day ??= new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: zone });
    clocks.time ??= new Intl.DateTimeFormat(language, { timeStyle: "short", hourCycle: "h23", timeZone: zone });
    clocks.both ??= new Intl.DateTimeFormat(language, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone });
    const day = clocks.day.format(value);
    if (day === clocks.day.format(Date.now())) return clocks.time.format(value);
    return Math.abs(Date.now() - value) < 150 * 86_400_000 ? clocks.both.format(value) : day;
  },
  /// How long something took, from milliseconds.
  took: (ms) => (ms < 1000 ? `${whole.format(ms)} ms` : ms < 60_000 ? `${tenths.format(ms / 1000)} s` : format.duration(ms / 1000)),
  /// A date with its seconds.
  clock(date) {
    const zone = options.time === "utc" ? "UTC" : undefined;
    clocks.exact ??= new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23", timeZone: zone });
    return clocks.exact.format(new Date(date));
  },
  count: (n) => whole.format(n),
  plural: (n, words) => `${whole.format(n)} ${words[plurals.select(n)] ?? words.other}`,
};
