import ArgumentParser
import Glibc
import Synchronization
import TransferClient
import TransferModel
import TransferRPC

struct EventsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "The event log: what happened, in order.",
        discussion: """
            Without --follow it prints stored events and ends. With --subscriber NAME it begins after what that \
            durable name acknowledged, and acknowledges each event once it is printed.

            EXAMPLES:
              dlctl events --after start --type task.failed
              dlctl events --follow --json
              dlctl events --follow --subscriber importer --json | import-files
            """)

    @Option(help: ArgumentHelp("Begin after this number, or at 'start' or 'now'.", valueName: "n"))
    var after: PositionArgument?

    @Option(help: ArgumentHelp("Begin after what this durable name acknowledged, and acknowledge.", valueName: "name"))
    var subscriber: String?

    @Flag(name: .shortAndLong, help: "Go on with what happens from now on; progress too.")
    var follow = false

    @Option(help: ArgumentHelp("Only events of this type; may be repeated.", valueName: "type"))
    var type: [EventType] = []

    @Option(help: ArgumentHelp("Only events of this task; may be repeated.", valueName: "id"))
    var task: [TaskID] = []

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Only events of this session; may be repeated.", valueName: "session"))
    var session: [String] = []

    @Option(
        name: [.customShort("n"), .long],
        help: ArgumentHelp("At most this many stored events; without --after the newest.", valueName: "n"))
    var limit: Int?

    @Flag(help: "Leave out progress.")
    var noProgress = false

    @Flag(help: "Forget the durable name given with --subscriber, and end.")
    var forget = false

    @OptionGroup var owner: OwnerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if forget, subscriber == nil { throw ValidationError("--forget needs --subscriber.") }
        if let limit, limit < 1 { throw ValidationError("-n: say 1 or more.") }
        if follow, limit != nil { throw ValidationError("-n and --follow do not go together.") }
    }

    func run(_ session: CommandSession) async throws {
        if forget, let subscriber {
            _ = try await session.call(ForgetSubscriber.self, ForgetSubscriber.Parameters(subscriber: subscriber))
            return session.console.remark("forgot \(Printable.text(subscriber))")
        }
        let client = try await session.connect()
        // Without --follow a durable name is read by a subscription too: only that knows where it stands.
        if follow || subscriber != nil {
            let query = Subscribe.Parameters(
                after: after?.position, subscriber: subscriber, sessions: nonEmpty(self.session), tasks: nonEmpty(task),
                types: nonEmpty(type), progressInterval: noProgress || !follow ? 0 : nil, owner: owner.scope)
            let printer = EventPrinter(session: session, query: query, subscriber: subscriber, limit: limit)
            return follow ? try await printer.follow(client) : try await printer.catchUp(client)
        }
        try await list(client, session)
        await client.close()
    }

    private func list(_ client: any DaemonCalling, _ session: CommandSession) async throws {
        var query = ListEvents.Parameters(
            after: after?.position ?? .start, sessions: nonEmpty(self.session), tasks: nonEmpty(task),
            types: nonEmpty(type), owner: owner.scope)
        let printer = EventPrinter(session: session, query: Subscribe.Parameters(), subscriber: nil)
        if let limit, after == nil {
            for event in try await NewestEvents(query: query).read(limit, client) { try printer.print(event) }
            return
        }
        var left = limit ?? .max
        while left > 0 {
            query.limit = min(left, ListEvents.largestLimit)
            let page = try await client.call(ListEvents.self, query)
            for event in page.events { try printer.print(event) }
            left -= page.events.count
            guard let last = page.events.last?.sequence, page.events.count == query.limit else { return }
            query.after = .after(last)
        }
    }

    private func nonEmpty<Element>(_ list: [Element]) -> [Element]? { list.isEmpty ? nil : list }
}

struct PositionArgument: ExpressibleByArgument, Hashable {
    var position: EventPosition

    init?(argument: String) {
        switch argument {
        case "start": position = .start
        case "now": position = .now
        default:
            guard let number = Int64(argument), number >= 0 else { return nil }
            position = .after(SequenceNumber(number))
        }
    }
}

/// Prints events as they come, one a line, and goes on after the daemon was restarted.
struct EventPrinter {
    var session: CommandSession
    var query: Subscribe.Parameters
    /// Acknowledged up to each event that was printed.
    var subscriber: String?
    var limit: Int?

    func print(_ event: EventView) throws {
        var event = event
        event.subscription = nil
        if session.console.json {
            try session.console.value(event)
        } else {
            session.console.line(EventLine.render(event))
        }
    }

    private enum Input: Sendable {
        case event(EventView)
        case ended((any Error)?)
        case tick
    }

    /// A replay that has been silent for this many ticks of 100 ms is over.
    private static let silentTicks = 5

    /// Prints what is stored for the subscriber and ends.
    ///
    /// The replay is over at the head, or where that event is not for this peer, when nothing more comes.
    func catchUp(_ client: any DaemonCalling) async throws {
        let (head, events) = try await client.follow(query)
        let (inputs, continuation) = AsyncStream.makeStream(of: Input.self)
        let feeding = [reading(events, into: continuation), ticking(into: continuation)]
        defer { feeding.forEach { $0.cancel() } }
        var silence = 0
        var left = head == .zero ? 0 : limit ?? .max
        guard left > 0 else { return await client.close() }
        for await input in inputs {
            switch input {
            case .event(let event):
                silence = 0
                left -= 1
                try print(event)
                try await acknowledge(event, client)
                if let sequence = event.sequence, sequence >= head { left = 0 }
            case .ended(let error):
                if let error { throw error }
                left = 0
            case .tick:
                silence += 1
                if silence >= Self.silentTicks { left = 0 }
            }
            if left == 0 { break }
        }
        await client.close()
    }

    private func reading(
        _ events: AsyncThrowingStream<EventView, any Error>, into inputs: AsyncStream<Input>.Continuation
    ) -> Task<Void, Never> {
        Task {
            do {
                for try await event in events { inputs.yield(.event(event)) }
                inputs.yield(.ended(nil))
            } catch {
                inputs.yield(.ended(error))
            }
        }
    }

    private func ticking(into inputs: AsyncStream<Input>.Continuation) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(100))
                inputs.yield(.tick)
            }
        }
    }

    /// Follows until Ctrl-C.
    func follow(_ first: any DaemonCalling) async throws {
        let interruption = Interruption()
        let work = Task {
            try await followForEver(first)
        }
        let signals = Signals([SIGINT, SIGTERM, SIGHUP]) { _ in
            interruption.happened()
            work.cancel()
        }
        defer { signals.cancel() }
        do {
            try await work.value
        } catch {
            throw interruption.isSet ? CommandFailure.interrupted : error
        }
        if interruption.isSet { throw CommandFailure.interrupted }
    }

    private func followForEver(_ first: any DaemonCalling) async throws {
        var client: (any DaemonCalling)? = first
        var query = query
        var delay = LinkPump.firstDelay
        while !Task.isCancelled {
            if let client {
                do {
                    let (head, events) = try await client.follow(query)
                    delay = LinkPump.firstDelay
                    if query.after == nil || query.after == .now, subscriber == nil { query.after = .after(head) }
                    for try await event in events {
                        try print(event)
                        if let sequence = event.sequence { query.after = .after(sequence) }
                        try await acknowledge(event, client)
                    }
                } catch is ClientError {
                    // The daemon went; what it did not send is replayed from the last number.
                } catch let error as TransferError where error.code == .shuttingDown {
                    // The same, announced.
                }
                await client.close()
                if Task.isCancelled { return }
                session.console.remark("waiting for the daemon")
            }
            try await Task.sleep(for: delay)
            delay = min(delay * 2, LinkPump.longestDelay)
            client = await session.access.connectToRunning()
        }
    }

    private func acknowledge(_ event: EventView, _ client: any DaemonCalling) async throws {
        guard let subscriber, let sequence = event.sequence else { return }
        _ = try await client.call(
            AcknowledgeEvents.self, AcknowledgeEvents.Parameters(subscriber: subscriber, sequence: sequence))
    }
}

/// Whether Ctrl-C was pressed; set on the signal queue, read by the command.
private final class Interruption: Sendable {
    private let flag = Atomic(false)
    func happened() { flag.store(true, ordering: .releasing) }
    var isSet: Bool { flag.load(ordering: .acquiring) }
}
