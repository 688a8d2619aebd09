import GRDB
import TransferModel

extension StoreTransaction {
    /// Removes those of `tasks` that still are history from before `time`.
    /// - Returns: the tasks removed, whose part files and uploads remain to be removed.
    package func expire(_ tasks: [TaskRecord], before time: Timestamp) throws -> [TaskRecord] {
        // One may have been retried, or removed, since it was read.
        let expired = Set(
            try heads(tasks.map(\.id)).filter { head in head.status.finishedAt.map { $0 < time } ?? false }.map(\.id))
        try delete(Array(expired))
        return tasks.filter { expired.contains($0.id) }
    }

    /// Removes up to `limit` events from the beginning of the log: those older than `time`, and those beyond the
    /// newest `count`. What remains has no hole.
    /// - Returns: how many were removed; call again while it is `limit`.
    package func expireEvents(before time: Timestamp, keeping count: Int, limit: Int) throws -> Int {
        let first = try firstEventKept().rawValue
        let last = try eventHead().rawValue
        let end = min(last, first + Int64(limit) - 1)
        guard first <= end else { return 0 }
        let young = try integer(
            "SELECT min(sequence) FROM event WHERE sequence BETWEEN ? AND ? AND time >= ?",
            [first, end, time.rawValue])
        let cut = min(end, max(young.map { $0 - 1 } ?? end, last - Int64(max(0, count))))
        guard cut >= first else { return 0 }
        try execute("DELETE FROM event WHERE sequence <= ?", [cut])
        freesPages = true
        return Int(cut - first + 1)
    }

    /// Forgets client tokens older than `time`: their tasks can no longer be meant by an add.
    package func expireClientTokens(before time: Timestamp, limit: Int) throws -> Int {
        try execute(
            """
            DELETE FROM client_token WHERE (owner, token) IN \
            (SELECT owner, token FROM client_token WHERE created_at < ? LIMIT ?)
            """, [time.rawValue, limit])
        return database.changesCount
    }

    /// Gives at most so many free pages back to the file system.
    /// - Returns: how many are left.
    func giveBack(atMost pages: Int) throws -> Int {
        try execute("PRAGMA incremental_vacuum(\(pages))")
        return try freePages()
    }
}

extension StoreSnapshot {
    /// Pages of the file that hold nothing.
    func freePages() throws -> Int { Int(try integer("PRAGMA freelist_count") ?? 0) }

    /// Up to `limit` finished tasks whose end lies before `time`, the oldest first.
    package func history(before time: Timestamp, limit: Int) throws -> [TaskRecord] {
        try tasks(try ended(before: time, limit: limit))
    }

    /// The oldest ends of every stretch of history, merged.
    private func ended(before time: Timestamp, limit: Int) throws -> [TaskID] {
        let cells = try Row.fetchAll(
            try statement(
                """
                SELECT session, state FROM task_count WHERE count > 0 AND state IN ('completed', 'failed', 'cancelled')
                """))
        var ends: [(time: Int64, id: Int64)] = []
        for cell in cells {
            for kind in TaskKind.allCases {
                let rows = try Row.fetchCursor(
                    try statement(
                        """
                        SELECT finished_at, id FROM task INDEXED BY task_by_end WHERE session = ? AND state = ? \
                        AND kind = ? AND finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at, id LIMIT ?
                        """),
                    arguments: [cell[0] as Int64, cell[1] as String, kind.rawValue, time.rawValue, limit])
                while let row = try rows.next() { ends.append((row[0], row[1])) }
            }
        }
        return ends.sorted { ($0.time, $0.id) < ($1.time, $1.id) }.prefix(limit).map { TaskID($0.id) }
    }
}
