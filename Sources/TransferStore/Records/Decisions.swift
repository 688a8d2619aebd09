import TransferModel

extension StoreSnapshot {
    private static let decisionColumns = """
        decision.id, task, owner, identifier, decision.state, question, asked_at, answer, settled \
        FROM decision JOIN task ON task.id = decision.task JOIN session ON session.id = task.session
        """

    /// The question with this id; nil if it is gone. Of an earlier question of its task, only what recognises a repeated
    /// answer is left.
    package func decision(_ id: DecisionID) throws -> DecisionRecord? {
        if let last = try rows("SELECT \(Self.decisionColumns) WHERE decision.id = ?", id).next() {
            return try Self.decision(last)
        }
        return try rows(
            """
            SELECT earlier_decision.id, task, owner, identifier, 'answered', question, asked_at, answer, ? \
            FROM earlier_decision JOIN task ON task.id = earlier_decision.task JOIN session ON session.id = task.session \
            WHERE earlier_decision.id = ?
            """, SettledDecisions(), id
        ).next().map(Self.decision)
    }

    /// The last question of a task, open or not.
    package func decision(of task: TaskID) throws -> DecisionRecord? {
        try rows("SELECT \(Self.decisionColumns) WHERE task = ?", task).next().map(Self.decision)
    }

    /// Open questions, the oldest first.
    /// - Parameters:
    ///   - owner: nil for all owners.
    ///   - sessions: identifiers; nil for all.
    package func openDecisions(
        owner: UserID?, sessions: [String]? = nil, tasks: [TaskID]? = nil, limit: Int
    ) throws -> [DecisionRecord] {
        var conditions = ["decision.state = 'open'"]
        var values: [any Bindable] = []
        if let owner {
            conditions.append("owner = ?")
            values.append(owner)
        }
        if let sessions {
            conditions.append("identifier IN (\(placeholders(sessions.count)))")
            values += sessions
        }
        if let tasks {
            conditions.append("task IN (\(placeholders(tasks.count)))")
            values += tasks
        }
        values.append(limit)
        return try rows(
            """
            SELECT \(Self.decisionColumns) WHERE \(conditions.joined(separator: " AND ")) ORDER BY decision.id LIMIT ?
            """, list: values
        ).map(Self.decision)
    }

    private static func decision(_ row: Row) throws -> DecisionRecord {
        DecisionRecord(
            id: DecisionID(row[0] as Int64), task: row[1], session: row[2], state: try row.word(4),
            question: try row.document(5), askedAt: row[6], answer: try row.document(7), settled: try row.document(8))
    }
}

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
            task, question, now, settled)
        return DecisionID(connection.lastInsertedRow)
    }

    /// Stores the answer to an open question, and what it settles.
    package func answer(_ id: DecisionID, _ answer: DecisionAnswer, settled: SettledDecisions) throws {
        try execute(
            "UPDATE decision SET state = 'answered', answer = ?, settled = ? WHERE id = ? AND state = 'open'",
            answer, settled, id)
    }

    /// The task continues another way: its question can no longer be answered. Only a question that its deadline closed
    /// keeps it.
    package func closeDecision(of task: TaskID) throws {
        try execute(
            """
            UPDATE decision SET state = 'closed', question = json_remove(question, '$.deadline') \
            WHERE task = ? AND state = 'open'
            """, task)
    }

    /// The question was not answered in time.
    package func closeDecision(of task: TaskID, settled: SettledDecisions) throws {
        try execute("UPDATE decision SET settled = ?, state = 'closed' WHERE task = ?", settled, task)
    }

    /// Stores what is settled for a task that asks no question, with its last question, if it had one.
    package func settle(
        _ settled: SettledDecisions, of task: TaskID, unasked question: Question, at now: Timestamp
    ) throws {
        try execute(
            """
            INSERT INTO decision (task, state, question, asked_at, settled) VALUES (?, 'closed', ?, ?, ?) \
            ON CONFLICT (task) DO UPDATE SET settled = excluded.settled
            """, task, question, now, settled)
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
        var left = SettledDecisions()
        left.standing = known.settled.standing
        try execute(
            "UPDATE decision SET answer = ?, settled = ? WHERE id = ?", try known.answer.map(redacted), left, known.id)
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
        try execute("DELETE FROM decision WHERE task = ?", task)
        guard let answer = last.answer else { return }
        var question = Question(last.question.kind, default: last.question.default)
        question.protectionSpace = last.question.protectionSpace
        question.offered = last.question.offered
        try execute(
            "INSERT INTO earlier_decision (id, task, question, asked_at, answer) VALUES (?, ?, ?, ?, ?)",
            last.id, task, question, last.askedAt, try redacted(answer))
        try execute(
            """
            DELETE FROM earlier_decision WHERE task = ?1 AND id <= (SELECT id FROM earlier_decision WHERE task = ?1 \
            ORDER BY id DESC LIMIT 1 OFFSET ?2)
            """, task, Bounds.decisions)
    }
}
