import GRDB
import TransferModel

extension StoreSnapshot {
    /// The task, whole; nil where there is none.
    package func task(_ id: TaskID) throws -> TaskRecord? {
        try records("WHERE task.id = ?", [id.rawValue]).first
    }

    /// The task's status alone; nil where there is no such task.
    package func status(of id: TaskID) throws -> TaskStatus? {
        let row = try Row.fetchOne(
            try statement("SELECT \(TaskRow.statusColumns) FROM task WHERE id = ?"), arguments: [id.rawValue])
        return try row.map { try TaskRow.status($0, from: 0) }
    }

    /// Those of the tasks that exist, in the order asked for.
    package func tasks(_ ids: [TaskID]) throws -> [TaskRecord] {
        guard ids.count > 1 else { return try ids.compactMap { try task($0) } }
        return try rows(of: ids, TaskRow.record)
    }

    /// The same for a page.
    func listed(_ ids: [TaskID]) throws -> [ListedTask] { try rows(of: ids, TaskRow.listed) }

    private func rows<Value>(of ids: [TaskID], _ value: (Row) throws -> Value) throws -> [Value] {
        let rows = try Row.fetchCursor(try statement(Self.wantedSQL), arguments: [Self.list(ids)])
        var values: [Value] = []
        values.reserveCapacity(ids.count)
        while let row = try rows.next() { values.append(try value(row)) }
        return values
    }

    /// CROSS JOIN: the list is the outer loop, so that its order is the answer's.
    private static let wantedSQL = """
        SELECT \(TaskRow.columns) FROM json_each(?) AS wanted CROSS JOIN task ON task.id = wanted.value \
        \(TaskRow.joins) ORDER BY wanted.key
        """

    /// Every task that is `running`, by id.
    package func running() throws -> [TaskRecord] {
        try records("WHERE task.state = 'running' ORDER BY task.id", [])
    }

    /// Tasks that wait for `reason`, by id from `after` (exclusive).
    package func waiting(reason: WaitReason, after: TaskID? = nil, limit: Int) throws -> [TaskRecord] {
        try records(
            "WHERE task.state = 'waiting' AND task.reason = ? AND task.id > ? ORDER BY task.id LIMIT ?",
            [reason.rawValue, after?.rawValue ?? 0, limit])
    }

    /// The task that `owner` added with this token at `notBefore` or later and that still exists.
    package func taskID(clientToken: String, owner: UserID, notBefore: Timestamp) throws -> TaskID? {
        try taskIDs(
            "SELECT task FROM client_token WHERE owner = ? AND token = ? AND created_at >= ?",
            [owner.rawValue, clientToken, notBefore.rawValue]
        ).first
    }

    /// Tasks per state, from the counters: O(sessions counted), whatever the number of tasks. States without any are 0.
    package func counts(owner: UserID? = nil, session: SessionKey? = nil) throws -> [TaskState: Int] {
        var counts: [TaskState: Int] = [:]
        for state in TaskState.allCases { counts[state] = 0 }
        let rows: RowCursor
        if let session {
            guard owner == nil || owner == session.owner else { return counts }
            rows = try Row.fetchCursor(
                try statement(
                    """
                    SELECT task_count.state, count FROM task_count JOIN session ON session.id = task_count.session \
                    WHERE session.owner = ? AND session.identifier = ?
                    """), arguments: [session.owner.rawValue, session.identifier])
        } else if let owner {
            rows = try Row.fetchCursor(
                try statement(
                    """
                    SELECT task_count.state, sum(count) FROM task_count JOIN session ON session.id = task_count.session \
                    WHERE session.owner = ? GROUP BY task_count.state
                    """), arguments: [owner.rawValue])
        } else {
            rows = try Row.fetchCursor(try statement("SELECT state, sum(count) FROM task_count GROUP BY state"))
        }
        while let row = try rows.next() { counts[try JSONColumn.word(row[0])] = row[1] }
        return counts
    }

    /// Tasks of all sessions of `owner` that have not ended, from the counters.
    package func unfinishedTasks(of owner: UserID) throws -> Int {
        try counts(owner: owner).reduce(0) { $1.key.isFinal ? $0 : $0 + $1.value }
    }

    func records(_ tail: String, _ arguments: StatementArguments) throws -> [TaskRecord] {
        let sql = "SELECT \(TaskRow.columns) FROM task \(TaskRow.joins) \(tail)"
        let rows = try Row.fetchCursor(try statement(sql), arguments: arguments)
        var records: [TaskRecord] = []
        while let row = try rows.next() { records.append(try TaskRow.record(row)) }
        return records
    }
}
