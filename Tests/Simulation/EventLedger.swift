import TransferModel
import TransferRPC
import TransferStore

/// Every event of a world, as it was said to be durable: what subscribers must be told, and what a crash must leave.
final class EventLedger {
    private var events: [EventRecord] = []
    /// As they are told; made when the first subscriber is.
    private var texts: [[UInt8]?] = []
    private(set) var trail = TaskTrail()
    /// Of what was still there when somebody looked last.
    private var firstKept: SequenceNumber = SequenceNumber(1)
    /// Everything up to here was said to be gone.
    private var claimedGone: SequenceNumber = .zero
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
        }
        try trail.follow(new)
    }

    subscript(_ number: SequenceNumber) -> EventRecord { events[Int(number.rawValue) - 1] }

    /// What follows `"params":{"subscription":"…",`.
    func text(of number: SequenceNumber) -> [UInt8] {
        let index = Int(number.rawValue) - 1
        if let text = texts[index] { return text }
        let text = JSONWriter.members(of: events[index])
        texts[index] = text
        return text
    }

    /// The first event after `number`, and before `end`, that is selected; nil where there is none.
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

    /// Somebody was told that retention has taken everything up to `number`.
    func claimGone(upTo number: SequenceNumber) { claimedGone = max(claimedGone, number) }

    /// Nobody was told, and still the events that are selected among these were left out.
    func claimGone(_ selector: EventSelector, after number: SequenceNumber, upTo last: SequenceNumber) {
        guard number < last else { return }
        for gone in ((number.rawValue + 1)...last.rawValue).reversed()
        where selector.selects(self[SequenceNumber(gone)]) {
            return claimGone(upTo: SequenceNumber(gone))
        }
    }

    /// Retention takes what it may, and has taken what subscribers were told.
    /// - Parameter first: number of the first event still in the store.
    func check(first: SequenceNumber) throws {
        if first < firstKept { throw Violation("event \(first) is there again") }
        firstKept = first
        if claimedGone >= first { throw Violation("a subscriber was not told event \(claimedGone), which is kept") }
        let needed = retention.map { max(0, head.rawValue - Int64($0)) } ?? 0
        if first.rawValue > needed + 1 { throw Violation("event \(needed + 1) is dropped too early") }
    }

    /// The store's log must be what was said to be durable.
    func check(_ stored: [EventRecord], first: SequenceNumber) throws {
        try check(first: first)
        guard stored.count == events.count - Int(first.rawValue) + 1 else {
            throw Violation("\(stored.count) events are kept from \(first) on; the last one durable is \(head)")
        }
        for (event, number) in zip(stored, first.rawValue...) where event != events[Int(number) - 1] {
            // A whole number comes back without its fraction.
            guard JSONWriter.members(of: event) == text(of: SequenceNumber(number)) else {
                throw Violation("event \(number) has changed since it was durable")
            }
        }
    }
}
