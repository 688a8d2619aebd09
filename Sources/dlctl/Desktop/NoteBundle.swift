import TransferModel
import TransferRPC

/// Collects the events of a moment: few get a notification each, many get one together.
struct NoteBundle {
    /// From the first event on, for so long others may join it.
    static let window = Duration.seconds(2)
    /// So many events are shown as one.
    static let least = 4

    /// The first events, which is all if there are few.
    private(set) var events: [EventView] = []
    private(set) var counts: [EventType: Int] = [:]
    /// The number of the last event.
    private(set) var last: SequenceNumber?

    var isEmpty: Bool { events.isEmpty }
    /// Whether the events are shown as one.
    var isOne: Bool { counts.values.reduce(0, +) >= Self.least }

    mutating func add(_ event: EventView) {
        if events.count < Self.least { events.append(event) }
        counts[event.type, default: 0] += 1
        last = event.sequence ?? last
    }
}
