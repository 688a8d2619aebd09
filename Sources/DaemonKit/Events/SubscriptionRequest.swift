import TransferModel
import TransferRPC

/// The checked parameters of `events.subscribe`.
package struct SubscriptionRequest: Sendable {
    package var after: EventPosition?
    /// The durable name.
    package var subscriber: String?
    package var filter: EventFilter
    package var peer: UserID
    package var progressInterval: Seconds?

    package init(
        after: EventPosition? = nil, subscriber: String? = nil, filter: EventFilter, peer: UserID,
        progressInterval: Seconds? = nil
    ) {
        self.after = after
        self.subscriber = subscriber
        self.filter = filter
        self.peer = peer
        self.progressInterval = progressInterval
    }

    /// The interval between two progress events; nil if the client wants none.
    func interval(default setting: Seconds) -> Duration? {
        guard filter.types?.contains(.taskProgress) ?? true else { return nil }
        let wanted = progressInterval ?? setting
        return wanted == 0 ? nil : wanted.duration
    }

    /// Returns the number after which the subscription begins; nil for the head at the moment of its registration.
    /// Registers the durable name.
    /// - Throws: `request.bad_field` for a number beyond the head; what the store throws.
    func start(in feed: EventFeed) async throws -> SequenceNumber? {
        let known: SequenceNumber? =
            if let subscriber { try await feed.log.acknowledged(subscriber, owner: peer) } else { nil }
        let cursor: SequenceNumber?
        switch after {
        case .after(let sequence):
            try sequence.requireUpTo(feed.head)
            cursor = sequence
        case .start:
            let (_, head, first) = try await feed.log.events(filter, after: .zero, limit: 1)
            cursor = min(head, SequenceNumber(first.rawValue - 1))
        case .now: cursor = nil
        case nil: cursor = known
        }
        guard let subscriber, known == nil else { return cursor }
        let first = cursor ?? feed.head
        try await feed.log.acknowledge(subscriber, owner: peer, first)
        return first
    }
}

extension SequenceNumber {
    /// - Throws: `request.bad_field` if the number is beyond the head.
    func requireUpTo(_ head: SequenceNumber) throws(TransferError) {
        guard self > head else { return }
        throw TransferError(
            .badField, "after: the log ends at \(head); this number is of another store.",
            details: ["field": "after", "head": .integer(head.rawValue)])
    }
}
