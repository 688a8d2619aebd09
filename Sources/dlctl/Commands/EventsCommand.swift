import ArgumentParser
import Glibc
import TransferClient
import TransferModel
import TransferRPC

struct EventsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print the event log.",
        discussion: """
            Without --follow it prints stored events and exits. With --subscriber NAME it starts after the last event \
            that this durable name acknowledged, and acknowledges each event once it is printed.

            EXAMPLES:
              dlctl events --after start --type task.failed
              dlctl events --follow --json
              dlctl events --follow --subscriber importer --json | import-files
            """)

    @Option("Start after this number, or at 'start' or 'now'.", "n")
    var after: EventPosition?

    @Option(
        "Start after the last event this durable name acknowledged, a new name at the end; and acknowledge.", "name")
    var subscriber: String?

    @Flag(name: .shortAndLong, help: "Continue with new events, including progress.")
    var follow = false

    @Option("Only events of this type; may be repeated.", "type")
    var type: [EventType] = []

    @Option("Only events of this task, or of a range such as 3-7; may be repeated.", "id", completion: .tasks)
    var task: [TaskArgument] = []

    @Option("Only events of this session; may be repeated.", "session", short: "s", completion: .sessions)
    var session: [String] = []

    @Option("At most this many stored events; the newest, unless --after is given.", "n", short: "n")
    var limit: Int?

    @Flag(help: "Omit progress.")
    var noProgress = false

    @Flag(help: "Forget the durable name given with --subscriber, and exit.")
    var forget = false

    @OptionGroup var owner: OwnerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if forget, subscriber == nil { throw ValidationError("--forget needs --subscriber.") }
        if let limit, limit < 1 { throw ValidationError("-n: use 1 or more.") }
        if TaskChoice(task).allIDs(atMost: FollowPlan.longestFilter) == nil {
            throw ValidationError(
                "--task: more than \(FollowPlan.longestFilter) ids; name fewer, or none.")
        }
        if follow, limit != nil { throw ValidationError("Use only one of -n and --follow.") }
    }

    func run(_ session: CommandSession) async throws {
        if forget, let subscriber {
            _ = try await session.call(Methods.forgetSubscriber, ForgetSubscriber(subscriber: subscriber))
            return session.console.remark("forgot \(Printable.text(subscriber))")
        }
        let client = try await session.connect()
        let printer = EventPrinter(session: session, subscriber: subscriber)
        if follow {
            let query = Subscribe(
                after: after, subscriber: subscriber, sessions: nonEmpty(self.session),
                tasks: nonEmpty(tasks),
                types: nonEmpty(type), progressInterval: noProgress ? 0 : nil, owner: owner.scope)
            return _ = try await printer.follow(query, client)
        }
        try await list(client, printer)
        await client.close()
    }

    private var tasks: [TaskID] { TaskChoice(task).allIDs(atMost: FollowPlan.longestFilter) ?? [] }

    private func list(_ client: any DaemonCalling, _ printer: EventPrinter) async throws {
        var query = ListEvents(
            after: try await start(client), sessions: nonEmpty(session), tasks: nonEmpty(tasks), types: nonEmpty(type),
            owner: owner.scope)
        if let limit, after == nil, subscriber == nil {
            for event in try await NewestEvents(query: query).read(limit, client) { try printer.print(event) }
            return
        }
        var left = limit ?? .max
        while left > 0 {
            query.limit = min(left, ListEvents.largestLimit)
            let page = try await client.call(Methods.listEvents, query)
            if case .after(let place) = query.after, let first = page.first, first.rawValue > place.rawValue + 1 {
                try printer.print(EventView(.lagged(first: first, owner: UserID(getuid()), at: .now())))
            }
            for event in page.events {
                try printer.print(event)
                try await printer.acknowledge(event, client)
            }
            left -= page.events.count
            guard let next = page.nextAfter else { return }
            query.after = .after(next)
        }
    }

    /// Only a subscription returns the number of a durable name, so this subscribes without events. A new name is
    /// registered too.
    private func start(_ client: any DaemonCalling) async throws -> EventPosition {
        guard let subscriber else { return after ?? .start }
        let place = try await client.call(
            Methods.subscribe,
            Subscribe(after: after, subscriber: subscriber, types: [], progressInterval: 0))
        _ = try await client.call(Methods.unsubscribe, Unsubscribe(subscription: place.subscription))
        return place.after.map { .after($0) } ?? .start
    }

    private func nonEmpty<Element>(_ list: [Element]) -> [Element]? { list.isEmpty ? nil : list }
}

extension EventPosition: ExpressibleByArgument {
    public init?(argument: String) {
        switch argument {
        case "start": self = .start
        case "now": self = .now
        default:
            guard let number = Int64(argument), number >= 0 else { return nil }
            self = .after(SequenceNumber(number))
        }
    }
}

/// Prints events as they come, one on each line, and continues after a restart of the daemon.
struct EventPrinter {
    var session: CommandSession
    /// The durable name for which each printed event is acknowledged.
    var subscriber: String?

    func print(_ event: EventView) throws {
        var event = event
        event.subscription = nil
        if session.console.json {
            session.console.value(event)
        } else {
            session.console.line(EventLine.render(event))
        }
    }

    /// Prints the event that ended a task, if the log still has it.
    func printEnd(of task: TaskID, _ client: any DaemonCalling) async throws {
        let query = ListEvents(after: .start, tasks: [task], types: Array(Self.ends))
        for event in try await NewestEvents(query: query).read(1, client) { try print(event) }
    }

    /// How the followed tasks ended.
    enum Ending: Hashable {
        case completed
        case failed
    }

    /// Follows until Ctrl-C, or until all tasks in `open` are over.
    func follow(
        _ query: Subscribe, _ first: any DaemonCalling, open: Set<TaskID>? = nil
    ) async throws -> Ending {
        session.console.endWithReader()
        // Before the work: from the first printed line on, Ctrl-C ends this and is not lost.
        let (interruptions, continuation) = AsyncStream.makeStream(of: Void.self)
        let signals = Signals([SIGINT, SIGTERM, SIGHUP]) { _ in continuation.yield() }
        defer { signals.cancel() }
        return try await withThrowingTaskGroup(of: Ending.self) { group in
            group.addTask { try await followLinks(query, first, open) }
            group.addTask {
                for await _ in interruptions { break }
                throw CommandFailure.interrupted
            }
            defer { group.cancelAll() }
            guard let ending = try await group.next() else { throw CommandFailure.interrupted }
            return ending
        }
    }

    /// Follows across restarts of the daemon.
    private func followLinks(
        _ query: Subscribe, _ first: any DaemonCalling, _ open: Set<TaskID>?
    ) async throws -> Ending {
        var ending = Ending.completed
        var client: (any DaemonCalling)? = first
        var query = query
        var open = open
        var outage = Outage()
        var isAgain = false
        while !Task.isCancelled {
            if let client {
                do {
                    let (head, events) = try await client.follow(query)
                    outage = Outage()
                    if isAgain { try restartIfOtherStore(head, &query, open) }
                    isAgain = true
                    if query.after == nil || query.after == .now, subscriber == nil { query.after = .after(head) }
                    let pulse = Pulse(client)
                    defer { pulse.cancel() }
                    for try await event in events {
                        try print(event)
                        if let sequence = event.sequence { query.after = .after(sequence) }
                        try await acknowledge(event, client)
                        if let task = event.task, Self.ends.contains(event.type), open?.remove(task) != nil {
                            if event.type != .taskCompleted { ending = .failed }
                        }
                        if open?.isEmpty == true {
                            await client.close()
                            return ending
                        }
                    }
                    try await pulse.requireAnswer()
                } catch let error as ClientError where !error.isSilence {
                    // The daemon is gone. Events that were not sent are replayed from the last number.
                } catch let error as TransferError where error.code == .shuttingDown {
                    // The daemon has announced that it is going.
                }
                await client.close()
                if Task.isCancelled { return ending }
                session.console.remark("waiting for the daemon")
            }
            try await outage.pass()
            client = try await session.access.reconnect(to: first.socketPath, outage)
        }
        return ending
    }

    /// The numbers of another store are unrelated to the earlier ones, so all its events are new.
    private func restartIfOtherStore(
        _ head: SequenceNumber, _ query: inout Subscribe, _ open: Set<TaskID>?
    ) throws {
        guard case .after(let last)? = query.after, head < last else { return }
        if open != nil {
            throw CommandFailure.local(
                "the daemon that answers now has another store, without the tasks that were watched")
        }
        query.after = .start
        throw ClientError.connectionLost("another store")
    }

    private static let ends: Set<EventType> = [.taskCompleted, .taskFailed, .taskCancelled, .taskRemoved]

    func acknowledge(_ event: EventView, _ client: any DaemonCalling) async throws {
        guard let subscriber, let sequence = event.sequence else { return }
        _ = try await client.call(
            Methods.acknowledgeEvents, AcknowledgeEvents(subscriber: subscriber, sequence: sequence))
    }
}
