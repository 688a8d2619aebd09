import ArgumentParser
import TransferModel
import TransferRPC

struct ShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Everything about tasks.")

    @Argument(
        help: ArgumentHelp("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument]

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let client = try await session.connect()
        let console = session.console
        var isFirst = true
        try await ChosenTasks(choice: TaskChoice(ids), client: client, console: console).forEach { id in
            let task = try await client.call(GetTask.self, TaskReference(id: id))
            if console.json { return try console.value(task) }
            if !isFirst { console.line("") }
            isFirst = false
            TaskSheet.render(task, now: .now()).forEach(console.line)
        }
        await client.close()
    }
}

struct ExplainCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Why tasks are not running, what happened so far, what to do.")

    @Argument(
        help: ArgumentHelp("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument]

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
        var isFirst = true
        try await ChosenTasks(choice: TaskChoice(ids), client: client, console: session.console).forEach { id in
            if !isFirst, !session.console.json { session.console.line("") }
            isFirst = false
            try await explain(id, client, session.console)
        }
        await client.close()
    }

    private func explain(_ id: TaskID, _ client: any DaemonCalling, _ console: Console) async throws {
        let task = try await client.call(GetTask.self, TaskReference(id: id))
        // However long the log is, and whatever the task lived through.
        let events = try await NewestEvents(query: ListEvents.Parameters(after: .start, tasks: [id]))
            .read(Self.longestStory, client)
        if console.json {
            return try console.value(Answer(task: task, advice: Explanation.advice(task), events: events))
        }
        Explanation.render(task, events: events, now: .now()).forEach(console.line)
    }
}
