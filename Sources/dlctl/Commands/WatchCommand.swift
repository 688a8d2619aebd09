import ArgumentParser
import TransferModel
import TransferRPC

struct WatchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Live screen: bars, rates, time left. Ctrl-C leaves; the tasks go on.",
        discussion: """
            Without ids it shows every task that runs or waits and goes on until Ctrl-C; with ids it ends when they \
            are over. Where the output is no terminal it prints a line for every change; with --json, every event.
            """)

    @Argument(help: ArgumentHelp("Tasks to watch; all without it.", valueName: "id"))
    var ids: [TaskID] = []

    @OptionGroup var owner: OwnerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let client = try await session.connect()
        var plan = FollowPlan(tasks: ids.isEmpty ? nil : ids, owner: owner.scope)
        if !ids.isEmpty {
            plan.after = try await client.call(ListEvents.self, ListEvents.Parameters(after: .now, limit: 1)).head
            for id in ids {
                plan.known.append(FollowedTask(try await client.call(GetTask.self, TaskReference(id: id))))
            }
        }
        if session.console.json { return try await printEvents(of: plan, client, session) }
        _ = try await Following.follower(plan, of: client, endsWhenOver: !ids.isEmpty, session)
            .run(client, display: Following.display(session.console))
        await client.close()
    }

    private func printEvents(
        of plan: FollowPlan, _ client: any DaemonCalling, _ session: CommandSession
    ) async throws {
        let open = Set(plan.known.filter { !$0.isOver }.map(\.id))
        if plan.tasks != nil, open.isEmpty { return await client.close() }
        let query = Subscribe.Parameters(
            after: plan.after.map { .after($0) } ?? .now, tasks: plan.tasks, owner: plan.owner)
        try await EventPrinter(session: session).follow(query, client, open: plan.tasks == nil ? nil : open)
    }
}
