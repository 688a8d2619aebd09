import TransferModel
import TransferStore

/// Where events come from: the tail in memory, or the store for what is older. One answer for both.
struct EventPage: Sendable {
    /// Those that match, in order.
    var events: [TailEvent]
    /// Everything up to here was looked at.
    var cursor: SequenceNumber
    /// First number from which on all are kept, if events between the cursor and it are gone.
    var lost: SequenceNumber?
}

/// What the feed reads from the store.
package protocol EventLog: Sendable {
    /// Matching events after `after`, the head, and the number from which on all are kept: all of one moment.
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
            // Every event would count as unseen from now on.
            try transaction.endLaunches(for: name, owner: owner)
            return true
        }
    }
}
