import ArgumentParser
import TransferModel
import TransferRPC

struct ListCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List tasks.",
        discussion: """
            Running tasks come first, then waiting and queued ones in queue order, then paused ones, then ended ones, \
            the latest first.

            On a terminal it shows at most \(terminalRows) tasks, \(terminalHistory) of them ended, and the number of the others. To a \
            file or a pipe, and with --json, it prints all of them.

            EXAMPLES:
              dlctl list
              dlctl list -n 200 -s nightly
              dlctl list --state failed --state cancelled --all
            """,
        aliases: ["ls"])

    @Argument(help: .init("Only these tasks: ids, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument] = []

    @Option("Only tasks in this state; may be repeated.", "state")
    var state: [TaskState] = []

    @Option("Only tasks of this session.", "session", short: "s", completion: .sessions)
    var session: String?

    @Flag(help: "List all tasks, even on a terminal.")
    var all = false

    @Option("Only tasks whose URL, description or file contains this text.", "text")
    var match: String?

    @Option("At most this many tasks.", "n", short: "n")
    var limit: Int?

    @OptionGroup var owner: OwnerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// The number of rows on a terminal without `--limit` and `--all`.
    static let terminalRows = 50
    /// How many of the rows may be ended tasks, unless their states are requested.
    static let terminalHistory = 10

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("-n: use 1 or more.") }
        if limit != nil, all { throw ValidationError("Use only one of --limit and --all.") }
        if !ids.isEmpty, all || limit != nil || !state.isEmpty || session != nil || match != nil {
            throw ValidationError("Name task ids, or select tasks with options, not both.")
        }
    }

    func run(_ session: CommandSession) async throws {
        try await session.withDaemon { try await list($0, session.console) }
    }

    private func list(_ client: any DaemonCalling, _ console: Console) async throws {
        if !ids.isEmpty {
            let chosen = ChosenTasks(choice: TaskChoice(ids), owner: owner.scope, client: client, console: console)
            let tasks = try await chosen.all()
            if console.json { return console.value(ListedTasks(tasks: tasks)) }
            var table = table(console)
            return table.render(tasks).forEach(console.line)
        }
        if let session, owner.scope == nil { try await client.requireSession(session) }
        let pages = TaskPages(
            query: ListTasks(
                session: session, states: state.isEmpty ? nil : state, match: match, order: .activity,
                owner: owner.scope),
            limit: limit ?? (isShort(console) ? Self.terminalRows : .max))
        if console.json {
            try await printJSON(pages, client, console)
        } else {
            try await printTable(pages, client, console)
        }
    }

    private func table(_ console: Console) -> TaskTable {
        TaskTable(width: console.width, now: .now(), showsOwner: owner.scope == .everyone)
    }

    private func isShort(_ console: Console) -> Bool { limit == nil && !all && console.outputIsTerminal }

    /// Prints page by page, because a million tasks do not fit into memory.
    private func printTable(_ pages: TaskPages, _ client: any DaemonCalling, _ console: Console) async throws {
        var table = table(console)
        let cutsHistory = isShort(console) && state.isEmpty
        var shown = 0
        var historyLeft = cutsHistory ? Self.terminalHistory : .max
        let end = try await pages.read(client) { tasks, _ in
            let tasks = Self.withShortHistory(tasks, &historyLeft)
            shown += tasks.count
            table.render(tasks).forEach(console.line)
        }
        if shown == 0, end.isComplete { return console.remark(absence) }
        if let more = Self.more(shown: shown, end) { console.remark(more) }
    }

    /// - Parameter left: ended tasks that may still be shown.
    static func withShortHistory(_ tasks: [TaskView], _ left: inout Int) -> [TaskView] {
        tasks.filter { task in
            guard task.state.isFinal else { return true }
            left -= 1
            return left >= 0
        }
    }

    /// The last line; nil if there are no more tasks.
    static func more(shown: Int, _ end: TaskPages.End) -> String? {
        let advice = "--limit N shows more, --all shows all"
        guard let total = end.isComplete ? end.count : end.total else { return "… and more; \(advice)" }
        return total > shown ? "… and \(total - shown) more; \(advice)" : nil
    }

    private var absence: String {
        let isFiltered = !state.isEmpty || session != nil || match != nil || owner.scope != nil
        return isFiltered ? "no such tasks" : "no tasks; dlctl add URL queues one"
    }

    /// Prints one value, as `console.value` would.
    private func printJSON(_ pages: TaskPages, _ client: any DaemonCalling, _ console: Console) async throws {
        var separator = #"{"tasks":["#
        let end = try await pages.read(client) { tasks, _ in
            for task in tasks {
                console.raw(separator + Console.encode(task))
                separator = ","
            }
        }
        if separator != "," { console.raw(separator) }
        console.raw("]" + (end.total.map { #","total":\#($0)"# } ?? "") + "}\n")
    }
}

/// Reads `task.list` page by page.
struct TaskPages {
    var query: ListTasks
    /// The most tasks to read.
    var limit = Int.max

    struct End: Hashable {
        /// The number of tasks read.
        var count: Int
        /// There are no further tasks.
        var isComplete: Bool
        /// As reported by the last page.
        var total: Int?
    }

    /// Passes every task to `body` once. The first page is passed on even if it is empty.
    func read(_ client: any DaemonCalling, _ body: ([TaskView], ListedTasks) throws -> Void) async throws -> End {
        var query = query
        var seen: Set<TaskID> = []
        var total: Int?
        var pages = 0
        repeat {
            query.limit = min(ListTasks.largestLimit, limit - seen.count)
            let page = try await client.call(Methods.listTasks, query)
            pages += 1
            // A task that changes its state meanwhile may be on two pages.
            try body(page.tasks.filter { seen.insert($0.id).inserted }, page)
            (query.cursor, total) = (page.nextCursor, page.total)
        } while query.cursor != nil && seen.count < limit
        if pages > 1, query.cursor == nil, seen.count < limit, query.order == .activity,
            query.states?.contains(.running) ?? true
        {
            try await readStarted(client, seen, body)
        }
        return End(count: seen.count, isComplete: query.cursor == nil, total: total)
    }

    /// Reads tasks that began to run after the page with the running tasks was read.
    private func readStarted(
        _ client: any DaemonCalling, _ seen: Set<TaskID>, _ body: ([TaskView], ListedTasks) throws -> Void
    ) async throws {
        var query = query
        query.states = [.running]
        query.limit = ListTasks.largestLimit
        let page = try await client.call(Methods.listTasks, query)
        try body(page.tasks.filter { !seen.contains($0.id) }, page)
    }

    /// Reads all tasks into one list.
    func all(_ client: any DaemonCalling) async throws -> [TaskView] {
        var tasks: [TaskView] = []
        _ = try await read(client) { page, _ in tasks += page }
        return tasks
    }
}
