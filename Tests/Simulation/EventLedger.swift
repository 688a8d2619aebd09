import TransferModel
import TransferRPC
import TransferStore

/// Every event of a world, as it was said to be durable: what subscribers must be told, and what a crash must leave.
final class EventLedger {
    private var events: [EventRecord] = []
    /// As they are told; made when the first subscriber is.
    private var texts: [[UInt8]?] = []
    private(set) var trail = TaskTrail()
    /// Of each owner: events of the whole log, and the first one still there when somebody looked last.
    private var owners: [UserID: (count: Int, firstKept: SequenceNumber)] = [:]
    /// Whoever asks for these owners' events was told that everything up to here is gone.
    private var claimedGone: [OwnerScope: SequenceNumber] = [:]
    /// Events that are kept, whatever comes; nil = all.
    let retention: Int?

    init(retention: Int?) { self.retention = retention }

    var head: SequenceNumber { SequenceNumber(Int64(events.count)) }
    /// The number that the next event will have.
    var end: SequenceNumber { SequenceNumber(Int64(events.count + 1)) }

    /// Takes in what one commit brought.
    /// - Throws: `Violation` where it cannot follow what came before.
    func commit(_ new: [EventRecord]) throws {
        for event in new {
            guard let sequence = event.sequence else { throw Violation("an event has no number") }
            if sequence.rawValue != head.rawValue + 1 { throw Violation("event \(sequence) follows \(head)") }
            events.append(event)
            texts.append(nil)
            owners[event.session.owner, default: (0, SequenceNumber(1))].count += 1
        }
        try trail.follow(new)
    }

    subscript(_ number: SequenceNumber) -> EventRecord { events[Int(number.rawValue) - 1] }

    /// What follows `"params":{"subscription":"…"`.
    func text(of number: SequenceNumber) -> [UInt8] {
        let index = Int(number.rawValue) - 1
        if let text = texts[index] { return text }
        let text = events[index].wireMembers
        texts[index] = text
        return text
    }

    /// The first event after `number`, and before `end`, that is selected; nil if there is none.
    func first(
        of selector: EventSelector, after number: SequenceNumber, before end: SequenceNumber
    ) -> SequenceNumber? {
        guard number.rawValue + 1 < end.rawValue else { return nil }
        for next in (number.rawValue + 1)..<end.rawValue where selector.selects(self[SequenceNumber(next)]) {
            return SequenceNumber(next)
        }
        return nil
    }

    // MARK: What is kept

    /// Whoever asks for these owners' events was told that retention has taken everything up to `number`.
    func claimGone(upTo number: SequenceNumber, of scope: OwnerScope) {
        claimedGone[scope] = max(claimedGone[scope] ?? .zero, number)
    }

    /// Nobody was told, and still the events that are selected among these were left out.
    func claimGone(_ selector: EventSelector, after number: SequenceNumber, upTo last: SequenceNumber) {
        guard number < last else { return }
        for gone in ((number.rawValue + 1)...last.rawValue).reversed()
        where selector.selects(self[SequenceNumber(gone)]) {
            return claimGone(upTo: SequenceNumber(gone), of: selector.owner)
        }
    }

    /// Retention has taken no more than it may, from those who have the most, and has taken what subscribers were told.
    func check(_ snapshot: StoreSnapshot) throws {
        let counts = try snapshot.eventCounts()
        let kept = counts.values.reduce(0, +)
        if kept < min(events.count, retention ?? .max) { throw Violation("\(kept) of \(events.count) events are kept") }
        for (owner, before) in owners {
            let first = try snapshot.firstEventKept(of: owner)
            if first < before.firstKept { throw Violation("event \(first) of \(owner) is there again") }
            owners[owner]?.firstKept = first
            // An equal share only gets smaller: no owner loses all events.
            let (count, share) = (counts[owner] ?? 0, (retention ?? .max) / owners.count)
            if count < min(before.count, share) {
                throw Violation("\(count) of \(before.count) events of \(owner) are kept")
            }
        }
        for (scope, claimed) in claimedGone {
            let first = try snapshot.firstEventKept(of: scope.owner)
            if claimed >= first { throw Violation("a subscriber was not told event \(claimed), which is kept") }
        }
    }

    /// The store's log must be what was said to be durable, but for the oldest events of owners who had too many.
    func check(_ stored: [EventRecord], in snapshot: StoreSnapshot) throws {
        try check(snapshot)
        let kept = events.filter { event in
            event.sequence.map { $0 >= owners[event.session.owner]?.firstKept ?? .zero } ?? false
        }
        guard stored.map(\.sequence) == kept.map(\.sequence) else {
            throw Violation("\(stored.count) events are kept, not the last \(kept.count) up to \(head)")
        }
        for (event, expected) in zip(stored, kept) where event != expected {
            // A whole number comes back without its fraction.
            guard let number = event.sequence, event.wireMembers == text(of: number) else {
                throw Violation("event \(event.sequence ?? .zero) has changed since it was durable")
            }
        }
    }
}
