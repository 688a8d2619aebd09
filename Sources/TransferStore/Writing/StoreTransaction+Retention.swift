import GRDB
import TransferModel

extension StoreTransaction {
    /// Removes up to `limit` finished tasks whose end lies before `time`, the oldest first; gives free pages back to
    /// the file system.
    /// - Returns: the tasks removed, whose part files remain to be removed.
    package func expireHistory(before time: Timestamp, limit: Int) throws -> [TaskRecord] {
        let expired = try ended(before: time, limit: limit)
        let records = try tasks(expired)
        for record in records { try delete(record.id) }
        if !records.isEmpty { try shrink() }
        return records
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
        try shrink()
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

    /// Gives at most 4 MiB of free pages back to the file system.
    private func shrink() throws {
        try execute("PRAGMA incremental_vacuum(1024)")
    }
}
