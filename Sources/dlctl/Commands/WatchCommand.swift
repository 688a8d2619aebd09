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
        if session.console.json {
            let query = Subscribe.Parameters(after: .now, tasks: ids.isEmpty ? nil : ids, owner: owner.scope)
            return try await EventPrinter(session: session, query: query, subscriber: nil).follow(client)
        }
        var plan = FollowPlan(tasks: ids.isEmpty ? nil : ids, owner: owner.scope)
        if !ids.isEmpty {
            plan.after = try await client.call(ListEvents.self, ListEvents.Parameters(after: .now, limit: 1)).head
            for id in ids {
                plan.known.append(FollowedTask(try await client.call(GetTask.self, TaskReference(id: id))))
            }
        }
        _ = try await Following.follower(plan, endsWhenOver: !ids.isEmpty, session)
            .run(client, display: Following.display(session.console))
        await client.close()
    }
}
