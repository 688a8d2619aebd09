import DequeModule
import Threading
import TransferModel
import TransferRPC

/// The newest events of the log in memory, without a gap. Live subscribers read them here.
struct EventTail {
    /// The most events that are kept.
    let limit: Int
    /// The approximate limit of their bytes. The newest event is kept whatever its size.
    let byteLimit: Int
    private var events: Deque<TailEvent> = []
    private var bytes = 0
    /// The newest event ever stored.
    private(set) var head: SequenceNumber

    init(head: SequenceNumber, limit: Int, byteLimit: Int = .max) {
        self.head = head
        self.limit = limit
        self.byteLimit = byteLimit
    }

    mutating func append(_ new: [EventRecord]) {
        for event in new {
            guard let sequence = event.sequence, sequence > head else { continue }
            // Subscribers would not notice the gap; the store has the missing events.
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

    /// Raises the head to the store's. Earlier events are read from the store.
    mutating func begin(at head: SequenceNumber) {
        guard head > self.head else { return }
        removeAll()
        self.head = head
    }

    /// Returns at most `count` events after `cursor`, or nil if only the store has all of them.
    func page(after cursor: SequenceNumber, count: Int) -> [TailEvent]? {
        let missing = head.rawValue - cursor.rawValue
        guard missing > 0 else { return [] }
        guard missing <= events.count else { return nil }
        return Array(events.suffix(Int(missing)).prefix(count))
    }
}

/// An event on its way to subscribers. Its text is made once, when the first subscriber needs it.
final class TailEvent: @unchecked Sendable {
    /// Guards the texts of all events. A lock for each event would cost more than most texts.
    private static let turn = Guarded(false)

    let record: EventRecord
    /// The approximate size in bytes, including the text.
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
