import ArgumentParser
import TransferModel
import TransferRPC

struct ListCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "A table of tasks.",
        discussion: """
            Without options: tasks that are not over, and those that ended last. With --all or --state: all of them, \
            oldest first.
            """,
        aliases: ["ls"])

    @Option(help: ArgumentHelp("Only tasks in this state; may be repeated.", valueName: "state"))
    var state: [TaskState] = []

    @Option(name: .shortAndLong, help: ArgumentHelp("Only tasks of this session.", valueName: "session"))
    var session: String?

    @Flag(help: "The whole history.")
    var all = false

    @Option(help: ArgumentHelp("Only where address, description or file contain this text.", valueName: "text"))
    var match: String?

    @Option(name: [.customShort("n"), .long], help: ArgumentHelp("At most this many tasks.", valueName: "n"))
    var limit: Int?

    @OptionGroup var owner: OwnerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// Tasks that are over and still shown without `--all`.
    static let recent = 10
    static let unfinished: [TaskState] = [.running, .waiting, .queued, .paused]
    /// Rows without `--all`; nobody reads a million lines.
    static let defaultLimit = 1000

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("-n: say 1 or more.") }
    }

    func run(_ session: CommandSession) async throws {
        let client = try await session.connect()
        var query = ListTasks.Parameters(session: self.session, match: match, owner: owner.scope)
        let tasks: [TaskView]
        if all || !state.isEmpty {
            query.states = state.isEmpty ? nil : state
            tasks = try await TaskPages.all(query, client, atMost: limit ?? .max)
        } else {
            tasks = try await present(query, client)
        }
        await client.close()
        if session.console.json { return try session.console.value(ListTasks.Result(tasks: tasks)) }
        print(tasks, session.console)
    }

    /// Two answers: a task that ended between them is in both, and the second has its newest state.
    func present(_ query: ListTasks.Parameters, _ client: any DaemonCalling) async throws -> [TaskView] {
        var query = query
        query.states = Self.unfinished
        let open = try await TaskPages.all(query, client, atMost: limit ?? Self.defaultLimit)
        query.states = TaskState.allCases.filter(\.isFinal)
        query.order = .newest
        query.limit = min(Self.recent, limit ?? Self.recent)
        let ended = try await client.call(ListTasks.self, query).tasks
        let over = Set(ended.map(\.id))
        let both = Array(ended.reversed()) + open.filter { !over.contains($0.id) }
        return limit.map { Array(both.suffix($0)) } ?? both
    }

    private func print(_ tasks: [TaskView], _ console: Console) {
        guard !tasks.isEmpty else {
            let isFiltered = !state.isEmpty || session != nil || match != nil || owner.owner != nil
            return console.remark(
                isFiltered ? "no such tasks" : all ? "no tasks" : "no tasks; dlctl add URL queues one")
        }
        let width = console.outputIsTerminal ? Terminal.size().columns : nil
        TaskTable.render(tasks, width: width, now: .now()).forEach(console.line)
    }
}

struct ShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Everything about one task.")

    @Argument(help: ArgumentHelp("The task.", valueName: "id"))
    var id: TaskID

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        try await session.show(GetTask.self, TaskReference(id: id)) { TaskSheet.render($0, now: .now()) }
    }
}

struct ExplainCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Why a task is not running, what happened so far, what to do.")

    @Argument(help: ArgumentHelp("The task.", valueName: "id"))
    var id: TaskID

    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// Events shown at most; the newest ones tell most.
    static let longestStory = 50

    struct Answer: Encodable {
        var task: TaskView
        var advice: String?
        var events: [EventView]
    }

    func run(_ session: CommandSession) async throws {
        let client = try await session.connect()
        let task = try await client.call(GetTask.self, TaskReference(id: id))
        // However long the log is, and whatever the task lived through.
        let events = try await NewestEvents(query: ListEvents.Parameters(after: .start, tasks: [id]))
            .read(Self.longestStory, client)
        await client.close()
        if session.console.json {
            return try session.console.value(Answer(task: task, advice: Explanation.advice(task), events: events))
        }
        Explanation.render(task, events: events, now: .now()).forEach(session.console.line)
    }
}
