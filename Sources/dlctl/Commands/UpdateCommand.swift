import ArgumentParser
import TransferModel
import TransferRPC

struct UpdateCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change a task where it stands.",
        discussion: """
            A new URL or new headers on a part-done task keep its bytes only if the new place proves to hold the same \
            version.
            """)

    @Argument(help: ArgumentHelp("The task.", valueName: "id"))
    var id: TaskID

    @Option(help: ArgumentHelp("Download from here instead.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("Place in the queue, or a number from 0 to 1.", valueName: "priority"))
    var priority: TaskPriority?

    @Option(help: ArgumentHelp("Bytes per second: 500k, 2M, none.", valueName: "rate"))
    var limit: RateArgument?

    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp("A header 'Name: value'; these replace all headers of the task.", valueName: "header"))
    var header: [HeaderArgument] = []

    @Option(help: ArgumentHelp("A remark.", valueName: "text"))
    var description: String?

    @Option(help: ArgumentHelp("Begin then: 22:30, +2h, now, or 2026-01-31T08:00:00Z.", valueName: "time"))
    var at: MomentArgument?

    @Option(help: ArgumentHelp("Place among tasks of its priority: first, last or a number.", valueName: "place"))
    var position: PlaceArgument?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let given: [Any?] = [url, priority, limit, description, at, position]
        if header.isEmpty, given.allSatisfy({ $0 == nil }) { throw ValidationError("Say what to change.") }
    }

    func run(_ session: CommandSession) async throws {
        var change = UpdateTask.Parameters(id: id)
        change.url = url
        change.priority = priority
        change.rateLimit = limit?.rate
        change.headers = header.isEmpty ? nil : header.map(\.field)
        change.description = description
        change.earliestBeginAt = at?.timestamp
        change.position = position?.position
        try await session.show(UpdateTask.self, change) { [session] task in
            session.console.quiet ? [] : [StyledText("updated \(task.id)")]
        }
    }
}

struct PlaceArgument: ExpressibleByArgument, Hashable {
    var position: QueuePosition

    init?(argument: String) {
        switch argument {
        case "first": position = .first
        case "last": position = .last
        default:
            guard let number = Double(argument), number.isFinite else { return nil }
            position = .at(number)
        }
    }
}
