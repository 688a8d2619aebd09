import TransferModel

extension StoreTransaction {
    /// Stores a question in place of the task's last one.
    /// - Returns: its id, which no other question ever has.
    package func ask(
        _ question: Question, of task: TaskID, at now: Timestamp, settled: SettledDecisions
    ) throws -> DecisionID {
        try execute("DELETE FROM decision WHERE task = ?", task.rawValue)
        try execute(
            "INSERT INTO decision (task, state, question, asked_at, settled) VALUES (?, 'open', ?, ?, ?)",
            task.rawValue, try JSONColumn.encode(question), now.rawValue, try JSONColumn.encode(settled))
        return DecisionID(connection.lastInsertedRow)
    }

    /// Stores the answer to an open question, and what it settles.
    package func answer(_ id: DecisionID, _ answer: DecisionAnswer, settled: SettledDecisions) throws {
        try execute(
            "UPDATE decision SET state = 'answered', answer = ?, settled = ? WHERE id = ? AND state = 'open'",
            try JSONColumn.encode(answer), try JSONColumn.encode(settled), id.rawValue)
    }

    /// All tasks of the session trust the key from now on, in addition to other keys of the same server.
    /// - Throws: `limit.reached`; `session.not_found`.
    package func trust(_ trusted: TrustedKey, in session: SessionKey, at now: Timestamp) throws {
        let row = try existingSession(session)
        let known: String? = try rows(
            "SELECT key FROM trusted_key WHERE session = ? AND origin = ?", row, trusted.origin
        ).next().map { $0[0] }
        try execute(
            "INSERT OR REPLACE INTO trusted_key (session, origin, key, trusted_at) VALUES (?, ?, ?, ?)",
            row, trusted.origin, TrustedKey.list(known, adding: trusted.key) ?? "", now.rawValue)
        let count = try integer("SELECT count(*) FROM trusted_key WHERE session = ?", row) ?? 0
        guard count <= Bounds.trustedKeys else {
            throw TransferError(
                .limitReached,
                "The session trusts the keys of \(Bounds.trustedKeys) servers, which is the limit; say persistence `none`."
            )
        }
    }

    /// The session is over.
    package func forgetTrust(in session: SessionKey) throws {
        try execute(
            "DELETE FROM trusted_key WHERE session = (SELECT id FROM session WHERE owner = ? AND identifier = ?)",
            session.owner.rawValue, session.identifier)
    }

    /// The task continues another way: its question can no longer be answered.
    package func closeDecision(of task: TaskID) throws {
        try execute("UPDATE decision SET state = 'closed' WHERE task = ? AND state = 'open'", task.rawValue)
    }

    /// The question was not answered in time.
    package func closeDecision(of task: TaskID, settled: SettledDecisions) throws {
        try execute("UPDATE decision SET settled = ? WHERE task = ?", try JSONColumn.encode(settled), task.rawValue)
        try closeDecision(of: task)
    }

    /// Stores what is settled for a task that asks no question, with its last question, if it had one.
    package func settle(
        _ settled: SettledDecisions, of task: TaskID, unasked question: Question, at now: Timestamp
    ) throws {
        try execute(
            """
            INSERT INTO decision (task, state, question, asked_at, settled) VALUES (?, 'closed', ?, ?, ?) \
            ON CONFLICT (task) DO UPDATE SET settled = excluded.settled
            """, task.rawValue, try JSONColumn.encode(question), now.rawValue, try JSONColumn.encode(settled))
    }

    /// The task has ended: it no longer needs what its questions settled, and of its last answer only what may be
    /// shown.
    /// - Parameter redacted: returns the answer as it may be kept.
    package func forgetSecrets(
        of task: TaskID, redacted: (DecisionAnswer) throws -> DecisionAnswer = { $0.withoutSecrets }
    ) throws {
        guard let known = try decision(of: task) else { return }
        let answer = try known.answer.map { try JSONColumn.encode(redacted($0)) }
        try execute(
            "UPDATE decision SET answer = ?, settled = ? WHERE id = ?", answer,
            try JSONColumn.encode(SettledDecisions()), known.id.rawValue)
    }

    /// The task starts again, or requests something else: nothing is settled any more.
    package func forgetDecisions(of task: TaskID) throws {
        try execute("DELETE FROM decision WHERE task = ?", task.rawValue)
    }
}
