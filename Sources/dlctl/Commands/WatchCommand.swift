import ArgumentParser
import TransferModel
import TransferRPC

struct WatchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show progress on a live screen. Ctrl-C leaves; the tasks continue.",
        discussion: """
            Without ids it shows every running and waiting task until Ctrl-C. With ids it ends when all of them have \
            ended, with status 1 if one failed or was cancelled. If the output is not a terminal it prints a line for \
            every change; with --json, every event, and for tasks that have already ended the event that ended them.
            """)

    @Argument(
        help: .init("Tasks to watch, or ranges of ids such as 3-7; default: all.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument] = []

    @OptionGroup var owner: OwnerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let client = try await session.connect()
        var plan = FollowPlan(owner: owner.scope)
        if !ids.isEmpty {
            plan.after = try await client.head()
            let chosen = ChosenTasks(
                choice: TaskChoice(ids), owner: owner.scope, client: client, console: session.console)
            plan.known = try await chosen.all().map(FollowedTask.init)
            plan.tasks = plan.known.map(\.id)
        }
        if session.console.json { return try await printEvents(of: plan, client, session) }
        let state = try await session.follower(plan, of: client, endsWhenOver: !ids.isEmpty)
            .run(client, display: session.display)
        await client.close()
        if !ids.isEmpty, state.hasFailure { throw CommandFailure.taskFailed }
    }

    private func printEvents(
        of plan: FollowPlan, _ client: any DaemonCalling, _ session: CommandSession
    ) async throws {
        let printer = EventPrinter(session: session)
        let over = plan.known.filter(\.isOver)
        for task in over { try await printer.printEnd(of: task.id, client) }
        let open = Set(plan.known.map(\.id)).subtracting(over.map(\.id))
        var hasFailure = over.contains(where: \.hasFailed)
        if plan.tasks == nil || !open.isEmpty {
            let query = Subscribe(
                after: plan.after.map { .after($0) } ?? .now, tasks: plan.tasks.map { _ in Array(open).sorted() },
                owner: plan.owner)
            let ended = try await printer.follow(query, client, open: plan.tasks == nil ? nil : open)
            hasFailure = hasFailure || ended == .failed
        } else {
            await client.close()
        }
        if hasFailure { throw CommandFailure.taskFailed }
    }
}
