import TransferModel

/// Bounds what one owner may keep in the daemon's memory, and forgets whole sessions.
extension StoreTransaction {
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
        // First the size of the whole store, which is one number: the query over all bodies is then rare.
        let pages = try integer("PRAGMA page_count") ?? 0
        let free = try integer("PRAGMA freelist_count") ?? 0
        let size = try integer("PRAGMA page_size") ?? 0
        guard (pages - free) * size + Int64(count) > Bounds.volatileBodies else { return }
        let kept =
            try integer(
                """
                SELECT sum(length(content)) FROM body JOIN task ON task.id = body.task \
                JOIN session ON session.id = task.session WHERE session.owner = \
                (SELECT owner FROM session JOIN task ON task.session = session.id WHERE task.id = ?)
                """, id.rawValue) ?? 0
        guard kept + Int64(count) > Bounds.volatileBodies else { return }
        throw TransferError(
            .limitReached,
            "The bodies of your volatile sessions have \(Bounds.volatileBodies >> 20) MiB; read them with task.body, and "
                + "remove their tasks.", retryable: false)
    }

    /// Forgets a session that has no tasks any more, and the client tokens of all removed tasks of its owner.
    package func forgetSession(_ key: SessionKey) throws {
        guard let row = try sessionRow(key) else { return }
        knownSessions[key] = nil
        try execute(
            "DELETE FROM client_token WHERE owner = ? AND task NOT IN (SELECT id FROM task)", key.owner.rawValue)
        try execute("DELETE FROM session WHERE id = ?", row)
        freesPages = true
    }
}
