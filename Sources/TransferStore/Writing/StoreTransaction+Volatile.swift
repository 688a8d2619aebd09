import TransferModel

/// Bounds what one owner may keep in the daemon's memory, and forgets whole sessions.
extension StoreTransaction {
    /// The first id of the tasks of this start's volatile sessions. Each start has ids of its own, so that none is used
    /// twice. Only for the store on the disk.
    package func nextVolatileIDs() throws -> TaskID {
        let starts = try text("SELECT value FROM meta WHERE name = 'volatile_starts'").flatMap { Int64($0) } ?? 0
        try execute("DELETE FROM meta WHERE name = 'volatile_starts'")
        try execute("INSERT INTO meta (name, value) VALUES ('volatile_starts', ?)", String(starts + 1))
        return TaskID(TaskID.firstVolatile.rawValue + starts % Self.mostStarts * Self.idsOfStart)
    }

    private static let idsOfStart: Int64 = 1_000_000_000
    /// All ids are below 2^53.
    private static let mostStarts: Int64 = 8_000_000

    /// - Throws: `limit.reached` if an owner of `tasks` would have more than `Bounds.volatileTasks`.
    func requireRoom(for tasks: [NewTask]) throws {
        var added: [UserID: Int] = [:]
        for task in tasks { added[task.session.owner, default: 0] += 1 }
        for (owner, count) in added {
            let held = try counts(owner: owner).values.reduce(0, +)
            guard held + count > Bounds.volatileTasks else { continue }
            throw TransferError(
                .limitReached,
                "One user has at most \(Bounds.volatileTasks) tasks in volatile sessions; remove those that have ended."
            )
        }
    }

    /// A client that never reads its responses must not fill the daemon's memory.
    /// - Throws: `limit.reached` if the owner's bodies would have more than `Bounds.volatileBodies`.
    func requireRoom(forBody count: Int, of id: TaskID) throws {
        guard try !isSmall(with: count) else { return }
        let owner = try integer(
            "SELECT owner FROM session JOIN task ON task.session = session.id WHERE task.id = ?", id.rawValue)
        guard let owner, try !hasRoom(forBodies: count, of: UserID(UInt32(owner))) else { return }
        throw TransferError(
            .limitReached,
            "The bodies of your volatile sessions have \(Bounds.volatileBodies >> 20) MiB; read them with task.body, and "
                + "remove their tasks.", retryable: false)
    }

    /// Whether an owner may have bodies with this many more bytes.
    package func hasRoom(forBodies count: Int, of owner: UserID) throws -> Bool {
        if try isSmall(with: count) { return true }
        let kept =
            try integer(
                """
                SELECT sum(length(content)) FROM body JOIN task ON task.id = body.task \
                JOIN session ON session.id = task.session WHERE session.owner = ?
                """, owner.rawValue) ?? 0
        return kept + Int64(count) <= Bounds.volatileBodies
    }

    /// Whether the whole store is small. This is one number, so the sum over all bodies is seldom needed.
    private func isSmall(with count: Int) throws -> Bool {
        let size = try integer("PRAGMA page_size") ?? 0
        func fits(_ pages: Int64) -> Bool { pages * size + Int64(count) <= Bounds.volatileBodies }
        let pages = try integer("PRAGMA page_count") ?? 0
        return try fits(pages) || fits(pages - (integer("PRAGMA freelist_count") ?? 0))
    }

    /// Forgets tasks of a session whose tasks have all ended. It does so in one step, because removing the rows one by
    /// one costs several times as much. Only for the volatile store.
    /// - Returns: whether there were any.
    package func forgetTasks(of key: SessionKey, limit: Int) throws -> Bool {
        guard let row = try sessionRow(key) else { return false }
        let rows = try connection.rows("SELECT id, lane, state FROM task WHERE session = ? LIMIT ?", row, limit)
        let tasks = try rows.map { row in (id: row[0] as Int64, lane: row[1] as Int64, state: row[2] as String) }
        guard !tasks.isEmpty else { return false }
        for task in tasks {
            let place = Tallies.Place(session: row, lane: task.lane)
            try memory.tallies.count(place, try JSONColumn.word(task.state), by: -1, in: connection)
        }
        let ids = "[" + tasks.map { String($0.id) }.joined(separator: ",") + "]"
        try connection.execute("DELETE FROM client_token WHERE task IN (SELECT value FROM json_each(?))", ids)
        try connection.execute("DELETE FROM task WHERE id IN (SELECT value FROM json_each(?))", ids)
        isUntidy = true
        return true
    }

    /// Forgets a session that has no tasks any more, and the client tokens of the tasks that it had; those of the
    /// owner's other sessions stay. Only for the volatile store.
    package func forgetSession(_ key: SessionKey) throws {
        guard let row = try sessionRow(key) else { return }
        knownSessions[key] = nil
        try execute("DELETE FROM client_token WHERE owner = ? AND session = ?", key.owner.rawValue, row)
        try execute("DELETE FROM session WHERE id = ?", row)
        isUntidy = true
    }
}
