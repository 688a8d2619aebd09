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
            columns.bind(change, expiry, to: statement)
            try statement.runAndClear()
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

/// The columns that a change of a task's status writes: those of the status, by their places in `StatusColumn.all`,
/// `expires_at`, the result and the metrics.
struct StatusColumns: OptionSet, Hashable {
    let rawValue: UInt32

    static let expiry = StatusColumns(rawValue: 1 << StatusColumn.all.count)
    /// The task's result: seven columns that are written together.
    static let result = StatusColumns(rawValue: expiry.rawValue << 1)
    static let metrics = StatusColumns(rawValue: expiry.rawValue << 2)

    /// Names by bit; the result has several.
    private static let names =
        StatusColumn.all.map(\.name) + [
            "expires_at",
            "result_file = ?, result_bytes = ?, result_sha256 = ?, result_verified = ?, result_inode = ?, "
                + "result_changed_ns = ?, result_crc32c",
            "metrics",
        ]

    /// - Parameter old: nil if it is not known. The state is always written, so that the statement is never empty.
    static func changed(from old: Boxed<TaskStatus>?, to new: Boxed<TaskStatus>) -> StatusColumns {
        guard let old else { return StatusColumns(rawValue: expiry.rawValue - 1) }
        var changed: UInt32 = 1
        for (place, column) in StatusColumn.all.enumerated() where column.differs(old, new) { changed |= 1 << place }
        return StatusColumns(rawValue: changed)
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

    /// Binds the columns, then the condition of `update`.
    func bind(_ change: StatusChange, _ expiry: Timestamp?, to statement: Statement) {
        var next: Int32 = 1
        func add(_ value: some Bindable) {
            value.bind(to: statement, at: next)
            next += 1
        }
        for (place, column) in StatusColumn.all.enumerated() where rawValue & 1 << place != 0 {
            column.bind(change.$status, statement, next)
            next += 1
        }
        if contains(.expiry) { add(expiry) }
        if contains(.result), let result = change.result {
            add(result.file)
            add(result.bytes)
            add(result.sha256)
            add(result.verified)
            add(result.mark?.inode)
            add(result.mark?.changed)
            add(result.mark?.checksum)
        }
        if contains(.metrics), let metrics = change.metrics { add(metrics.bytes) }
        add(change.id)
        add(change.from)
    }
}
