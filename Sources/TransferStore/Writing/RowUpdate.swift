import Threading
import TransferModel

/// A new status of a task, which is stored if the task is still in the state that the change starts from.
package struct StatusChange: Sendable {
    package var id: TaskID
    package var from: TaskState
    @Boxed package var status: TaskStatus
    /// Wall time at which the resource timeout runs out; forgotten while its time does not count.
    package var resourceTimeoutAt: Timestamp?
    /// The task's result; nil keeps what is stored.
    @BoxedOptional package var result: TaskResult?
    /// The metrics of the run that ends; nil keeps what is stored.
    package var metrics: StoredMetrics?

    package init(
        _ id: TaskID, from: TaskState, to status: TaskStatus, resourceTimeoutAt: Timestamp?, result: TaskResult? = nil
    ) {
        self.init(
            id, from: from, to: Boxed(wrappedValue: status), resourceTimeoutAt: resourceTimeoutAt, result: result)
    }

    /// Keeps the box of the task's status.
    package init(
        _ id: TaskID, from: TaskState, to status: Boxed<TaskStatus>, resourceTimeoutAt: Timestamp?,
        result: TaskResult? = nil
    ) {
        self.id = id
        self.from = from
        _status = status
        self.resourceTimeoutAt = resourceTimeoutAt
        self.result = result
    }
}

extension StoreTransaction {
    /// Stores changes of tasks whose states were read in this transaction.
    /// - Throws: `internal` if a task is not in the expected state; the body must then be rolled back.
    package func update(_ changes: [StatusChange]) throws {
        let met = try changes.count { try update($0) }
        guard met == changes.count else {
            throw TransferError(.internal, "\(changes.count - met) tasks were not in the state that was read.")
        }
    }

    /// Writes only the columns that change, if the stored status is known: each index on one of them costs as much as
    /// the row.
    /// - Parameter keepsExpiry: the stored resource timeout stays, while its time counts.
    /// - Returns: false if the task does not exist or is in another state; nothing is changed then.
    package func update(_ change: StatusChange, keepsExpiry: Bool = false) throws -> Bool {
        let stored = memory.stored(change.id)
        guard let place = try stored?.place ?? place(of: change.id)?.place else { return false }
        var columns = StatusColumns.changed(from: stored?.status, to: change.$status)
        var expiry = change.status.budgetMark == nil ? nil : change.resourceTimeoutAt
        if let stored, keepsExpiry || Self.isSame(expiry, stored.expiry), change.status.budgetMark != nil {
            expiry = stored.expiry
        } else if !keepsExpiry || change.status.budgetMark == nil {
            columns.insert(.expiry)
        }
        if change.result != nil { columns.formUnion(.result) }
        var change = change
        if let metrics = change.metrics {
            columns.formUnion(.metrics)
            // A first attempt has no stored metrics before its end.
            if change.status.attempts > 1 { change.metrics = metrics.appended(to: try storedMetrics(of: change.id)) }
        }
        let statement = try connection.statement(columns.update)
        let isMet = try memory.changing(change, expiry: expiry) {
            let next = try columns.bind(change, expiry, to: statement)
            statement.bind(change.id.rawValue, at: next)
            statement.bind(change.from.rawValue, at: next + 1)
            try statement.run()
            return connection.changes > 0
        }
        if isMet { try memory.tallies.move(place, from: change.from, to: change.status.state, in: connection) }
        return isMet
    }

    /// Two estimates of the same time differ at most by the rounding of two clocks.
    private static func isSame(_ a: Timestamp?, _ b: Timestamp?) -> Bool {
        guard let a, let b else { return a == b }
        return abs(a.rawValue - b.rawValue) <= 2
    }
}

/// The columns that a change of a task's status writes: the status, `expires_at`, the result and the metrics.
struct StatusColumns: OptionSet, Hashable {
    let rawValue: UInt32

    static let state = StatusColumns(rawValue: 1 << 0)
    static let reason = StatusColumns(rawValue: 1 << 1)
    static let nextAttempt = StatusColumns(rawValue: 1 << 2)
    static let error = StatusColumns(rawValue: 1 << 3)
    static let attempts = StatusColumns(rawValue: 1 << 4)
    static let failures = StatusColumns(rawValue: 1 << 5)
    static let restarts = StatusColumns(rawValue: 1 << 6)
    static let started = StatusColumns(rawValue: 1 << 7)
    static let finished = StatusColumns(rawValue: 1 << 8)
    static let used = StatusColumns(rawValue: 1 << 9)
    static let mark = StatusColumns(rawValue: 1 << 10)
    static let unresolved = StatusColumns(rawValue: 1 << 11)
    static let shortBody = StatusColumns(rawValue: 1 << 12)
    static let expiry = StatusColumns(rawValue: 1 << 13)
    /// The task's result: seven columns that are written together.
    static let result = StatusColumns(rawValue: 1 << 14)

    static let metrics = StatusColumns(rawValue: 1 << 15)

    /// The columns of the status.
    private static let status = StatusColumns(rawValue: 1 << 13 - 1)

    /// Names by bit; the result has several.
    private static let names = [
        "state", "reason", "next_attempt_at", "error", "attempts", "failures_in_row", "integrity_restarts",
        "started_at", "finished_at", "budget_used", "budget_mark", "unresolved_since", "short_body", "expires_at",
        "result_file = ?, result_bytes = ?, result_sha256 = ?, result_verified = ?, result_inode = ?, "
            + "result_changed_ns = ?, result_crc32c",
        "metrics",
    ]

    /// - Parameter old: nil if it is not known. The state is always written, so that the statement is never empty.
    static func changed(from old: Boxed<TaskStatus>?, to new: Boxed<TaskStatus>) -> StatusColumns {
        guard let old else { return status }
        var changed: StatusColumns = .state
        if old.wrappedValue.reason != new.wrappedValue.reason { changed.insert(.reason) }
        if old.wrappedValue.nextAttemptAt != new.wrappedValue.nextAttemptAt { changed.insert(.nextAttempt) }
        if old.wrappedValue.error != new.wrappedValue.error { changed.insert(.error) }
        if old.wrappedValue.attempts != new.wrappedValue.attempts { changed.insert(.attempts) }
        if old.wrappedValue.failuresInRow != new.wrappedValue.failuresInRow { changed.insert(.failures) }
        if old.wrappedValue.integrityRestarts != new.wrappedValue.integrityRestarts { changed.insert(.restarts) }
        if old.wrappedValue.startedAt != new.wrappedValue.startedAt { changed.insert(.started) }
        if old.wrappedValue.finishedAt != new.wrappedValue.finishedAt { changed.insert(.finished) }
        if old.wrappedValue.budgetUsed != new.wrappedValue.budgetUsed { changed.insert(.used) }
        if old.wrappedValue.budgetMark != new.wrappedValue.budgetMark { changed.insert(.mark) }
        if old.wrappedValue.unresolvedSince != new.wrappedValue.unresolvedSince { changed.insert(.unresolved) }
        if old.wrappedValue.shortBody != new.wrappedValue.shortBody { changed.insert(.shortBody) }
        return changed
    }

    /// The statement that writes them. OR FAIL: a refused change is rolled back with its body, so SQLite need not copy
    /// each page before it changes.
    var update: SQL {
        Self.updates.withLock { known in
            if let sql = known[self] { return sql }
            let names = Self.names.indices.filter { rawValue & 1 << $0 != 0 }.map { Self.names[$0] + " = ?" }
            let sql = SQL("UPDATE OR FAIL task SET \(names.joined(separator: ", ")) WHERE id = ? AND state = ?")
            known[self] = sql
            return sql
        }
    }

    /// There are few different sets.
    private static let updates = Guarded<[StatusColumns: SQL]>([:])

    /// Binds every column, with NULL if there is no value.
    /// - Returns: the parameter after the last one.
    func bind(_ change: StatusChange, _ expiry: Timestamp?, to statement: Statement) throws -> Int32 {
        var values = Values(statement: statement)
        if contains(.state) { values.add(change.status.state.rawValue) }
        if contains(.reason) { values.add(change.status.reason?.rawValue) }
        if contains(.nextAttempt) { values.add(change.status.nextAttemptAt?.rawValue) }
        if contains(.error) { values.add(change.status.error.map { JSONColumn.encode($0) }) }
        if contains(.attempts) { values.add(Int64(change.status.attempts)) }
        if contains(.failures) { values.add(Int64(change.status.failuresInRow)) }
        if contains(.restarts) { values.add(Int64(change.status.integrityRestarts)) }
        if contains(.started) { values.add(change.status.startedAt?.rawValue) }
        if contains(.finished) { values.add(change.status.finishedAt?.rawValue) }
        if contains(.used) { values.add(change.status.budgetUsed.rawValue) }
        if contains(.mark) { values.add(change.status.budgetMark) }
        if contains(.unresolved) { values.add(change.status.unresolvedSince?.milliseconds) }
        if contains(.shortBody) { values.add(change.status.shortBody.map { JSONColumn.encode($0) }) }
        if contains(.expiry) { values.add(expiry?.rawValue) }
        if contains(.result), let result = change.result { values.add(result) }
        if contains(.metrics), let metrics = change.metrics { values.add(metrics.bytes) }
        return values.next
    }
}

/// Binds the values of a statement in order.
private struct Values {
    let statement: Statement
    var next: Int32 = 1

    mutating func add(_ value: Int64?) {
        if let value { statement.bind(value, at: next) } else { statement.bindNull(at: next) }
        next += 1
    }

    mutating func add(_ value: Double) {
        statement.bind(value, at: next)
        next += 1
    }

    mutating func add(_ text: String?) {
        if let text { statement.bind(text, at: next) } else { statement.bindNull(at: next) }
        next += 1
    }

    mutating func add(_ bytes: [UInt8]) {
        statement.bind(bytes, at: next)
        next += 1
    }

    mutating func add(_ result: TaskResult) {
        add(result.file)
        add(result.bytes.rawValue)
        add(result.sha256)
        add(result.verified ? Int64(1) : Int64(0))
        add(result.mark.map { Int64(bitPattern: $0.inode) })
        add(result.mark?.changed)
        add(result.mark?.checksum.map { Int64($0) })
    }
}
