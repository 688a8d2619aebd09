import TransferModel

extension StoreTransaction {
    /// Stores a new session.
    /// - Throws: `internal` if the owner has a session with this identifier: look it up in the same transaction first.
    package func insertSession(_ session: SessionRecord) throws { _ = try add(session) }

    /// - Returns: the row of the new session.
    private func add(_ session: SessionRecord) throws -> Int64 {
        knownSessions[session.key] = nil
        try execute(
            """
            INSERT INTO session (owner, identifier, kind, state, configuration, created_at) VALUES (?, ?, ?, ?, ?, ?)
            """,
            session.key.owner.rawValue, session.key.identifier, session.kind.rawValue, session.state.rawValue,
            try JSONColumn.encode(session.configuration), session.createdAt.rawValue)
        let row = connection.lastInsertedRow
        for state in TaskState.allCases {
            try execute("INSERT INTO task_count (session, state, count) VALUES (?, ?, 0)", row, state.rawValue)
        }
        return row
    }

    /// Replaces everything but the key of a stored session, or of `shared`, which is stored if it was not.
    /// - Throws: `session.not_found`.
    package func updateSession(_ session: SessionRecord) throws {
        _ = try existingSession(session.key)
        knownSessions[session.key] = nil
        try execute(
            """
            UPDATE session SET kind = ?, state = ?, configuration = ?, created_at = ?, paused_since = ?, paused_time = ? \
            WHERE owner = ? AND identifier = ?
            """,
            session.kind.rawValue, session.state.rawValue, try JSONColumn.encode(session.configuration),
            session.createdAt.rawValue, session.pause.since, session.pause.time,
            session.key.owner.rawValue, session.key.identifier)
    }

    /// Row of the session; `shared` is stored when it is first needed.
    /// - Throws: `session.not_found`.
    func existingSession(_ key: SessionKey) throws -> Int64 {
        if let row = try sessionRow(key) { return row }
        guard let unwritten = try session(key) else { throw TransferError.noSession(key.identifier) }
        return try add(unwritten)
    }

    /// Notes that the durable subscriber has handled everything up to `sequence`; never goes back.
    /// - Returns: the number that is now acknowledged.
    /// - Throws: `request.bad_field` beyond the head of the log, `limit.reached` if a new name would be one too many.
    @discardableResult
    package func acknowledge(_ name: String, owner: UserID, _ sequence: SequenceNumber) throws -> SequenceNumber {
        let head = try eventHead()
        guard sequence <= head, sequence >= .zero else {
            throw TransferError.bad("sequence", "the log ends at \(head).")
        }
        if try subscriber(name, owner: owner) == nil {
            let known = try integer("SELECT count(*) FROM subscriber WHERE owner = ?", owner.rawValue) ?? 0
            guard known < Bounds.subscribers else {
                throw TransferError(
                    .limitReached,
                    "You have \(Bounds.subscribers) durable subscribers; forget some with events.forget.")
            }
        }
        try execute(
            """
            INSERT INTO subscriber (owner, name, sequence) VALUES (?, ?, ?) \
            ON CONFLICT (owner, name) DO UPDATE SET sequence = max(sequence, excluded.sequence)
            """, owner.rawValue, name, sequence.rawValue)
        return try subscriber(name, owner: owner) ?? sequence
    }

    /// Forgets a durable subscriber.
    /// - Returns: whether there was one.
    @discardableResult
    package func forget(_ name: String, owner: UserID) throws -> Bool {
        try changes("DELETE FROM subscriber WHERE owner = ? AND name = ?", owner.rawValue, name)
    }

    /// Stores a setting.
    package func setSetting(_ name: String, _ value: JSONValue) throws {
        try execute(
            "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name, try JSONColumn.encode(value))
    }

    package func removeSetting(_ name: String) throws { try execute("DELETE FROM setting WHERE name = ?", name) }
}
