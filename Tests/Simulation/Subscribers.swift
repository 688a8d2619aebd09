import DaemonKit
import TransferModel
import TransferRPC
import TransferStore

/// The subscribers of a world. They connect, read, acknowledge, leave, and come back.
final class Subscribers: @unchecked Sendable {
    private unowned let world: World
    private let all: [Subscriber]
    private var connections = 0

    private static let most = 4

    init(_ world: World) {
        self.world = world
        let count = world.hazards.contains(.subscriber) ? 1 + world.random.below(Self.most) : 0
        all = (0..<count).map { Subscriber(world, $0) }
    }

    /// Small, so that they are reached.
    lazy var limits: EventFeed.Limits = {
        var limits = EventFeed.Limits()
        limits.tail = [4, 30, 10_000][world.random.below(3)]
        limits.tailBytes = [4000, 1 << 20][world.random.below(2)]
        limits.page = [2, 5, 20][world.random.below(3)]
        limits.pacedBehind = [5, 20][world.random.below(2)]
        // More frequent checks would take most of a world's time.
        limits.stallCheck = .seconds(30)
        return limits
    }()

    // MARK: What they do

    /// One of the subscribers does something.
    func act() {
        guard !all.isEmpty, let daemon = world.daemon, daemon.hasStarted else { return }
        let subscriber = all[world.random.below(all.count)]
        let dice = world.random.below(100)
        guard let connection = subscriber.connection else {
            guard subscriber.open == 0 else { return }
            if dice < 60 { return connect(subscriber, daemon) }
            if dice < 65 { forget(subscriber, daemon) }
            return
        }
        switch dice {
        case 0..<20: connection.read(1 + world.random.below(4))
        case 20..<85: acknowledge(subscriber, daemon)
        default: leave(subscriber, connection)
        }
    }

    /// From now on no subscriber leaves, and all of them read.
    func calm() {
        for subscriber in all {
            subscriber.connection?.read(.max)
            connectAgain(subscriber)
        }
    }

    private func leave(_ subscriber: Subscriber, _ connection: SubscriberConnection) {
        world.note("subscriber \(subscriber.number) leaves")
        subscriber.disconnected()
        connection.disconnect()
    }

    /// The daemon has closed the connection.
    func closed(_ subscriber: Subscriber) {
        subscriber.disconnected()
        connectAgain(subscriber)
    }

    /// A request has ended.
    private func answered(_ subscriber: Subscriber) {
        subscriber.open -= 1
        connectAgain(subscriber)
    }

    func crashed() {
        for subscriber in all { subscriber.crashed() }
    }

    private func connectAgain(_ subscriber: Subscriber) {
        guard world.isCalm, subscriber.connection == nil, subscriber.open == 0, let daemon = world.daemon,
            daemon.hasStarted
        else { return }
        connect(subscriber, daemon)
    }

    // MARK: What they ask for

    private func connect(_ subscriber: Subscriber, _ daemon: SimulatedDaemon) {
        connections += 1
        let connection = SubscriberConnection(connections, subscriber, daemon.feed, page: limits.page)
        subscriber.connects(connection)
        let position = position(of: subscriber)
        let begin = earliest(position)
        subscriber.durable?.asks(from: begin)
        subscriber.open += 1
        let request = SubscriptionRequest(
            after: position, subscriber: subscriber.durable?.name, filter: subscriber.selector.filter,
            peer: Subscriber.owner, progressInterval: subscriber.progressInterval ?? 0)
        world.note("subscriber \(subscriber.number) subscribes \(position.map { "\($0)" } ?? "")")
        let delay = !world.isCalm && world.random.chance(100) ? world.random.below(120) : 0
        Task {
            do {
                let ticket = try await daemon.feed.subscribe(request, for: connection)
                // The answer may be written late. (Task.yield bypasses the simulation's list of jobs.)
                if delay > 0 { try? await Task.sleep(for: .seconds(delay)) } else { await Task {}.value }
                subscribed(subscriber, connection, position, ticket)
                answered(subscriber)
                daemon.feed.begin(ticket)
            } catch {
                subscriber.durable?.lost(at: world.ledger.head)
                refused("subscribe", error)
                if subscriber.connection === connection { subscriber.disconnected() }
                answered(subscriber)
            }
        }
    }

    private func subscribed(
        _ subscriber: Subscriber, _ connection: SubscriberConnection, _ position: EventPosition?,
        _ ticket: EventFeed.Ticket
    ) {
        subscriber.durable?.subscribed(from: latest(position, ticket.head))
        guard subscriber.connection === connection else { return }
        let begins: ClosedRange<SequenceNumber>
        switch position {
        case .after(let number): begins = number...number
        case .start: begins = SequenceNumber.zero...SequenceNumber.zero
        case .now: begins = ticket.head...ticket.head
        case nil:
            if let durable = subscriber.durable, let lowest = durable.lowest {
                begins = lowest...durable.highest
            } else {
                begins = ticket.head...ticket.head
            }
        }
        subscriber.subscribed(
            ticket.name, after: begins.lowerBound, to: begins.upperBound,
            beginsWhereKept: position == .start && world.ledger.retention != nil)
    }

    /// Returns the position at which the subscriber wants to begin.
    private func position(of subscriber: Subscriber) -> EventPosition? {
        let head = world.ledger.head
        if subscriber.durable != nil {
            switch world.random.below(10) {
            case 0: return subscriber.seen.map { .after($0) }
            case 1: return .start
            default: return nil
            }
        }
        if let seen = subscriber.seen { return .after(seen) }
        switch world.random.below(4) {
        case 0: return .start
        case 1: return .now
        case 2: return nil
        default: return .after(SequenceNumber(Int64(world.random.below(Int(head.rawValue) + 1))))
        }
    }

    /// Returns the first and the last number after which a new name may begin.
    private func earliest(_ position: EventPosition?) -> SequenceNumber {
        switch position {
        case .after(let number): number
        case .start: .zero
        case .now, nil: world.ledger.head
        }
    }

    private func latest(_ position: EventPosition?, _ head: SequenceNumber) -> SequenceNumber {
        switch position {
        case .after(let number): number
        case .start: world.ledger.retention == nil ? .zero : head
        case .now, nil: head
        }
    }

    private func acknowledge(_ subscriber: Subscriber, _ daemon: SimulatedDaemon) {
        guard let durable = subscriber.durable, durable.isKnown, subscriber.isFollowing, let seen = subscriber.seen
        else { return }
        let number = world.random.chance(700) ? seen : SequenceNumber(Int64(world.random.below(Int(seen.rawValue) + 1)))
        subscriber.durable?.acknowledges(number)
        subscriber.open += 1
        world.note("subscriber \(subscriber.number) acknowledges \(number)")
        Task {
            do {
                try await daemon.log.acknowledge(durable.name, owner: Subscriber.owner, number)
                subscriber.durable?.acknowledged(number)
                world.note("subscriber \(subscriber.number) has acknowledged \(number)")
            } catch {
                refused("acknowledgement", error)
            }
            answered(subscriber)
        }
    }

    private func forget(_ subscriber: Subscriber, _ daemon: SimulatedDaemon) {
        guard let durable = subscriber.durable, durable.isKnown, subscriber.open == 0 else { return }
        subscriber.durable?.forgets()
        subscriber.open += 1
        world.note("subscriber \(subscriber.number) is to be forgotten")
        Task {
            do {
                let wasThere = try await daemon.log.forget(durable.name, owner: Subscriber.owner)
                if !wasThere { world.violate("the subscriber \(durable.name) was forgotten") }
                subscriber.durable?.forgotten()
            } catch {
                refused("forgetting", error)
            }
            answered(subscriber)
        }
    }

    /// Only a failed disk excuses a refusal.
    private func refused(_ what: String, _ error: any Error) {
        world.note("\(what) is refused: \(error)")
        if !world.hasDiskTrouble { world.violate("\(what) is refused: \(error)") }
    }

    // MARK: Looking

    /// Whether all subscribers follow, and no request waits for an answer.
    var areSettled: Bool { all.allSatisfy { $0.isFollowing && $0.open == 0 } }

    /// Checks what must hold at any moment.
    func check(_ snapshot: StoreSnapshot) throws {
        try world.ledger.check(snapshot)
        let counts = try snapshot.counts()
        if counts != world.ledger.trail.counts {
            throw Violation("events tell of \(world.ledger.trail.counts) tasks; there are \(counts)")
        }
        for durable in all.compactMap(\.durable) {
            try durable.check(
                try snapshot.subscriber(durable.name, owner: Subscriber.owner), head: world.ledger.head)
        }
    }

    /// Checks what must hold after everything had its time.
    func checkEnd() throws {
        for subscriber in all { try subscriber.checkEnd() }
        try checkLog()
    }

    /// The log must still exist, as it was reported.
    func checkLog() throws {
        try world.read { try world.ledger.check(try $0.events(EventQuery(limit: .max)), in: $0) }
    }
}
