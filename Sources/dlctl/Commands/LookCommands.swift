import ArgumentParser
import TransferModel
import TransferRPC

struct ShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show tasks: state, what to do, file; then all details.")

    @Argument(help: .init("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument]

    @Flag(
        help: "Show credentials, all headers and the request's body unmasked; only for your own tasks.")
    var secrets = false

    @Flag(
        help: "Draw how long each request took, step by step; numbers if the output is not a terminal.")
    var timing = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let console = session.console
        try await session.withDaemon { client in
            let asker = try await session.asker(client)
            var isFirst = true
            try await ChosenTasks(choice: TaskChoice(ids), client: client, console: console).forEach { id in
                let task = try await client.call(Methods.getTask, .init(id: id, secrets: secrets ? true : nil))
                if console.json { return console.value(task) }
                if !isFirst { console.line("") }
                isFirst = false
                let events = try await Self.beginning(of: task, client)
                let summary = try await TaskSummary.of(task, events, for: asker, asks: !timing, client)
                let lines =
                    timing
                    ? summary.render(width: console.width) + [""] + Waterfall.render(task, width: console.width)
                    : TaskSheet.render(summary, width: console.width)
                lines.forEach(console.line)
            }
        }
    }

    /// Returns the events that show when the task's state began, and which attempts only led to a question.
    private static func beginning(of task: TaskView, _ client: any DaemonCalling) async throws -> [EventView] {
        func read(_ types: [EventType], _ count: Int) async throws -> [EventView] {
            let query = ListEvents(after: .start, tasks: [task.id], types: types)
            return try await NewestEvents(query: query).read(count, client)
        }
        let saysAttempts = task.attempts > 1 && (task.state == .failed || task.state == .waiting)
        let questions = saysAttempts ? try await read(TaskSummary.questionings, ExplainCommand.longestStory) : []
        let wanted = task.state == .failed ? Explanation.changes : task.state.isFinal ? [] : TaskSummary.beginnings
        let newest = wanted.isEmpty ? [] : try await read(wanted, 1)
        return questions.filter { question in !newest.contains { $0.sequence == question.sequence } } + newest
    }
}

struct ExplainCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Explain why tasks are not running, what to do, and what happened so far.")

    @Argument(help: .init("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument]

    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// The most events that are shown; the newest ones.
    static let longestStory = 50

    func run(_ session: CommandSession) async throws {
        let console = session.console
        try await session.withDaemon { client in
            let asker = try await session.asker(client)
            var isFirst = true
            try await ChosenTasks(choice: TaskChoice(ids), client: client, console: console).forEach { id in
                if !isFirst, !console.json { console.line("") }
                isFirst = false
                let task = try await client.call(Methods.getTask, .init(id: id))
                let events = try await NewestEvents(query: ListEvents(after: .start, tasks: [id]))
                    .read(Self.longestStory, client)
                let summary = try await TaskSummary.of(task, events, for: asker, client)
                guard console.json else {
                    return Explanation.render(summary, width: console.width).forEach(console.line)
                }
                console.value { text in
                    text.member("task", task)
                    text.member("advice", summary.advice.map(asker.command)?.text)
                    text.member("decision", summary.question)
                    text.member("events", events)
                }
            }
        }
    }
}

extension TaskSummary {
    /// - Parameter asks: whether to fetch the question that the task waits for.
    fileprivate static func of(
        _ task: TaskView, _ events: [EventView], for asker: Asker, asks: Bool = true, _ client: any DaemonCalling
    ) async throws -> TaskSummary {
        var question: DecisionView?
        if asks, task.state == .waiting && task.reason?.asks == true || task.phase == .deciding {
            // An administrator may be looking at another user's task.
            let query = ListDecisions(tasks: [task.id], owner: .user(task.owner))
            question = try await client.call(Methods.listDecisions, query).decisions.first
        }
        var session: SessionView?
        if task.state == .waiting {
            session = try? await client.call(Methods.getSession, SessionReference(id: task.session, owner: task.owner))
        }
        return TaskSummary(task, events: events, asking: question, in: session, for: asker, now: .now())
    }
}
