import TransferModel
import TransferRPC

/// What the store may have under a subscriber's durable name, as far as the client can know. A missing answer leaves
/// two possibilities.
struct DurableName {
    let name: String
    /// The lowest number that may be acknowledged. Nil if the store certainly does not know the name.
    private(set) var lowest: SequenceNumber?
    /// The highest number that may be acknowledged.
    private(set) var highest: SequenceNumber = .zero
    /// Whether the client knows if the store has the name.
    private(set) var isCertain = true

    init(_ name: String) { self.name = name }

    var isKnown: Bool { isCertain && lowest != nil }

    /// A requested subscription may create the name.
    /// - Parameter first: The earliest number after which it may begin.
    mutating func asks(from first: SequenceNumber) {
        guard !isKnown else { return }
        lowest = min(lowest ?? first, first)
        isCertain = false
    }

    /// The subscription was answered.
    /// - Parameter first: The latest number after which a new subscription began.
    mutating func subscribed(from first: SequenceNumber) {
        guard !isKnown else { return }
        highest = max(highest, first)
        isCertain = true
    }

    /// The subscription was not answered and never will be.
    mutating func lost(at head: SequenceNumber) {
        if !isKnown { highest = max(highest, head) }
    }

    mutating func acknowledges(_ number: SequenceNumber) { highest = max(highest, number) }
    mutating func acknowledged(_ number: SequenceNumber) { lowest = max(lowest ?? number, number) }

    mutating func forgets() { isCertain = false }

    mutating func forgotten() { self = DurableName(name) }

    /// Compares the name with what the store has.
    func check(_ stored: SequenceNumber?, head: SequenceNumber) throws {
        guard let stored else {
            if isKnown { throw Violation("the subscriber \(name) is forgotten") }
            return
        }
        guard let lowest else { throw Violation("the subscriber \(name) is still known") }
        let end = isCertain ? highest : max(highest, head)
        if stored < lowest || stored > end {
            throw Violation("the subscriber \(name) has \(stored) acknowledged, not from \(lowest) to \(end)")
        }
    }
}
