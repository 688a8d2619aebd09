import GRDB
import GRDBSQLite
import TransferModel

/// Changes many rows of one table with each statement, for the reasons that `RowInsert` inserts many.
struct RowUpdate: Sendable {
    private let columns: Int
    private let texts: [String]

    /// - Parameters:
    ///   - changed: columns that get the first values of each row, in order.
    ///   - matched: columns that must have the values that follow.
    init(_ table: String, set changed: [String], where matched: [String]) {
        columns = changed.count + matched.count
        let values = "(\(placeholders(columns)))"
        let assignments = changed.enumerated().map { "\($1) = given.column\($0 + 1)" }
        let conditions = matched.enumerated().map { "\(table).\($1) = given.column\($0 + 1 + changed.count)" }
        texts = RowInsert.sizes.map { size in
            let rows = repeatElement(values, count: size).joined(separator: ",")
            return """
                UPDATE \(table) SET \(assignments.joined(separator: ", ")) FROM (VALUES \(rows)) AS given \
                WHERE \(conditions.joined(separator: " AND "))
                """
        }
    }

    /// - Parameter bind: gives the values of the row with this index; what it does not give is NULL.
    /// - Returns: how many rows were met.
    /// - Throws: `DatabaseError` where SQLite refuses; the statement that met it changed nothing.
    func run(_ count: Int, in database: Database, bind: (inout RowValues, Int) throws -> Void) throws -> Int {
        var (done, met) = (0, 0)
        for (size, text) in zip(RowInsert.sizes, texts) where count - done >= size {
            let statement = try database.cachedStatement(sql: text)
            while count - done >= size {
                try RowInsert.run(statement, rows: done..<done + size, columns: columns, in: database, bind: bind)
                met += database.changesCount
                done += size
            }
            sqlite3_clear_bindings(statement.sqliteStatement)
        }
        return met
    }
}

/// What becomes of a task, to be stored where it is still in the state that it comes from.
package struct StatusChange: Sendable {
    package var id: TaskID
    package var from: TaskState
    package var status: TaskStatus
    /// Wall time at which its time for the resource runs out; forgotten while time does not count.
    package var resourceTimeoutAt: Timestamp?
    /// What the task left; nil keeps what is stored.
    package var result: TaskResult?

    package init(
        _ id: TaskID, from: TaskState, to status: TaskStatus, resourceTimeoutAt: Timestamp?, result: TaskResult? = nil
    ) {
        self.id = id
        self.from = from
        self.status = status
        self.resourceTimeoutAt = resourceTimeoutAt
        self.result = result
    }
}

extension StoreTransaction {
    /// Stores changes of tasks whose states were read in this transaction.
    /// - Throws: `internal` where one is not in the state it should come from; the body must then be undone.
    package func update(_ changes: [StatusChange]) throws {
        let (ends, moves) = (changes.filter { $0.result != nil }, changes.filter { $0.result == nil })
        let met =
            try Self.moveRows.run(moves.count, in: database) { try Self.bind(moves[$1], to: $0) }
            + Self.endRows.run(ends.count, in: database) { try Self.bind(ends[$1], to: $0) }
        guard met == changes.count else {
            throw TransferError(.internal, "\(changes.count - met) tasks were not in the state that was read.")
        }
    }

    private static let statusColumns = [
        "state", "reason", "next_attempt_at", "error", "attempts", "failures_in_row", "integrity_restarts",
        "started_at", "finished_at", "budget_used", "budget_mark", "unresolved_since", "short_body",
        "expires_at",
    ]
    private static let resultColumns = [
        "result_file", "result_bytes", "result_sha256", "result_verified", "result_inode", "result_changed_ns",
        "result_crc32c",
    ]
    private static let moveRows = RowUpdate("task", set: statusColumns, where: ["id", "state"])
    private static let endRows = RowUpdate("task", set: statusColumns + resultColumns, where: ["id", "state"])

    private static func bind(_ change: StatusChange, to row: RowValues) throws {
        let status = change.status
        row.set(1, status.state.rawValue)
        row.set(2, status.reason?.rawValue)
        row.set(3, status.nextAttemptAt?.rawValue)
        row.set(4, try status.error.map { try JSONColumn.encode($0) })
        row.set(5, Int64(status.attempts))
        row.set(6, Int64(status.failuresInRow))
        row.set(7, Int64(status.integrityRestarts))
        row.set(8, status.startedAt?.rawValue)
        row.set(9, status.finishedAt?.rawValue)
        row.set(10, status.budgetUsed.rawValue)
        row.set(11, status.budgetMark)
        row.set(12, status.unresolvedSince?.milliseconds)
        row.set(13, try status.shortBody.map { try JSONColumn.encode($0) })
        row.set(14, status.budgetMark == nil ? nil : change.resourceTimeoutAt?.rawValue)
        var next: Int32 = 15
        if let result = change.result {
            row.set(15, result.file)
            row.set(16, result.bytes.rawValue)
            row.set(17, result.sha256)
            row.set(18, result.verified ? Int64(1) : Int64(0))
            row.set(19, result.mark.map { Int64(bitPattern: $0.inode) })
            row.set(20, result.mark?.changed)
            row.set(21, result.mark?.checksum.map { Int64($0) })
            next = 22
        }
        row.set(next, change.id.rawValue)
        row.set(next + 1, change.from.rawValue)
    }
}
