import TransferModel
import TransferStore

/// A page of events, from the tail in memory or, for older ones, from the store.
struct EventPage: Sendable {
    /// The matching events, in order.
    var events: [TailEvent]
    /// Every event up to this number was examined.
    var cursor: SequenceNumber
    /// If events after the cursor are gone: the first number from which all events are kept.
    var lost: SequenceNumber?
}

/// The part of the store that the feed reads.
package protocol EventLog: Sendable {
    /// Returns the matching events after `after`, the head, and the first number from which all events are kept. All
    /// three are read at one moment.
    func events(
        _ filter: EventFilter, after: SequenceNumber, limit: Int
    ) async throws -> (events: [EventRecord], head: SequenceNumber, first: SequenceNumber)
    func head() async throws -> SequenceNumber
    func acknowledged(_ name: String, owner: UserID) async throws -> SequenceNumber?
    func acknowledge(_ name: String, owner: UserID, _ sequence: SequenceNumber) async throws
    func forget(_ name: String, owner: UserID) async throws -> Bool
}

extension TransferStore: EventLog {
    package func events(
        _ filter: EventFilter, after: SequenceNumber, limit: Int
    ) async throws -> (events: [EventRecord], head: SequenceNumber, first: SequenceNumber) {
        let page = try await eventPage(filter.query(after: after, limit: limit))
        return (page.events, page.head, page.first)
    }

    package func head() async throws -> SequenceNumber {
        try await read { try $0.eventHead() }
    }

    package func acknowledged(_ name: String, owner: UserID) async throws -> SequenceNumber? {
        try await read { try $0.subscriber(name, owner: owner) }
    }

    package func acknowledge(_ name: String, owner: UserID, _ sequence: SequenceNumber) async throws {
        _ = try await write { try $0.acknowledge(name, owner: owner, sequence) }
    }

    package func forget(_ name: String, owner: UserID) async throws -> Bool {
        try await write { transaction in
            guard try transaction.forget(name, owner: owner) else { return false }
            // Otherwise every event would count as unseen from now on.
            try transaction.endLaunches(for: name, owner: owner)
            return true
        }
    }
}
