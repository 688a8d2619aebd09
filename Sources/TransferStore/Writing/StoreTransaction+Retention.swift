import TransferModel

extension StoreTransaction {
    /// Removes those of `tasks` that are still history from before `time`.
    /// - Returns: the removed tasks, whose part files and uploads are still to be removed.
    package func expire(_ tasks: [TaskRecord], before time: Timestamp) throws -> [TaskRecord] {
        // A task may have been retried, or removed, since it was read.
        let expired = Set(
            try heads(tasks.map(\.id)).filter { head in head.status.finishedAt.map { $0 < time } ?? false }.map(\.id))
        try delete(Array(expired))
        return tasks.filter { expired.contains($0.id) }
    }

    /// Removes events older than `time` from the beginning of the log, within the first `limit` sequence numbers.
    /// - Returns: whether there may be more.
    package func expireEvents(before time: Timestamp, limit: Int) throws -> Bool {
        guard let first = try integer("SELECT min(sequence) FROM event") else { return false }
        let head = try eventHead().rawValue
        let end = min(head, first + Int64(limit) - 1)
        let young = try integer(
            "SELECT min(sequence) FROM event WHERE sequence BETWEEN ? AND ? AND time >= ?", first, end, time)
        let cut = young.map { $0 - 1 } ?? end
        guard cut >= first else { return false }
        let owners: [(UserID, Int, Int64)] = try rows(
            "SELECT owner, count(*), max(sequence) FROM event WHERE sequence <= ? GROUP BY owner", cut
        ).map { ($0[0], $0[1], $0[2]) }
        for (owner, count, last) in owners { try expired(count, upTo: last, of: owner) }
        try execute("DELETE FROM event WHERE sequence <= ?", cut)
        isUntidy = true
        return young == nil && cut < head
    }

    /// Removes these events, which are the oldest of their owner.
    package func expireEvents(_ numbers: [SequenceNumber], of owner: UserID) throws {
        guard let last = numbers.last?.rawValue else { return }
        let count = try numbers.count { try changes("DELETE FROM event WHERE sequence = ? AND owner = ?", $0, owner) }
        try expired(count, upTo: last, of: owner)
        isUntidy = true
    }

    private func expired(_ count: Int, upTo last: Int64, of owner: UserID) throws {
        try execute(
            "UPDATE event_owner SET count = count - ?, expired = max(expired, ?) WHERE owner = ?",
            count, last, owner)
    }

    /// Forgets up to `limit` invalidated sessions that were created before `time` and have no tasks left. A session
    /// stays while there is a stored event for the end of one of its tasks, because that event may still start its
    /// program.
    /// - Returns: how many.
    package func expireSessions(before time: Timestamp, limit: Int) throws -> Int {
        let expired = try rows(
            """
            SELECT id, owner, identifier FROM session WHERE state = 'invalidated' AND created_at < ? \
            AND NOT EXISTS (SELECT 1 FROM task_count WHERE task_count.session = session.id AND count > 0) \
            AND NOT EXISTS (SELECT 1 FROM event WHERE event.owner = session.owner \
            AND event.session = session.identifier \
            AND event.type IN ('task.completed', 'task.failed', 'task.cancelled')) LIMIT ?
            """, time, limit
        ).map { (id: $0[0] as Int64, key: $0[1] as SessionKey) }
        for (id, key) in expired {
            knownSessions[key] = nil
            try execute("DELETE FROM session WHERE id = ?", id)
        }
        return expired.count
    }

    /// Forgets client tokens older than `time` whose tasks were removed: no add can refer to them any more. Tokens of
    /// tasks that still exist stay, so that the tasks can be found by them.
    package func expireClientTokens(before time: Timestamp, limit: Int) throws -> Int {
        try execute(
            """
            DELETE FROM client_token WHERE (owner, token, task) IN \
            (SELECT owner, token, task FROM client_token WHERE removed_as IS NOT NULL AND created_at < ? LIMIT ?)
            """, time, limit)
        return connection.changes
    }

    /// Gives at most `pages` free pages back to the file system.
    /// - Returns: how many remain.
    func giveBack(atMost pages: Int) throws -> Int {
        try execute("PRAGMA incremental_vacuum(\(pages))")
        return try freePages()
    }
}

extension StoreSnapshot {
    /// Pages of the file that contain nothing.
    func freePages() throws -> Int { Int(try integer("PRAGMA freelist_count") ?? 0) }

    /// How many events each owner has.
    package func eventCounts() throws -> [UserID: Int] {
        let counts = try rows("SELECT owner, count FROM event_owner WHERE count > 0").map {
            ($0[0] as UserID, $0[1] as Int)
        }
        return Dictionary(counts) { $1 }
    }

    /// Numbers of the owner's oldest events. The search begins where retention last stopped: in total it passes each
    /// event once.
    package func oldestEvents(of owner: UserID, limit: Int) throws -> [SequenceNumber] {
        try rows(
            """
            SELECT sequence FROM event WHERE sequence > (SELECT expired FROM event_owner WHERE owner = ?1) \
            AND +owner = ?1 ORDER BY sequence LIMIT ?2
            """, owner, limit
        ).map { $0[0] }
    }

    /// Up to `limit` finished tasks that ended before `time`, the oldest first: merged from the oldest ends of every
    /// section of history.
    package func history(before time: Timestamp, limit: Int) throws -> [TaskID] {
        let cells = try rows(
            """
            SELECT session, state FROM task_count WHERE count > 0 AND state IN ('completed', 'failed', 'cancelled')
            """
        ).map { (session: $0[0] as Int64, state: $0[1] as String) }
        var ends: [(time: Int64, id: Int64)] = []
        for cell in cells {
            for kind in TaskKind.allCases {
                ends += try rows(
                    """
                    SELECT finished_at, id FROM task INDEXED BY task_by_end WHERE session = ? AND state = ? \
                    AND kind = ? AND finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at, id LIMIT ?
                    """, cell.session, cell.state, kind, time, limit
                ).map { ($0[0], $0[1]) }
            }
        }
        return ends.sorted { ($0.time, $0.id) < ($1.time, $1.id) }.prefix(limit).map { TaskID($0.id) }
    }
}
