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
