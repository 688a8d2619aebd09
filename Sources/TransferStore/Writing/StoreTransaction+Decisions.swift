import TransferModel

extension StoreTransaction {
    /// Stores a question in place of the task's last one.
    /// - Parameter redacted: returns the answer to the last one as it may be kept.
    /// - Returns: its id, which no other question ever has.
    package func ask(
        _ question: Question, of task: TaskID, at now: Timestamp, settled: SettledDecisions,
        redacted: (DecisionAnswer) throws -> DecisionAnswer = { $0.withoutSecrets }
    ) throws -> DecisionID {
        try keepLastAnswer(of: task, redacted)
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

    /// The task continues another way: its question can no longer be answered. Only a question that its deadline closed
    /// keeps it.
    package func closeDecision(of task: TaskID) throws {
        try execute(
            """
            UPDATE decision SET state = 'closed', question = json_remove(question, '$.deadline') \
            WHERE task = ? AND state = 'open'
            """, task.rawValue)
    }

    /// The question was not answered in time.
    package func closeDecision(of task: TaskID, settled: SettledDecisions) throws {
        try execute(
            "UPDATE decision SET settled = ?, state = 'closed' WHERE task = ?", try JSONColumn.encode(settled),
            task.rawValue)
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

    /// The task has ended, and an open question is closed. Of what its questions settled, only the request that it made
    /// stays, as its own request does. Of its last answer, only what may be shown stays.
    /// - Parameters:
    ///   - keepsBody: the kept body is the task's answer, and not that of a redirect which was asked about.
    ///   - redacted: returns the answer as it may be kept.
    package func forgetSecrets(
        of task: TaskID, keepsBody: Bool = true,
        redacted: (DecisionAnswer) throws -> DecisionAnswer = { $0.withoutSecrets }
    ) throws {
        guard let known = try decision(of: task) else { return }
        isUntidy = true
        // A task that was paused or queued again while its client was asked.
        if known.state == .open { try closeDecision(of: task) }
        if !keepsBody { try setBody(task, .response, nil) }
        let answer = try known.answer.map { try JSONColumn.encode(redacted($0)) }
        var left = SettledDecisions()
        left.standing = known.settled.standing
        try execute(
            "UPDATE decision SET answer = ?, settled = ? WHERE id = ?", answer, try JSONColumn.encode(left),
            known.id.rawValue)
    }

    /// The task starts again, or requests something else: nothing is settled any more, and the body of a redirect that
    /// it was asked about goes. The last answer stays, so that it may be repeated.
    /// - Parameter redacted: returns the answer as it may be kept.
    package func forgetDecisions(
        of task: TaskID, redacted: (DecisionAnswer) throws -> DecisionAnswer = { $0.withoutSecrets }
    ) throws {
        try setBody(task, .response, nil)
        try keepLastAnswer(of: task, redacted)
    }

    /// The last question settles nothing any more.
    private func keepLastAnswer(of task: TaskID, _ redacted: (DecisionAnswer) throws -> DecisionAnswer) throws {
        guard let last = try decision(of: task) else { return }
        isUntidy = true
        try execute("DELETE FROM decision WHERE task = ?", task.rawValue)
        guard let answer = last.answer else { return }
        var question = Question(last.question.kind, default: last.question.default)
        question.protectionSpace = last.question.protectionSpace
        question.offered = last.question.offered
        try execute(
            "INSERT INTO earlier_decision (id, task, question, asked_at, answer) VALUES (?, ?, ?, ?, ?)",
            last.id.rawValue, task.rawValue, try JSONColumn.encode(question), last.askedAt.rawValue,
            try JSONColumn.encode(redacted(answer)))
        try execute(
            """
            DELETE FROM earlier_decision WHERE task = ?1 AND id <= (SELECT id FROM earlier_decision WHERE task = ?1 \
            ORDER BY id DESC LIMIT 1 OFFSET ?2)
            """, task.rawValue, Bounds.decisions)
    }
}
