import TransferModel

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
        let met = try changes.count { try update($0) }
        guard met == changes.count else {
            throw TransferError(.internal, "\(changes.count - met) tasks were not in the state that was read.")
        }
    }

    /// Writes the columns that change, if what is stored is known: each index that has one of them costs as much as the row.
    /// - Parameter keepsExpiry: what is stored of the time for the resource stays, while time counts.
    /// - Returns: false where the task does not exist or is in another state; nothing is changed then.
    func update(_ change: StatusChange, keepsExpiry: Bool = false) throws -> Bool {
        let stored = recent?.stored(change.id)
        var columns = StatusColumn.allCases.filter { $0.isChanged(from: stored?.status, to: change.status) }
        var expiry = change.status.budgetMark == nil ? nil : change.resourceTimeoutAt
        if let stored, keepsExpiry || StatusColumn.isSame(expiry, stored.expiry), change.status.budgetMark != nil {
            expiry = stored.expiry
        } else if !keepsExpiry || change.status.budgetMark == nil {
            columns.append(.expiry)
        }
        let hasResult = change.result != nil
        if statusUpdate?.columns != columns || statusUpdate?.hasResult != hasResult {
            statusUpdate = try StatusUpdate(columns, hasResult: hasResult, in: self)
        }
        guard let statement = statusUpdate?.statement else { return false }
        func run() throws {
            let row = RowValues(statement: statement, first: 0)
            for (index, column) in columns.enumerated() {
                try column.bind(change.status, expiry, to: row, Int32(index + 1))
            }
            if let result = change.result {
                for (index, column) in ResultColumn.allCases.enumerated() {
                    column.bind(result, to: row, Int32(columns.count + index + 1))
                }
            }
            let next = Int32(columns.count + (hasResult ? ResultColumn.allCases.count : 0)) + 1
            row.set(next, change.id.rawValue)
            row.set(next + 1, change.from.rawValue)
            try statement.runAndClear()
        }
        guard let recent else {
            try run()
            return connection.changes > 0
        }
        return try recent.changing(change, expiry: expiry) {
            try run()
            return connection.changes > 0
        }
    }
}

/// The statement that stored a status last: tasks that change together change alike.
struct StatusUpdate {
    fileprivate var columns: [StatusColumn]
    fileprivate var hasResult: Bool
    fileprivate var statement: Statement

    fileprivate init(_ columns: [StatusColumn], hasResult: Bool, in transaction: StoreTransaction) throws {
        self.columns = columns
        self.hasResult = hasResult
        // OR FAIL: what is refused is undone with its body, so that SQLite need not copy each page before it changes.
        let names = columns.map(\.rawValue) + (hasResult ? ResultColumn.allCases.map(\.rawValue) : [])
        statement = try transaction.connection.statement(
            "UPDATE OR FAIL task SET \(names.joined(separator: " = ?, ")) = ? WHERE id = ? AND state = ?")
    }
}

/// The columns of a status, and `expires_at`.
private enum StatusColumn: String, CaseIterable {
    case state, reason
    case nextAttempt = "next_attempt_at"
    case error, attempts
    case failures = "failures_in_row"
    case restarts = "integrity_restarts"
    case started = "started_at"
    case finished = "finished_at"
    case used = "budget_used"
    case mark = "budget_mark"
    case unresolved = "unresolved_since"
    case shortBody = "short_body"
    case expiry = "expires_at"

    static let allCases: [StatusColumn] = [
        .state, .reason, .nextAttempt, .error, .attempts, .failures, .restarts, .started, .finished, .used, .mark,
        .unresolved, .shortBody,
    ]

    /// - Parameter old: nil where it is not known. The state is always written: there is something to write then.
    func isChanged(from old: TaskStatus?, to new: TaskStatus) -> Bool {
        guard let old else { return true }
        return switch self {
        case .state: true
        case .reason: old.reason != new.reason
        case .nextAttempt: old.nextAttemptAt != new.nextAttemptAt
        case .error: old.error != new.error
        case .attempts: old.attempts != new.attempts
        case .failures: old.failuresInRow != new.failuresInRow
        case .restarts: old.integrityRestarts != new.integrityRestarts
        case .started: old.startedAt != new.startedAt
        case .finished: old.finishedAt != new.finishedAt
        case .used: old.budgetUsed != new.budgetUsed
        case .mark: old.budgetMark != new.budgetMark
        case .unresolved: old.unresolvedSince != new.unresolvedSince
        case .shortBody: old.shortBody != new.shortBody
        case .expiry: true
        }
    }

    /// The estimate differs by a rounding of two clocks at most.
    static func isSame(_ a: Timestamp?, _ b: Timestamp?) -> Bool {
        guard let a, let b else { return a == b }
        return abs(a.rawValue - b.rawValue) <= 2
    }

    func bind(_ status: TaskStatus, _ expiry: Timestamp?, to row: RowValues, _ index: Int32) throws {
        switch self {
        case .state: row.set(index, status.state.rawValue)
        case .reason: row.set(index, status.reason?.rawValue)
        case .nextAttempt: row.set(index, status.nextAttemptAt?.rawValue)
        case .error: row.set(index, try status.error.map { try JSONColumn.encode($0) })
        case .attempts: row.set(index, Int64(status.attempts))
        case .failures: row.set(index, Int64(status.failuresInRow))
        case .restarts: row.set(index, Int64(status.integrityRestarts))
        case .started: row.set(index, status.startedAt?.rawValue)
        case .finished: row.set(index, status.finishedAt?.rawValue)
        case .used: row.set(index, status.budgetUsed.rawValue)
        case .mark: row.set(index, status.budgetMark)
        case .unresolved: row.set(index, status.unresolvedSince?.milliseconds)
        case .shortBody: row.set(index, try status.shortBody.map { try JSONColumn.encode($0) })
        case .expiry: row.set(index, expiry?.rawValue)
        }
    }
}

/// The columns of what a task left.
private enum ResultColumn: String, CaseIterable {
    case file = "result_file"
    case bytes = "result_bytes"
    case sha256 = "result_sha256"
    case verified = "result_verified"
    case inode = "result_inode"
    case changed = "result_changed_ns"
    case checksum = "result_crc32c"

    func bind(_ result: TaskResult, to row: RowValues, _ index: Int32) {
        switch self {
        case .file: row.set(index, result.file)
        case .bytes: row.set(index, result.bytes.rawValue)
        case .sha256: row.set(index, result.sha256)
        case .verified: row.set(index, result.verified ? Int64(1) : Int64(0))
        case .inode: row.set(index, result.mark.map { Int64(bitPattern: $0.inode) })
        case .changed: row.set(index, result.mark?.changed)
        case .checksum: row.set(index, result.mark?.checksum.map { Int64($0) })
        }
    }
}
