import GRDB
import TransferModel

extension StoreSnapshot {
    private static var sessionColumns: String { "owner, identifier, kind, state, configuration, created_at" }

    /// The session; `shared` exists for everybody, before its first task with the default configuration.
    package func session(_ key: SessionKey) throws -> SessionRecord? {
        let row = try Row.fetchOne(
            try statement("SELECT \(Self.sessionColumns) FROM session WHERE owner = ? AND identifier = ?"),
            arguments: [key.owner.rawValue, key.identifier])
        if let row { return try sessionRecord(row) }
        return key.identifier == SessionKey.sharedIdentifier ? try unwrittenShared(of: key.owner) : nil
    }

    /// Stored sessions, by owner and identifier; of one owner always with `shared`.
    package func sessions(owner: UserID? = nil) throws -> [SessionRecord] {
        let rows = try Row.fetchAll(
            try statement(
                """
                SELECT \(Self.sessionColumns) FROM session WHERE ?1 IS NULL OR owner = ?1 ORDER BY owner, identifier
                """), arguments: [owner?.rawValue])
        var sessions = try rows.map { try sessionRecord($0) }
        if let owner, !sessions.contains(where: { $0.key.identifier == SessionKey.sharedIdentifier }) {
            sessions.insert(try unwrittenShared(of: owner), at: 0)
        }
        return sessions
    }

    /// Whether some task of the session is in a state that is not final.
    package func hasUnfinishedTasks(_ session: SessionKey) throws -> Bool {
        try counts(session: session).contains { state, count in !state.isFinal && count > 0 }
    }

    /// Completed, failed and cancelled events of the session that `subscriber` of the same owner has not acknowledged.
    package func unacknowledgedFinalEvents(_ session: SessionKey, subscriber: String) throws -> Int {
        let acknowledged = try self.subscriber(subscriber, owner: session.owner) ?? .zero
        let count = try integer(
            """
            SELECT count(*) FROM event WHERE owner = ? AND session = ? AND sequence > ? \
            AND type IN ('task.completed', 'task.failed', 'task.cancelled')
            """, [session.owner.rawValue, session.identifier, acknowledged.rawValue])
        return Int(count ?? 0)
    }

    func sessionRow(_ key: SessionKey) throws -> Int64? {
        try integer(
            "SELECT id FROM session WHERE owner = ? AND identifier = ?", [key.owner.rawValue, key.identifier])
    }

    private func unwrittenShared(of owner: UserID) throws -> SessionRecord {
        let created = try integer("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'created_at'") ?? 0
        return SessionRecord(key: .shared(of: owner), createdAt: Timestamp(milliseconds: created))
    }

    private func sessionRecord(_ row: Row) throws -> SessionRecord {
        SessionRecord(
            key: SessionKey(owner: UserID(row[0] as UInt32), identifier: row[1]), kind: try JSONColumn.word(row[2]),
            state: try JSONColumn.word(row[3]), configuration: try JSONColumn.decode(row[4]),
            createdAt: Timestamp(milliseconds: row[5]))
    }
}
