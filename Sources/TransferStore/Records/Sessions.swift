import Threading
import TransferModel

extension StoreSnapshot {
    private static let sessionColumns =
        "owner, identifier, kind, state, configuration, created_at, paused_since, paused_time"

    /// The session; `shared` exists for every owner, and has the default configuration before its first task.
    package func session(_ key: SessionKey) throws -> SessionRecord? {
        if let known = knownSessions[key] { return known }
        let session = try storedSession(key)
        knownSessions[key] = session
        return session
    }

    private func storedSession(_ key: SessionKey) throws -> SessionRecord? {
        let row = try rows(
            "SELECT \(Self.sessionColumns) FROM session WHERE owner = ? AND identifier = ?", key.owner, key.identifier
        ).next()
        if let row { return try sessionRecord(row) }
        return key.identifier == SessionKey.sharedIdentifier ? try unwrittenShared(of: key.owner) : nil
    }

    /// Stored sessions, by owner and identifier; for one owner always with `shared`.
    package func sessions(owner: UserID? = nil) throws -> [SessionRecord] {
        var sessions = try rows(
            """
            SELECT \(Self.sessionColumns) FROM session WHERE ?1 IS NULL OR owner = ?1 ORDER BY owner, identifier
            """, owner
        ).map(sessionRecord)
        if let owner, !sessions.contains(where: { $0.key.identifier == SessionKey.sharedIdentifier }) {
            sessions.insert(try unwrittenShared(of: owner), at: 0)
        }
        return sessions
    }

    /// One page of the sessions in the order of owner and identifier; for one owner always with `shared`. It also ends
    /// at `bytes` of configurations, but not before its first session.
    /// - Parameter last: the page begins after this session.
    package func sessionPage(
        owner: UserID?, after last: SessionKey?, limit: Int, bytes: Int = Bounds.pageBytes
    ) throws -> (sessions: [SessionRecord], isCut: Bool) {
        var sessions: [SessionRecord] = []
        var length = 0
        var unwritten = try owner.flatMap { owner -> SessionRecord? in
            let shared = SessionKey.shared(of: owner)
            guard try sessionRow(shared) == nil, last.map({ $0.identifier < shared.identifier }) ?? true else {
                return nil
            }
            return try unwrittenShared(of: owner)
        }
        let rows = try rows(
            """
            SELECT \(Self.sessionColumns) FROM session WHERE (?1 IS NULL OR owner = ?1) \
            AND (?2 IS NULL OR (owner, identifier) > (?2, ?3)) ORDER BY owner, identifier
            """, owner, last?.owner, last?.identifier)
        while let row = try rows.next() {
            if let shared = unwritten, shared.key.identifier < row[1] as String {
                if sessions.count == limit { return (sessions, true) }
                sessions.append(shared)
                unwritten = nil
            }
            length += (row[4] as String).utf8.count
            if sessions.count == limit || length > bytes && !sessions.isEmpty { return (sessions, true) }
            sessions.append(try sessionRecord(row))
        }
        if let shared = unwritten {
            if sessions.count == limit { return (sessions, true) }
            sessions.append(shared)
        }
        return (sessions, false)
    }

    /// Sessions of `owner` that are not invalidated.
    package func openSessionCount(of owner: UserID) throws -> Int {
        Int(try integer("SELECT count(*) FROM session WHERE owner = ? AND state <> 'invalidated'", owner) ?? 0)
    }

    /// The paused sessions, from an index that has no others.
    package func pausedSessions() throws -> Set<SessionKey> {
        // Reads no counter, so deferred changes need not be written first: this is asked at each claim.
        let rows = try connection.rows(
            "SELECT owner, identifier FROM session INDEXED BY session_paused WHERE paused_since IS NOT NULL")
        return Set(try rows.map { $0[0] as SessionKey })
    }

    /// The newest task of all sessions; nil if there is none.
    package func lastTask() throws -> TaskID? {
        try integer("SELECT max(id) FROM task").map { TaskID($0) }
    }

    /// Whether a task of the session is in a state that is not final.
    package func hasUnfinishedTasks(_ session: SessionKey) throws -> Bool {
        guard let recent else {
            return try counts(session: session).contains { state, count in !state.isFinal && count > 0 }
        }
        guard let row = try sessionRow(session) else { return false }
        return try recent.tallies.hasUnfinishedTasks(row, in: connection)
    }

    /// Completed, failed and cancelled events of the session that `subscriber` of the same owner has not acknowledged.
    package func unacknowledgedFinalEvents(_ session: SessionKey, subscriber: String) throws -> Int {
        let acknowledged = try self.subscriber(subscriber, owner: session.owner) ?? .zero
        let count = try integer(
            """
            SELECT count(*) FROM event WHERE owner = ? AND session = ? AND sequence > ? \
            AND (type = 'task.completed' OR type = 'task.failed' OR type = 'task.cancelled')
            """, session.owner, session.identifier, acknowledged)
        return Int(count ?? 0)
    }

    /// Open questions of the session's tasks that the subscriber has not acknowledged.
    package func unacknowledgedQuestions(_ session: SessionKey, subscriber: String) throws -> Int {
        guard let row = try sessionRow(session) else { return 0 }
        let acknowledged = try self.subscriber(subscriber, owner: session.owner) ?? .zero
        let count = try integer(
            """
            SELECT count(*) FROM decision JOIN task ON task.id = decision.task \
            WHERE decision.state = 'open' AND task.session = ? AND EXISTS (SELECT 1 FROM event \
            WHERE event.task = decision.task AND type = 'task.decision' AND sequence > ?)
            """, row, acknowledged)
        return Int(count ?? 0)
    }

    func sessionRow(_ key: SessionKey) throws -> Int64? {
        try connection.integer("SELECT id FROM session WHERE owner = ? AND identifier = ?", key.owner, key.identifier)
    }

    private func unwrittenShared(of owner: UserID) throws -> SessionRecord {
        let created = try meta("created_at").flatMap { Int64($0) } ?? 0
        return SessionRecord(key: .shared(of: owner), createdAt: Timestamp(milliseconds: created))
    }

    private func sessionRecord(_ row: Row) throws -> SessionRecord {
        var session = SessionRecord(
            key: row[0], kind: try row.word(2), state: try row.word(3),
            configuration: try Self.configuration(of: row[0], row[4]), createdAt: row[5])
        session.pause = SessionPause(since: row[6], time: row[7])
        return session
    }
}

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
            session.key.owner, session.key.identifier, session.kind.rawValue, session.state.rawValue,
            session.configuration, session.createdAt)
        let row = connection.lastInsertedRow
        for state in TaskState.allCases {
            try execute("INSERT INTO task_count (session, state, count) VALUES (?, ?, 0)", row, state)
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
            session.kind.rawValue, session.state.rawValue, session.configuration, session.createdAt,
            session.pause.since, session.pause.time, session.key.owner, session.key.identifier)
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
            let known = try integer("SELECT count(*) FROM subscriber WHERE owner = ?", owner) ?? 0
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
            """, owner, name, sequence)
        return try subscriber(name, owner: owner) ?? sequence
    }

    /// Forgets a durable subscriber.
    /// - Returns: whether there was one.
    @discardableResult
    package func forget(_ name: String, owner: UserID) throws -> Bool {
        try changes("DELETE FROM subscriber WHERE owner = ? AND name = ?", owner, name)
    }

    /// Stores a setting.
    package func setSetting(_ name: String, _ value: JSONValue) throws {
        try execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", name, JSONColumn.encode(value))
    }

    package func removeSetting(_ name: String) throws { try execute("DELETE FROM setting WHERE name = ?", name) }
}

extension StoreSnapshot {
    private typealias Known = (text: String, configuration: SessionConfiguration)

    /// Decoding a shorter text costs microseconds.
    private static let leastLength = 1 << 10
    /// Bytes of all texts together; beyond this, all are forgotten.
    private static let most = 64 << 20

    /// Each task needs the configuration of its session, and in a database from before the bounds one configuration may
    /// have megabytes. Decoding it for every task would delay all tasks.
    private static let longConfigurations = Guarded<(known: [SessionKey: Known], bytes: Int)>(([:], 0))

    /// - Throws: `internal` if the text cannot be read.
    private static func configuration(of key: SessionKey, _ text: String) throws -> SessionConfiguration {
        let length = text.utf8.count
        guard length >= leastLength else { return try JSONColumn.decode(text) }
        // Whatever is stored by now, an equal text means the same.
        if let known = longConfigurations.withLock({ $0.known[key] }), known.text == text { return known.configuration }
        let configuration: SessionConfiguration = try JSONColumn.decode(text)
        longConfigurations.withLock { memory in
            if memory.bytes + length > most { memory = ([:], 0) }
            memory.bytes += length - (memory.known[key]?.text.utf8.count ?? 0)
            memory.known[key] = (text, configuration)
        }
        return configuration
    }
}
