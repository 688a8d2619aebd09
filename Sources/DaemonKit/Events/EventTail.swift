import DequeModule
import Threading
import TransferModel
import TransferRPC

/// The newest stretch of the log in memory: what live subscribers read, without a hole.
struct EventTail {
    /// Most events that are kept.
    let limit: Int
    private var events: Deque<TailEvent> = []
    /// The newest event that was ever stored.
    private(set) var head: SequenceNumber

    init(head: SequenceNumber, limit: Int) {
        self.head = head
        self.limit = limit
    }

    mutating func append(_ new: [EventRecord]) {
        for event in new {
            guard let sequence = event.sequence, sequence > head else { continue }
            // A hole would be delivered as one; SQL has what is missing.
            if sequence.rawValue != head.rawValue + 1 { events.removeAll() }
            events.append(TailEvent(event))
            head = sequence
        }
        if events.count > limit { events.removeFirst(events.count - limit) }
    }

    /// Raises the head to what the store says; events before it are the store's.
    mutating func begin(at head: SequenceNumber) {
        guard head > self.head else { return }
        events.removeAll()
        self.head = head
    }

    /// Events after `cursor`, at most `count`; nil where only the store has them all.
    func page(after cursor: SequenceNumber, count: Int) -> [TailEvent]? {
        let missing = head.rawValue - cursor.rawValue
        guard missing > 0 else { return [] }
        guard missing <= events.count else { return nil }
        return Array(events.suffix(Int(missing)).prefix(count))
    }
}

/// An event on its way to subscribers; its text is made once, when the first one needs it.
final class TailEvent: Sendable {
    let record: EventRecord
    private let encoded = Guarded<[UInt8]?>(nil)

    init(_ record: EventRecord) { self.record = record }

    /// See `JSONWriter.members(of:)`.
    var text: [UInt8] {
        encoded.withLock { encoded in
            if let encoded { return encoded }
            let text = JSONWriter.members(of: record)
            encoded = text
            return text
        }
    }
}
