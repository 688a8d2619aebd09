import TransferModel
import TransferRPC

/// What the store may hold under a subscriber's durable name, as far as its client can know: an answer that did not come
/// leaves two possibilities.
struct DurableName {
    let name: String
    /// The lowest number that may be acknowledged; nil if the store certainly does not know the name.
    private(set) var lowest: SequenceNumber?
    /// The highest one.
    private(set) var highest: SequenceNumber = .zero
    /// Whether the client knows if the store knows the name.
    private(set) var isCertain = true

    init(_ name: String) { self.name = name }

    var isKnown: Bool { isCertain && lowest != nil }

    /// The name may be made by a subscription that is asked for.
    /// - Parameter first: where it would begin at the earliest.
    mutating func asks(from first: SequenceNumber) {
        guard !isKnown else { return }
        lowest = min(lowest ?? first, first)
        isCertain = false
    }

    /// It was answered.
    /// - Parameter first: where a new one began at the latest.
    mutating func subscribed(from first: SequenceNumber) {
        guard !isKnown else { return }
        highest = max(highest, first)
        isCertain = true
    }

    /// It was not, and never will be.
    mutating func lost(at head: SequenceNumber) {
        if !isKnown { highest = max(highest, head) }
    }

    mutating func acknowledges(_ number: SequenceNumber) { highest = max(highest, number) }
    mutating func acknowledged(_ number: SequenceNumber) { lowest = max(lowest ?? number, number) }

    mutating func forgets() { isCertain = false }

    mutating func forgotten() { self = DurableName(name) }

    /// Compares with what the store holds.
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
