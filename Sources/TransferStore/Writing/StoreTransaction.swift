import TransferModel

/// One body's part of a grouped commit: reads like a snapshot that includes the body's own changes, and writes.
package final class StoreTransaction: StoreSnapshot {
    /// Events of this body, with their numbers; passed on when the commit is durable.
    private(set) var appended: [EventRecord] = []
    /// Rows or secrets were deleted: the file may have pages to give back, and the log copies of them.
    var isUntidy = false
    /// Why nothing may be added; nil if adds are accepted.
    let lack: Reserve.Lack?
    let memory: RecentRecords

    init(_ connection: Connection, recent: RecentRecords, lacking lack: Reserve.Lack?) {
        self.lack = lack
        memory = recent
        super.init(connection, recent: recent)
    }

    /// Writes the counters, so that any statement sees their current values.
    override func writeDeferred() throws { try memory.tallies.write(to: connection) }

    func execute<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws {
        try writeDeferred()
        try connection.execute(sql, repeat each values)
    }

    func execute<each Value: Bindable>(_ sql: SQL, _ values: repeat each Value) throws {
        try writeDeferred()
        try connection.execute(sql, repeat each values)
    }

    /// - Parameter value: nil forgets it.
    func setMeta(_ name: String, _ value: String?) throws {
        guard let value else { return try execute("DELETE FROM meta WHERE name = ?", name) }
        try execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, value)
    }

    /// Runs a change.
    /// - Returns: whether it changed a row.
    func changes<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> Bool {
        try execute(sql, repeat each values)
        return connection.changes > 0
    }

    /// Takes the next `count` numbers of a counter. They are counted in memory and reread after a rollback, so the log
    /// has no gaps.
    /// - Returns: the last of them.
    func take(_ count: Int, _ counter: Counter) throws -> Int64 {
        try memory.tallies.take(count, counter, in: connection)
    }

    /// The session and lane in which a task is counted, and its state; nil if there is no such task.
    func place(of id: TaskID) throws -> (place: Tallies.Place, state: TaskState)? {
        try connection.rows("SELECT session, lane, state FROM task WHERE id = ?", id).next().map { row in
            (Tallies.Place(session: row[0], lane: row[1]), try row.word(2))
        }
    }

    /// Runs a change of a task's state, lane or rank: removes the task from the counters before, and counts it again
    /// after.
    /// - Returns: what `change` returns.
    func recounting<Value>(_ id: TaskID, _ change: () throws -> Value) throws -> Value {
        func count(by change: Int64) throws {
            guard let (place, state) = try place(of: id) else { return }
            try memory.tallies.count(place, state, by: change, in: connection)
        }
        try count(by: -1)
        let value = try change()
        try count(by: 1)
        return value
    }

    enum Counter: String {
        case event, task
    }

    /// Stores the event with the next sequence number.
    /// - Returns: that number; zero in a volatile store, whose events have none.
    /// - Throws: `internal` for a progress event, which has no number.
    @discardableResult
    package func append(_ event: EventRecord) throws -> SequenceNumber {
        try append([event])
    }

    /// Stores events with the next sequence numbers, in order; a volatile store only passes them on.
    /// - Parameter tasks: the task of each event; nil if the events say it.
    /// - Returns: the number of the last one; the last number ever if `events` is empty; zero in a volatile store.
    /// - Throws: `internal` for a progress event, which has no number.
    @discardableResult
    package func append(_ events: [EventRecord], of tasks: [TaskID]? = nil) throws -> SequenceNumber {
        for index in events.indices where events[index].type == .taskProgress {
            throw TransferError(.internal, "Progress is never stored.")
        }
        guard !events.isEmpty else { return try eventHead() }
        guard !memory.isVolatile else {
            pass(on: events, of: tasks)
            return .zero
        }
        let last = try take(events.count, .event)
        let first = last - Int64(events.count) + 1
        try Self.eventRows.run(events.count, in: connection) { row, index in
            row.set(1, first + Int64(index))
            row.set(2, events[index].time)
            row.set(3, events[index].type.rawValue)
            row.set(4, events[index].session.owner)
            row.set(5, events[index].session.identifier)
            row.set(6, tasks?[index] ?? events[index].task)
            if !events[index].payload.isEmpty { row.set(7, text: events[index].payload.object) }
        }
        countOwners(of: events)
        let place = pass(on: events, of: tasks)
        for index in events.indices { appended[place + index].sequence = SequenceNumber(first + Int64(index)) }
        return SequenceNumber(last)
    }

    /// - Returns: the place of the first.
    @discardableResult
    private func pass(on events: [EventRecord], of tasks: [TaskID]?) -> Int {
        let place = appended.count
        appended += events
        if let tasks { for index in tasks.indices { appended[place + index].task = tasks[index] } }
        return place
    }

    /// Most events that are stored together have the same owner.
    private func countOwners(of events: [EventRecord]) {
        var (owner, count) = (events[0].session.owner, 0)
        for index in events.indices {
            if events[index].session.owner != owner {
                memory.tallies.countEvents(owner, count)
                (owner, count) = (events[index].session.owner, 0)
            }
            count += 1
        }
        memory.tallies.countEvents(owner, count)
    }

    private static let eventRows = RowInsert(
        into: "event", ["sequence", "time", "type", "owner", "session", "task", "payload"])
}

/// A server's answer as the store keeps it, encoded outside the only thread that writes to the store.
package struct StoredDocument: Sendable {
    let response: ResponseInfo
    /// Without a body; nil if it could not be encoded: storing it then reports why.
    private let shown: [UInt8]?
    let text: [UInt8]?
    /// The whole header, if it is more than the response shows.
    let head: String?

    /// The task's answer shows the body that the store keeps. The document does not have it too.
    package let showsKept: Bool

    package init(_ response: ResponseInfo, whole: WholeHead? = nil, showsKept: Bool = false) {
        self.response = response
        self.showsKept = showsKept
        var bodiless = response
        bodiless.body = nil
        shown = JSONCoding.encode(bodiless)
        text = shown.flatMap { shown in
            guard let body = response.body else { return shown }
            return Self.adding(body, to: shown)
        }
        head = whole.map { JSONColumn.encode($0) }
    }

    /// Encodes the body once: a long one takes longer than all the rest.
    static func adding(_ body: ResponseBody, to text: [UInt8]) -> [UInt8] {
        var members = JSONMembers(object: text)
        members.add("body", json: JSONCoding.encode(body))
        return members.object
    }

    /// Members of the event that reports the answer: the same text, without the body.
    package var told: JSONMembers {
        guard let shown else { return [:] }
        var payload = JSONMembers(room: shown.count + 16)
        payload.add("response", json: shown)
        return payload
    }
}

// MARK: - Lanes

extension StoreTransaction {
    /// Removes these lanes from the scheduler's walk, until `release`.
    package func hold(_ lanes: [LaneID]) throws {
        try execute(
            "UPDATE lane SET held = 1 WHERE held = 0 AND id IN (SELECT value FROM json_each(?))",
            JSONColumn.encode(lanes.map(\.rawValue)))
    }

    /// Returns the lanes of these hosts to the walk.
    package func release(hosts: [String]) throws {
        try execute(
            "UPDATE lane SET held = 0 WHERE held = 1 AND host IN (SELECT value FROM json_each(?))",
            JSONColumn.encode(hosts))
    }

    /// The same for all lanes: the daemon forgets at its end which hosts are held.
    package func releaseAllLanes() throws { try execute("UPDATE lane SET held = 0 WHERE held = 1") }
}

// MARK: - Clock

extension StoreTransaction {
    /// The wall clock went back: what is due some time after an event stays due after that time. Times that a user or a
    /// schedule set by the clock do not change.
    /// - Parameters:
    ///   - interval: by how much, more than zero.
    ///   - now: the wall clock after the change.
    /// - Returns: the number of waiting tasks that were changed.
    package func clockWentBack(by interval: Seconds, to now: Timestamp) throws -> Int {
        let step = interval.milliseconds
        try execute(
            """
            UPDATE task SET next_attempt_at = max(?, next_attempt_at - ?) \
            WHERE state = 'waiting' AND next_attempt_at > ? AND reason IN ('retry', 'network', 'disk', 'decision')
            """, now, step, now)
        let waiting = connection.changes
        // An estimate: the boot clock decides whether the resource timeout has passed.
        try execute(
            """
            UPDATE task SET expires_at = max(?, expires_at - ?) \
            WHERE finished_at IS NULL AND expires_at IS NOT NULL AND expires_at > ?
            """, now, step, now)
        try execute(
            """
            UPDATE upload_ending SET next_attempt_at = max(?, next_attempt_at - ?), \
            recorded_at = min(?, recorded_at) WHERE next_attempt_at > ?
            """, now, step, now, now)
        try execute("UPDATE launch SET started_at = min(?, started_at - ?)", now, step)
        return waiting
    }

    /// The kernel's name of the boot whose clock counted the pauses of sessions; nil forgets it.
    package func setPausesBoot(_ boot: String?) throws {
        try setMeta("pauses_boot", boot)
    }
}

extension StoreSnapshot {
    /// nil if it is not known: the database is new, or older than this value.
    package func pausesBoot() throws -> String? { try meta("pauses_boot") }

    /// The time of the newest event: the wall clock when the store was last in use; nil in a new one.
    package func lastEventTime() throws -> Timestamp? {
        try integer("SELECT time FROM event ORDER BY sequence DESC LIMIT 1").map { Timestamp(milliseconds: $0) }
    }
}

// MARK: - Uploads

/// Whether a kept body is a request's or a response's.
package enum BodyRole: String, Sendable, CaseIterable {
    /// What a task sends, copied when it was added.
    case request
    /// What a data task received.
    case response
}

extension StoreTransaction {
    /// Stores how much of an upload its server has; nil forgets it.
    package func setUpload(_ id: TaskID, _ progress: UploadProgress?) throws {
        guard let progress else { return try connection.execute(Self.uploadEnd, id) }
        try execute(Self.uploadChange, id, progress)
    }

    private static let uploadChange = SQL(puttingInto: "upload", "task, progress")
    private static let uploadEnd = SQL("DELETE FROM upload WHERE task = ?")

    /// Stores which file the task sends, and the properties that must not change; nil forgets it.
    package func setSource(_ id: TaskID, _ source: SourceIdentity?) throws {
        guard let source else { return try execute("DELETE FROM source WHERE task = ?", id) }
        try execute(Self.sourceChange, id, source.device, source.inode, source.size, source.modified)
    }

    private static let sourceChange = SQL(puttingInto: "source", "task, device, inode, size, modified_ns")

    /// Keeps bytes with the task, as long as it exists; nil drops them.
    /// - Parameter isShown: the task's answer shows them; see `StoredDocument.showsKept`.
    package func setBody(_ id: TaskID, _ role: BodyRole, _ content: [UInt8]?, isShown: Bool = false) throws {
        guard let content else { return try execute("DELETE FROM body WHERE task = ? AND role = ?", id, role) }
        if memory.isVolatile { try requireRoom(forBody: content.count, of: id) }
        try connection.execute(Self.bodyChange, id, role, content, isShown)
    }

    private static let bodyChange = SQL(puttingInto: "body", "task, role, content, is_shown", key: 2)
}

// MARK: - SetAside

/// What is known of a task that was set aside.
package struct SetAsideTask: Sendable, Hashable {
    package var id: TaskID
    package var session: SessionKey
    package var kind: TaskKind
    package var url: String
    /// The state before; a task that had not ended has now failed.
    package var state: TaskState
}

extension StoreTransaction {
    /// Makes a damaged row of a task readable again. A disk or another program has damaged it, and every read of it
    /// would fail, together with everything that is read in the same call. Its documents are dropped, and with them what
    /// clients were asked and have answered. If the task had not ended, it fails. It keeps its URL only if it had
    /// completed, so that nothing of it is sent by accident.
    /// - Returns: nil if there is no such task.
    package func setAside(_ id: TaskID, because error: TransferError, at now: Timestamp) throws -> SetAsideTask? {
        let row = try rows(
            """
            SELECT owner, identifier, task.kind, task.state, task.url, task.description FROM task \
            JOIN session ON session.id = task.session WHERE task.id = ?
            """, id
        ).next()
        guard let row else { return nil }
        let task = SetAsideTask(id: id, session: row[0], kind: try row.word(2), url: row[4], state: try row.word(3))
        try keepPart(of: task, at: now)
        var spec = TaskSpec()
        spec.kind = task.kind
        spec.description = row[5]
        let isCompleted = task.state == .completed
        if isCompleted { spec.url = task.url }
        for table in ["checkpoint", "response", "upload", "decision"] {
            try execute("DELETE FROM \(table) WHERE task = ?", id)
        }
        try recounting(id) {
            try connection.execute(
                """
                UPDATE task SET spec = ?, error = ?, state = ?, reason = NULL, next_attempt_at = NULL, short_body = NULL, \
                budget_mark = NULL, expires_at = NULL, deadline_at = NULL, metrics = NULL, \
                finished_at = coalesce(finished_at, ?) WHERE id = ?
                """, spec, isCompleted ? nil : error, task.state.isFinal ? task.state : .failed, now, id)
        }
        return task
    }

    /// Its part file is removed with the others that are no longer wanted.
    private func keepPart(of task: SetAsideTask, at now: Timestamp) throws {
        let row = try rows("SELECT part_path, device, inode FROM checkpoint WHERE task = ?", task.id).next()
        guard let row, let slash = (row[0] as String).lastIndex(of: "/") else { return }
        let path: String = row[0]
        let part = LeftPart(
            owner: task.session.owner, folder: slash == path.startIndex ? "/" : String(path[..<slash]),
            name: String(path[path.index(after: slash)...]), task: task.id, device: row[1], inode: row[2],
            recordedAt: now)
        try note([part])
    }
}

// MARK: - Volatile

/// Bounds what one owner may keep in the daemon's memory, and forgets whole sessions.
extension StoreTransaction {
    /// The first id of the tasks of this start's volatile sessions. Each start has ids of its own, so that none is used
    /// twice. Only for the store on the disk.
    package func nextVolatileIDs() throws -> TaskID {
        let starts = try meta("volatile_starts").flatMap { Int64($0) } ?? 0
        try setMeta("volatile_starts", String(starts + 1))
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
            "SELECT owner FROM session JOIN task ON task.session = session.id WHERE task.id = ?", id)
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
                """, owner) ?? 0
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
        let tasks: [(id: TaskID, place: Tallies.Place, state: TaskState)] = try connection.rows(
            "SELECT id, lane, state FROM task WHERE session = ? LIMIT ?", row, limit
        ).map { ($0[0], Tallies.Place(session: row, lane: $0[1]), try $0.word(2)) }
        guard !tasks.isEmpty else { return false }
        for task in tasks { try memory.tallies.count(task.place, task.state, by: -1, in: connection) }
        let ids = Self.list(tasks.map(\.id))
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
        try execute("DELETE FROM client_token WHERE owner = ? AND session = ?", key.owner, row)
        try execute("DELETE FROM session WHERE id = ?", row)
        isUntidy = true
    }
}
