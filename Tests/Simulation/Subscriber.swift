import DaemonKit
import DaemonSetup
import Foundation
import TransferModel
import TransferRPC

/// A simulated subscriber: what it asks for, what it was told, and what it must be told next.
final class Subscriber: @unchecked Sendable {
    /// The content of one notification.
    enum Told {
        case event(SequenceNumber)
        case lagged(first: SequenceNumber)
        case progress(TaskID)
    }

    /// How far a subscription has come.
    private struct Place {
        /// The subscriber has all events up to a number between these two. They become equal as soon as it gets any
        /// notification.
        var lowest: SequenceNumber
        var highest: SequenceNumber
        /// The subscription began at the start of the kept log, and nobody told where that is.
        var beginsWhereKept = false
    }

    /// Exists as long as the connection.
    private struct Following {
        var connection: SubscriberConnection
        /// The text before each event. Nil before the subscription was answered.
        var prefix: [UInt8]?
        var place: Place?
    }

    let number: Int
    let selector: EventSelector
    var durable: DurableName?
    /// Nil if it wants no progress.
    let progressInterval: Seconds?
    private let readsAtOnce: Bool
    /// Everything that it asked for up to this number was read. Nil if it has no position in the log yet.
    private(set) var seen: SequenceNumber?
    /// The number of requests without an answer.
    var open = 0
    private var following: Following?
    private unowned let world: World

    init(_ world: World, _ number: Int) {
        self.world = world
        self.number = number
        selector = EventSelector(&world.random)
        durable = world.random.chance(650) ? DurableName("n\(number)") : nil
        progressInterval = world.random.chance(200) ? 1 : nil
        readsAtOnce = world.random.chance(500)
    }

    static let owner = Client.user
    var connection: SubscriberConnection? { following?.connection }
    var isQuick: Bool { readsAtOnce || world.isCalm }
    /// Whether the subscription was answered.
    var isFollowing: Bool { following?.place != nil }

    // MARK: Connections

    func connects(_ connection: SubscriberConnection) { following = Following(connection: connection) }

    /// - Parameters:
    ///   - first, last: The subscription begins after a number between these.
    func subscribed(
        _ subscription: String, after first: SequenceNumber, to last: SequenceNumber, beginsWhereKept: Bool
    ) {
        following?.prefix = Array(
            #"{"jsonrpc":"2.0","method":"event","params":{"subscription":"\#(subscription)""#.utf8)
        following?.place = Place(lowest: first, highest: last, beginsWhereKept: beginsWhereKept)
        // A subscriber that asked for no number does not need the earlier events.
        if durable == nil, seen == nil, !beginsWhereKept { seen = last }
    }

    /// The connection is gone, and so are the lines that were not read.
    func disconnected() { following = nil }

    /// - Parameter excused: Whether it did not read in time.
    func dropped(excused: Bool) {
        world.note("subscriber \(number) is dropped")
        if !excused, !world.hasDiskTrouble { violate("is dropped without a reason") }
        world.subscribers.closed(self)
    }

    /// The daemon died.
    func crashed() {
        following = nil
        open = 0
        durable?.lost(at: world.ledger.head)
    }

    // MARK: What it is told

    /// - Returns: Nil if the notification is wrong.
    func told(_ pieces: [[UInt8]]) -> Told? {
        guard let prefix = following?.prefix, following?.place != nil else { return wrong("before it was answered") }
        guard pieces.count == 3, pieces[0] == prefix, pieces[2] == [UInt8(ascii: "}")] else {
            return wrong("in another form")
        }
        guard let number = Self.sequence(pieces[1]) else { return toldUnnumbered(pieces[1]) }
        return toldEvent(number, pieces[1])
    }

    private func toldEvent(_ number: SequenceNumber, _ text: [UInt8]) -> Told? {
        guard var place = following?.place else { return nil }
        let ledger = world.ledger
        guard number <= ledger.head else { return wrong("event \(number), which is not durable") }
        guard text == ledger.text(of: number) else { return wrong("event \(number) with another content") }
        guard selector.selects(ledger[number]) else { return wrong("event \(number), which it did not ask for") }
        guard number > place.lowest else { return wrong("event \(number), and had \(place.lowest)") }
        if let skipped = ledger.first(of: selector, after: place.highest, before: number) {
            guard place.beginsWhereKept else { return wrong("event \(number), but not event \(skipped)") }
            ledger.claimGone(selector, after: place.highest, upTo: SequenceNumber(number.rawValue - 1))
        }
        place = Place(lowest: number, highest: number)
        following?.place = place
        world.note("subscriber \(self.number) is told event \(number)")
        return .event(number)
    }

    private func toldUnnumbered(_ text: [UInt8]) -> Told? {
        let ledger = world.ledger
        let json = [UInt8(ascii: "{")] + text.dropFirst()
        guard let place = following?.place,
            let event = try? JSONCoding.decode(Unnumbered.self, from: json, lenient: true)
        else {
            return wrong("what is no event")
        }
        switch (event.type, event.task, event.firstSequence) {
        case (EventType.eventsLagged.rawValue, nil, let first?):
            let first = SequenceNumber(first)
            let last = SequenceNumber(first.rawValue - 1)
            guard last > place.lowest, last <= ledger.head else { return wrong("that it lags behind \(first)") }
            ledger.claimGone(upTo: last, of: selector.owner)
            following?.place = Place(lowest: last, highest: max(last, place.highest))
            world.note("subscriber \(number) lags behind \(first)")
            return .lagged(first: first)
        case (EventType.taskProgress.rawValue, let task?, _):
            let task = TaskID(task)
            guard progressInterval != nil else { return wrong("progress, which it did not ask for") }
            guard ledger.trail.state(of: task) == .running else {
                return wrong("progress of task \(task), which does not run")
            }
            if let missing = ledger.first(of: selector, after: place.highest, before: ledger.end) {
                return wrong("progress before event \(missing)")
            }
            world.note("subscriber \(number) is told how task \(task) goes")
            return .progress(task)
        default: return wrong("an event without a number")
        }
    }

    private struct Unnumbered: WireObject {
        var type = ""
        var task: Int64?
        var firstSequence: Int64?
        static let shape = Shape("Unnumbered", Self()) { row in
            row("type", \.type)
            row("task", \.task)
            row("firstSequence", \.firstSequence)
        }
    }

    private func wrong(_ what: String) -> Told? {
        violate("is told \(what)")
        return nil
    }

    private func violate(_ text: String) { world.violate("subscriber \(number) \(text)") }

    /// The subscriber has read the notification.
    func read(_ told: Told) {
        switch told {
        case .event(let number): seen = max(seen ?? number, number)
        case .lagged(let first):
            let last = SequenceNumber(first.rawValue - 1)
            seen = max(seen ?? last, last)
        case .progress: break
        }
    }

    /// Checks that the subscriber got everything, after everything had its time.
    func checkEnd() throws {
        guard let place = following?.place else { throw Violation("subscriber \(number) cannot subscribe") }
        let ledger = world.ledger
        guard let missing = ledger.first(of: selector, after: place.highest, before: ledger.end) else { return }
        if place.beginsWhereKept { return ledger.claimGone(selector, after: place.highest, upTo: ledger.head) }
        throw Violation("subscriber \(number) was never told event \(missing)")
    }

    /// Returns the number at the start of an event, or nil if it has none.
    private static func sequence(_ text: [UInt8]) -> SequenceNumber? {
        let name = Array(#","sequence":"#.utf8)
        guard text.starts(with: name) else { return nil }
        let digits = text.dropFirst(name.count).prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        return Int64(String(decoding: digits, as: UTF8.self)).map { SequenceNumber($0) }
    }
}
