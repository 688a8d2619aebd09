import ArgumentParser
import TransferModel
import TransferRPC

struct ShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show tasks: state, what to do, file; then all details.")

    @Argument(
        help: ArgumentHelp("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument]

    @Flag(
        help: "Show credentials, all headers and the request's body unmasked; only for your own tasks.")
    var secrets = false

    @Flag(
        help: "Draw how long each request took, step by step; numbers if the output is not a terminal.")
    var timing = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let client = try await session.connect()
        let console = session.console
        let asker = try await session.asker(client)
        var isFirst = true
        try await ChosenTasks(choice: TaskChoice(ids), client: client, console: console).forEach { id in
            let task = try await client.call(GetTask.self, .init(id: id, secrets: secrets ? true : nil))
            if console.json { return console.value(task) }
            if !isFirst { console.line("") }
            isFirst = false
            let events = try await Self.beginning(of: task, client)
            let own = await Self.session(of: task, client)
            if timing {
                let summary = TaskSummary(task, events: events, in: own, for: asker, now: .now())
                let lines = summary.render(width: console.width) + [""]
                return (lines + Waterfall.render(task, width: console.width)).forEach(console.line)
            }
            let question = try await Self.question(of: task, client)
            TaskSheet.render(
                task, events: events, asking: question, in: own, for: asker, now: .now(),
                width: console.width
            ).forEach(console.line)
        }
        await client.close()
    }

    /// Returns the question that the task waits for.
    static func question(of task: TaskView, _ client: any DaemonCalling) async throws -> DecisionView? {
        let waits = task.state == .waiting && (task.reason == .authentication || task.reason == .decision)
        guard waits || task.phase == .deciding else { return nil }
        // An administrator may be looking at another user's task.
        let query = ListDecisions.Parameters(tasks: [task.id], owner: .user(task.owner))
        return try await client.call(ListDecisions.self, query).decisions.first
    }

    /// Returns the session of a waiting task: it may be paused, or have a schedule.
    static func session(of task: TaskView, _ client: any DaemonCalling) async -> SessionView? {
        guard task.state == .waiting else { return nil }
        return try? await client.call(GetSession.self, SessionReference(id: task.session, owner: task.owner))
    }

    /// Returns the events that show when the task's state began, and which attempts only led to a question.
    private static func beginning(of task: TaskView, _ client: any DaemonCalling) async throws -> [EventView] {
        func read(_ types: [EventType], _ count: Int) async throws -> [EventView] {
            let query = ListEvents.Parameters(after: .start, tasks: [task.id], types: types)
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

    @Argument(
        help: ArgumentHelp("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument]

    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// The most events that are shown; the newest ones.
    static let longestStory = 50

    func run(_ session: CommandSession) async throws {
        let client = try await session.connect()
        let asker = try await session.asker(client)
        var isFirst = true
        try await ChosenTasks(choice: TaskChoice(ids), client: client, console: session.console).forEach { id in
            if !isFirst, !session.console.json { session.console.line("") }
            isFirst = false
            try await explain(id, asker, client, session.console)
        }
        await client.close()
    }

    private func explain(
        _ id: TaskID, _ asker: Asker, _ client: any DaemonCalling, _ console: Console
    ) async throws {
        let task = try await client.call(GetTask.self, .init(id: id))
        let events = try await NewestEvents(query: ListEvents.Parameters(after: .start, tasks: [id]))
            .read(Self.longestStory, client)
        let question = try await ShowCommand.question(of: task, client)
        let own = await ShowCommand.session(of: task, client)
        if console.json {
            let advice = Explanation.advice(task, events: events, in: own, mayConfigure: asker.mayConfigure)
                .map(asker.command)
            return console.value { text in
                text.member("task", task)
                text.member("advice", advice?.text)
                text.member("decision", question)
                text.member("events", events)
            }
        }
        Explanation.render(
            task, events: events, asking: question, in: own, for: asker, now: .now(),
            width: console.width
        ).forEach(console.line)
    }
}
