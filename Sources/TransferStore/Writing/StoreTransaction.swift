import GRDB
import TransferModel

/// One body's part of a grouped commit: reads as a snapshot that sees the body's own changes, and changes.
package final class StoreTransaction: StoreSnapshot {
    /// Events of this body, with their numbers; handed on when the commit is durable.
    private(set) var appended: [EventRecord] = []
    let storageIsLow: Bool

    init(_ database: Database, storageIsLow: Bool) {
        self.storageIsLow = storageIsLow
        super.init(database)
    }

    func execute(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws {
        try statement(sql).execute(arguments: arguments)
    }

    /// Runs a change.
    /// - Returns: whether it met a row.
    func changes(_ sql: String, _ arguments: StatementArguments) throws -> Bool {
        try execute(sql, arguments)
        return database.changesCount > 0
    }

    /// The next number of a counter. A body that is rolled back gives its numbers back with its savepoint: the log
    /// has no hole.
    func next(_ counter: Counter) throws -> Int64 {
        let value = try integer(
            "UPDATE counter SET value = value + 1 WHERE name = ? RETURNING value", [counter.rawValue])
        guard let value else { throw TransferError(.internal, "The store has no counter \(counter.rawValue).") }
        return value
    }

    enum Counter: String {
        case event, task
    }

    /// Stores the event with the next sequence number.
    /// - Returns: that number.
    /// - Throws: `internal` for a progress event, which has no number.
    @discardableResult
    package func append(_ event: EventRecord) throws -> SequenceNumber {
        guard event.type != .taskProgress else {
            throw TransferError(.internal, "Progress is never stored.")
        }
        var event = event
        let sequence = SequenceNumber(try next(.event))
        event.sequence = sequence
        try execute(
            "INSERT INTO event (sequence, time, type, owner, session, task, payload) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                sequence.rawValue, event.time.rawValue, event.type.rawValue, event.session.owner.rawValue,
                event.session.identifier, event.task?.rawValue,
                event.payload.isEmpty ? nil : try JSONColumn.encode(event.payload),
            ])
        appended.append(event)
        return sequence
    }
}
