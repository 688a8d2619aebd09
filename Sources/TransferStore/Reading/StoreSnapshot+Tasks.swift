import TransferModel

extension StoreSnapshot {
    /// The whole task; nil if there is none.
    /// - Throws: `internal` if it cannot be read.
    package func task(_ id: TaskID) throws -> TaskRecord? {
        if let known = recent?.record(id) { return known }
        guard let row = try connection.rows(Self.taskSQL, id).next() else { return nil }
        let record = try TaskRow.record(row)
        recent?.noteRead(record, TaskRow.place(row), expiry: TaskRow.expiry(row), length: TaskRow.specLength(row))
        return record
    }

    private static let taskSQL = SQL("SELECT \(TaskRow.columns) FROM task \(TaskRow.joins) WHERE task.id = ?")

    /// Only the task's status; nil if there is no such task.
    package func status(of id: TaskID) throws -> TaskStatus? {
        if let known = recent?.record(id) { return known.status }
        return try rows("SELECT \(TaskRow.statusColumns) FROM task WHERE id = ?", id).next()
            .map { try TaskRow.status($0, from: 0) }
    }

    /// Those of the tasks that exist and can be read, in the requested order.
    package func tasks(_ ids: [TaskID]) throws -> [TaskRecord] {
        guard ids.count > 1 else {
            do { return try ids.compactMap(task) } catch let error as TransferError where error.code == .internal {
                return []
            }
        }
        return try rows(Self.wantedSQL, Self.list(ids)).readable(TaskRow.record)
    }

    /// The same for a page, which also ends at `bytes` of specs and answers, but not before its first task: a thousand
    /// tasks may hold gigabytes.
    /// - Returns: the tasks, and how many of `ids` were looked at.
    func listed(_ ids: [TaskID], bytes: Int) throws -> (tasks: [ListedTask], count: Int) {
        var tasks: [ListedTask] = []
        var length = 0
        for (index, id) in ids.enumerated() {
            // One by one: SQLite would read the whole list before its first row.
            guard let task = try rows(Self.taskSQL, id).readable(TaskRow.listed).first else { continue }
            length += task.length
            if length > bytes, !tasks.isEmpty { return (tasks, index) }
            tasks.append(task)
        }
        return (tasks, ids.count)
    }

    /// CROSS JOIN: the list is the outer loop, so that its order is the answer's.
    private static let wantedSQL = """
        SELECT \(TaskRow.columns) FROM json_each(?) AS wanted CROSS JOIN task ON task.id = wanted.value \
        \(TaskRow.joins) ORDER BY wanted.key
        """

    /// One section of the index for each session and kind.
    static let runningSQL = """
        SELECT task.id FROM session CROSS JOIN task INDEXED BY task_by_id ON task.session = session.id \
        AND task.state = 'running' AND task.kind IN (\(TaskKind.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))) \
        ORDER BY task.id
        """

    /// Every task that is `running`, in order.
    package func runningIDs() throws -> [TaskID] {
        try taskIDs(Self.runningSQL)
    }

    /// Tasks that wait for `reason`, by id, after `after`. Tasks that cannot be read are omitted.
    package func waiting(reason: WaitReason, after: TaskID? = nil, limit: Int) throws -> [TaskRecord] {
        try records(
            "WHERE task.state = 'waiting' AND task.reason = ? AND task.id > ? ORDER BY task.id LIMIT ?",
            reason, after ?? TaskID(0), limit)
    }

    /// Ids, hosts and owners of tasks that wait for another attempt or for the network after this error, by id, after
    /// `after`.
    package func waiting(
        error: ErrorCode, after: TaskID? = nil, limit: Int
    ) throws -> [(id: TaskID, host: String, owner: UserID)] {
        try rows(
            """
            SELECT task.id, lane.host, session.owner FROM task JOIN lane ON lane.id = task.lane \
            JOIN session ON session.id = task.session WHERE task.state = 'waiting' \
            AND task.reason IN ('retry', 'network') AND task.id > ? AND json_extract(task.error, '$.code') = ? \
            ORDER BY task.id LIMIT ?
            """, after ?? TaskID(0), error.rawValue, limit
        ).map { ($0[0], $0[1], $0[2]) }
    }

    /// What `owner` last added with this token, not before `notBefore`; nil if nothing.
    package func use(ofToken token: String, owner: UserID, notBefore: Timestamp) throws -> ClientTokenUse? {
        let row = try rows(
            """
            SELECT client_token.task, digest, removed_as, state FROM client_token \
            LEFT JOIN task ON task.id = client_token.task \
            WHERE owner = ? AND token = ? AND client_token.created_at >= ? ORDER BY client_token.task DESC LIMIT 1
            """, owner, token, notBefore
        ).next()
        guard let row else { return nil }
        let state: TaskState? = try row.word(3)
        return ClientTokenUse(
            task: row[0], digest: row[1], state: try state ?? row.word(2) ?? .cancelled, isRemoved: state == nil)
    }

    /// Downloads of the session that have not ended, by the indexes of their URLs in `urls`; if several have the same
    /// URL, the oldest. Only downloads that were stored with `isSought` are found.
    package func queued(urls: [String], in session: SessionKey) throws -> [Int: TaskID] {
        guard let row = try sessionRow(session), !urls.isEmpty else { return [:] }
        let found = try rows(Self.queuedSQL, JSONColumn.encode(urls), row).map { ($0[0] as Int, $0[1] as TaskID) }
        return Dictionary(found) { $1 }
    }

    /// One index lookup for each URL, however many tasks have it.
    static let queuedSQL = """
        SELECT place, id FROM (
            SELECT given.key AS place, (
                SELECT task.id FROM task INDEXED BY task_url
                WHERE session = ?2 AND url = given.value AND sought = 1 AND kind = 'download' AND finished_at IS NULL
                ORDER BY task.id LIMIT 1) AS id
            FROM json_each(?1) AS given)
        WHERE id IS NOT NULL
        """

    /// Tasks per state, from the counters: O(sessions counted), however many tasks there are. States without tasks are
    /// 0.
    package func counts(owner: UserID? = nil, session: SessionKey? = nil) throws -> [TaskState: Int] {
        var counts: [TaskState: Int] = [:]
        for state in TaskState.allCases { counts[state] = 0 }
        if let session, let owner, owner != session.owner { return counts }
        let known = "session IN (SELECT id FROM session WHERE owner = ?"
        let condition = session != nil ? "WHERE \(known) AND identifier = ?)" : owner != nil ? "WHERE \(known))" : ""
        let found = try rows(
            "SELECT state, sum(count) FROM task_count \(condition) GROUP BY state", session?.owner ?? owner,
            session?.identifier)
        while let row = try found.next() { counts[try row.word(0)] = row[1] }
        return counts
    }

    /// How many tasks the sessions have in each state, by kind. Only an index is read, but all of it.
    package func census(owner: UserID?, sessions: [String]? = nil) throws -> [TaskKind: [TaskState: Int]] {
        var query = TaskQuery(owner: owner)
        query.sessions = sessions
        var census: [TaskKind: [TaskState: Int]] = [:]
        for cell in try cells(query).cells {
            census[cell.kind, default: [:]][cell.state, default: 0] += try count(query, in: [cell])
        }
        return census
    }

    /// How many tasks of the sessions wait, by reason.
    package func waiting(owner: UserID?, sessions: [String]? = nil) throws -> [WaitReason: Int] {
        let found =
            try owner.map {
                try rows(Self.waitingSQL(Self.ofOwner), $0, sessions.map { JSONColumn.encode($0) })
            } ?? rows(Self.waitingSQL(""))
        var waiting: [WaitReason: Int] = [:]
        while let row = try found.next() { waiting[try row.word(0)] = row[1] }
        return waiting
    }

    /// An index has the reasons of all tasks, but whose they are is in their rows.
    static func waitingSQL(_ condition: String) -> String {
        "SELECT reason, count(*) FROM task INDEXED BY task_waiting WHERE state = 'waiting'\(condition) GROUP BY reason"
    }

    private static let ofOwner = """
         AND session IN (SELECT id FROM session WHERE owner = ?1 \
        AND (?2 IS NULL OR identifier IN (SELECT value FROM json_each(?2))))
        """

    /// Tasks of all sessions of `owner` that have not ended, from the counters.
    package func unfinishedTasks(of owner: UserID) throws -> Int {
        try counts(owner: owner).reduce(0) { $1.key.isFinal ? $0 : $0 + $1.value }
    }

    func records<each Value: Bindable>(_ tail: String, _ values: repeat each Value) throws -> [TaskRecord] {
        try rows("SELECT \(TaskRow.columns) FROM task \(TaskRow.joins) \(tail)", repeat each values).readable(
            TaskRow.record)
    }
}

/// What was added with a client token.
package struct ClientTokenUse: Sendable, Hashable {
    package var task: TaskID
    /// Of the request; nil if an older dld stored the token.
    package var digest: [UInt8]?
    /// Of the task; if it was removed, the state in which it ended.
    package var state: TaskState
    package var isRemoved: Bool

    /// Bytes of a digest.
    package static let digestLength = 16
}
