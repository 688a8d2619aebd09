import DequeModule
import Threading
import TransferModel
import TransferRPC

/// The newest stretch of the log in memory: what live subscribers read, without a hole.
struct EventTail {
    /// Most events that are kept.
    let limit: Int
    /// About how many bytes they may take; the newest event is kept whatever its size.
    let byteLimit: Int
    private var events: Deque<TailEvent> = []
    private var bytes = 0
    /// The newest event that was ever stored.
    private(set) var head: SequenceNumber

    init(head: SequenceNumber, limit: Int, byteLimit: Int = .max) {
        self.head = head
        self.limit = limit
        self.byteLimit = byteLimit
    }

    mutating func append(_ new: [EventRecord]) {
        for event in new {
            guard let sequence = event.sequence, sequence > head else { continue }
            // A hole would be delivered as one; SQL has what is missing.
            if sequence.rawValue != head.rawValue + 1 { removeAll() }
            let kept = TailEvent(event)
            events.append(kept)
            bytes += kept.size
            head = sequence
        }
        while events.count > limit || bytes > byteLimit && events.count > 1, let oldest = events.popFirst() {
            bytes -= oldest.size
        }
    }

    private mutating func removeAll() {
        events.removeAll()
        bytes = 0
    }

    /// Raises the head to what the store says; events before it are the store's.
    mutating func begin(at head: SequenceNumber) {
        guard head > self.head else { return }
        removeAll()
        self.head = head
    }

    /// Events after `cursor`, at most `count`; nil if only the store has them all.
    func page(after cursor: SequenceNumber, count: Int) -> [TailEvent]? {
        let missing = head.rawValue - cursor.rawValue
        guard missing > 0 else { return [] }
        guard missing <= events.count else { return nil }
        return Array(events.suffix(Int(missing)).prefix(count))
    }
}

/// An event on its way to subscribers; its text is made once, when the first one needs it.
final class TailEvent: @unchecked Sendable {
    /// Whoever makes or reads a text. One for all events: a lock for each costs more than most texts.
    private static let turn = Guarded(())

    let record: EventRecord
    /// About how many bytes it takes, its text included.
    let size: Int
    private var encoded: [UInt8]?

    init(_ record: EventRecord) {
        self.record = record
        size = 400 + 2 * record.payload.object.count
    }

    /// See `EventRecord.wireMembers`.
    var text: [UInt8] {
        Self.turn.withLock { _ in
            if let encoded { return encoded }
            let text = record.wireMembers
            encoded = text
            return text
        }
    }
}
