import ArgumentParser
import TransferModel
import TransferRPC

struct WaitCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until tasks have ended; the exit status shows how.",
        discussion: """
            Exits with 0 if all completed, with 1 if one failed or was cancelled, and with 5 if they have not all ended \
            within --timeout; then they continue without it. It waits for paused tasks that are named too, \
            and says how to resume them. With --all it waits for every task that is queued, running \
            or waiting now, but not for paused ones.
            """)

    @Argument(help: .init("Tasks to wait for, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument] = []

    @Flag(help: "All tasks that are queued, running or waiting.")
    var all = false

    @Option("All such tasks of this session.", "session", short: "s", completion: .sessions)
    var session: String?

    @Option("Wait no longer than this, such as 30s, 5m or 2h.", "duration")
    var timeout: Seconds?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let ways = [!ids.isEmpty, all, session != nil].count { $0 }
        if ways == 0 { throw ValidationError("Name task ids, a session with -s, or --all.") }
        if ways > 1 { throw ValidationError("Use only one of task ids, -s and --all.") }
    }

    func run(_ session: CommandSession) async throws {
        let limit = timeout.map(FollowLimit.init)
        let client = try await session.connect()
        let head = try await client.head()
        let views = try await tasks(client, session.console)
        if session.console.json { for view in views where view.state.isFinal { session.console.value(view) } }
        try await session.follow(views.map(FollowedTask.init), after: head, within: limit, client)
    }

    private func tasks(_ client: any DaemonCalling, _ console: Console) async throws -> [TaskView] {
        if !ids.isEmpty {
            return try await ChosenTasks(choice: TaskChoice(ids), client: client, console: console).all()
        }
        if let session { try await client.requireSession(session) }
        let query = ListTasks(session: session, states: [.queued, .running, .waiting], limit: 1000)
        return try await TaskPages(query: query).all(client)
    }
}
