import TransferModel
import TransferRPC
import TransferStore

/// Every event of a world as it was reported durable: what subscribers must be told, and what must survive a crash.
final class EventLedger {
    private var events: [EventRecord] = []
    /// The texts of the events as subscribers get them. Created when the first subscriber needs one.
    private var texts: [[UInt8]?] = []
    private(set) var trail = TaskTrail()
    /// For each owner: the number of events in the whole log, and the first kept event at the last check.
    private var owners: [UserID: (count: Int, firstKept: SequenceNumber)] = [:]
    /// The daemon told the subscribers to these owners that everything up to this number is gone.
    private var claimedGone: [OwnerScope: SequenceNumber] = [:]
    /// The number of events that are always kept. Nil means all.
    let retention: Int?

    init(retention: Int?) { self.retention = retention }

    var head: SequenceNumber { SequenceNumber(Int64(events.count)) }
    /// The number of the next event.
    var end: SequenceNumber { SequenceNumber(Int64(events.count + 1)) }

    /// Adds the events of one commit.
    /// - Throws: `Violation` if an event cannot follow the earlier ones.
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

    /// Returns the text that follows `"params":{"subscription":"…"`.
    func text(of number: SequenceNumber) -> [UInt8] {
        let index = Int(number.rawValue) - 1
        if let text = texts[index] { return text }
        let text = events[index].wireMembers
        texts[index] = text
        return text
    }

    /// Returns the first selected event after `number` and before `end`, or nil if there is none.
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

    /// The daemon told a subscriber to these owners that retention has removed everything up to `number`.
    func claimGone(upTo number: SequenceNumber, of scope: OwnerScope) {
        claimedGone[scope] = max(claimedGone[scope] ?? .zero, number)
    }

    /// The daemon left out selected events in this range without telling the subscriber.
    func claimGone(_ selector: EventSelector, after number: SequenceNumber, upTo last: SequenceNumber) {
        guard number < last else { return }
        for gone in ((number.rawValue + 1)...last.rawValue).reversed()
        where selector.selects(self[SequenceNumber(gone)]) {
            return claimGone(upTo: SequenceNumber(gone), of: selector.owner)
        }
    }

    /// Checks that retention removed no more than allowed, only from the owners with the most events, and all events
    /// that subscribers were told about.
    func check(_ snapshot: StoreSnapshot) throws {
        let counts = try snapshot.eventCounts()
        let kept = counts.values.reduce(0, +)
        if kept < min(events.count, retention ?? .max) { throw Violation("\(kept) of \(events.count) events are kept") }
        for (owner, before) in owners {
            let first = try snapshot.firstEventKept(of: owner)
            if first < before.firstKept { throw Violation("event \(first) of \(owner) is there again") }
            owners[owner]?.firstKept = first
            // An equal share only gets smaller, and no owner loses all events.
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

    /// The store's log must match the durable events, except for the oldest events of owners with too many.
    func check(_ stored: [EventRecord], in snapshot: StoreSnapshot) throws {
        try check(snapshot)
        let kept = events.filter { event in
            event.sequence.map { $0 >= owners[event.session.owner]?.firstKept ?? .zero } ?? false
        }
        guard stored.map(\.sequence) == kept.map(\.sequence) else {
            throw Violation("\(stored.count) events are kept, not the last \(kept.count) up to \(head)")
        }
        for (event, expected) in zip(stored, kept) where event != expected {
            // A whole number is read back without its fraction.
            guard let number = event.sequence, event.wireMembers == text(of: number) else {
                throw Violation("event \(event.sequence ?? .zero) has changed since it was durable")
            }
        }
    }
}
