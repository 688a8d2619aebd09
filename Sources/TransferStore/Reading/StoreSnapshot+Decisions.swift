import TransferModel

extension StoreSnapshot {
    private static let decisionColumns = """
        decision.id, task, owner, identifier, decision.state, question, asked_at, answer, settled \
        FROM decision JOIN task ON task.id = decision.task JOIN session ON session.id = task.session
        """

    /// The question with this id; nil if it is gone. Of an earlier question of its task, only what recognises a repeated
    /// answer is left.
    package func decision(_ id: DecisionID) throws -> DecisionRecord? {
        if let last = try rows("SELECT \(Self.decisionColumns) WHERE decision.id = ?", id.rawValue).next() {
            return try Self.decision(last)
        }
        return try rows(
            """
            SELECT earlier_decision.id, task, owner, identifier, 'answered', question, asked_at, answer, ? \
            FROM earlier_decision JOIN task ON task.id = earlier_decision.task JOIN session ON session.id = task.session \
            WHERE earlier_decision.id = ?
            """, try JSONColumn.encode(SettledDecisions()), id.rawValue
        ).next().map(Self.decision)
    }

    /// The last question of a task, open or not.
    package func decision(of task: TaskID) throws -> DecisionRecord? {
        try rows("SELECT \(Self.decisionColumns) WHERE task = ?", task.rawValue).next().map(Self.decision)
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
            values.append(owner.rawValue)
        }
        if let sessions {
            conditions.append("identifier IN (\(placeholders(sessions.count)))")
            values += sessions
        }
        if let tasks {
            conditions.append("task IN (\(placeholders(tasks.count)))")
            values += tasks.map(\.rawValue)
        }
        values.append(limit)
        return try rows(
            """
            SELECT \(Self.decisionColumns) WHERE \(conditions.joined(separator: " AND ")) ORDER BY decision.id LIMIT ?
            """, list: values
        ).map(Self.decision)
    }

    /// Keys that a session trusts.
    package func trustedKeys(_ session: SessionKey) throws -> [TrustedKey] {
        try rows(
            """
            SELECT origin, key FROM trusted_key \
            WHERE session = (SELECT id FROM session WHERE owner = ? AND identifier = ?)
            """, session.owner.rawValue, session.identifier
        ).map { TrustedKey(origin: $0[0], key: $0[1]) }
    }

    private static func decision(_ row: Row) throws -> DecisionRecord {
        DecisionRecord(
            id: DecisionID(row[0] as Int64), task: TaskID(row[1] as Int64),
            session: SessionKey(owner: UserID(row[2] as UInt32), identifier: row[3]),
            state: try JSONColumn.word(row[4]), question: try JSONColumn.decode(row[5]),
            askedAt: Timestamp(milliseconds: row[6]),
            answer: try (row[7] as String?).map { try JSONColumn.decode($0) }, settled: try JSONColumn.decode(row[8]))
    }
}
