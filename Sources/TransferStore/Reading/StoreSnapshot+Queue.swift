import TransferModel

extension StoreSnapshot {
    /// The best queued tasks of the sessions whose turn it is.
    ///
    /// It reads the lanes of each session in the order of their first tasks, and stops when no further lane can
    /// contribute. So its cost depends on the limits, not on the length of the queue. The index that it reads does not
    /// contain lanes that are marked as held.
    package func candidates(_ query: CandidateQuery) throws -> Candidates {
        let open = try openSessions()
        let chosen = query.order(open.map(\.key)).prefix(query.sessions)
        let rows = Dictionary(open.map { ($0.key, $0.row) }) { first, _ in first }
        var found = Candidates(isCut: chosen.count < open.count)
        let most = query.perSession(among: chosen.count)
        for session in chosen {
            guard let row = rows[session] else { continue }
            found.sessions.append(try candidates(of: session, row, query, most: most, held: &found.heldLanes))
        }
        for task in try wanted(query) where !found.tasks.contains(where: { $0.id == task.id }) {
            found.sessions.append(Candidates.OfSession(session: task.session, tasks: [task]))
        }
        return found
    }

    private func candidates(
        of session: SessionKey, _ row: Int64, _ query: CandidateQuery, most: Int, held: inout [LaneID]
    ) throws -> Candidates.OfSession {
        var found = Candidates.OfSession(session: session)
        let lanes = try rows(Self.lanesSQL, row)
        while let row = try lanes.next() {
            let lane = Lane(row, of: session)
            if found.tasks.count == most, let last = found.tasks.last, !lane.canPrecede(last) {
                found.isCut = true
                break
            }
            let access = query.access(session, lane.host)
            guard let limit = access.limit(query.perLane) else {
                if access == .held { held.append(LaneID(rawValue: lane.id)) }
                continue
            }
            let heads = try access == .probe ? probe(of: lane, query) : heads(of: lane, query, limit)
            // As many as requested: there may be more.
            if heads.count >= limit { found.cutHosts.insert(lane.host) }
            found.tasks.append(contentsOf: heads)
            found.tasks.sort(by: Self.precedes)
            if found.tasks.count > most {
                found.tasks.removeLast(found.tasks.count - most)
                found.isCut = true
            }
        }
        return found
    }

    /// Sessions that are not paused and have a queued task in a lane that is not held.
    private func openSessions() throws -> [(key: SessionKey, row: Int64)] {
        let rows = try rows(Self.sessionsSQL)
        var sessions: [(SessionKey, Int64)] = []
        while let row = try rows.next() {
            sessions.append((SessionKey(owner: UserID(row[1] as UInt32), identifier: row[2]), row[0]))
        }
        return sessions
    }

    private struct Lane {
        var id: Int64
        var session: SessionKey
        var host: String
        var priority: Double
        var position: Double

        init(_ row: Row, of session: SessionKey) {
            self.session = session
            id = row[0]
            host = row[1]
            priority = row[2]
            position = row[3]
        }

        /// Whether the lane's head might come before `task`; ids decide between equal ranks, and a lane does not know
        /// them.
        func canPrecede(_ task: QueuedTask) -> Bool {
            priority > task.priority || (priority == task.priority && position <= task.position)
        }
    }

    private static func precedes(_ a: QueuedTask, _ b: QueuedTask) -> Bool {
        a.priority == b.priority ? (a.position, a.id) < (b.position, b.id) : a.priority > b.priority
    }

    private func heads(
        of lane: Lane, _ query: CandidateQuery, _ limit: Int, sql: String = StoreSnapshot.headsSQL
    ) throws -> [QueuedTask] {
        let rows = try rows(sql, lane.id)
        var heads: [QueuedTask] = []
        while heads.count < limit, let row = try rows.next() {
            let task = Self.task(row, lane.session, lane.host)
            if !query.excludedTasks.contains(task.id) { heads.append(task) }
        }
        return heads
    }

    /// The best task that has not failed; if all have failed, the best of those that failed least often.
    private func probe(of lane: Lane, _ query: CandidateQuery) throws -> [QueuedTask] {
        let untried = try heads(of: lane, query, 1, sql: Self.untriedSQL)
        return try untried.isEmpty ? heads(of: lane, query, 1, sql: Self.leastFailedSQL) : untried
    }

    private func wanted(_ query: CandidateQuery) throws -> [QueuedTask] {
        try query.wantedTasks.compactMap { id in
            guard !query.excludedTasks.contains(id),
                let row = try rows(Self.invitedSQL, id.rawValue).next()
            else { return nil }
            let session = SessionKey(owner: UserID(row[4] as UInt32), identifier: row[5])
            return Self.task(row, session, row[6])
        }
    }

    private static func task(_ row: Row, _ session: SessionKey, _ host: String) -> QueuedTask {
        QueuedTask(
            id: TaskID(row[0] as Int64), session: session, host: host, priority: row[1], position: row[2],
            failures: row[3])
    }

    /// Jumps from session to session in the index, however many lanes each has.
    static let sessionsSQL = """
        WITH RECURSIVE open (id) AS ( \
            SELECT min(session) FROM lane INDEXED BY lane_open WHERE queued > 0 AND held = 0 \
            UNION ALL \
            SELECT (SELECT min(session) FROM lane INDEXED BY lane_open \
                WHERE queued > 0 AND held = 0 AND session > open.id) \
            FROM open WHERE open.id IS NOT NULL) \
        SELECT session.id, owner, identifier FROM open CROSS JOIN session ON session.id = open.id \
        WHERE session.paused_since IS NULL
        """

    static let lanesSQL = """
        SELECT id, host, head_priority, head_position FROM lane INDEXED BY lane_open \
        WHERE session = ? AND queued > 0 AND held = 0 ORDER BY head_priority DESC, head_position
        """

    static let headsSQL = """
        SELECT id, priority, position, failures_in_row FROM task INDEXED BY task_queue \
        WHERE lane = ? AND state = 'queued' ORDER BY priority DESC, position, id
        """

    static let untriedSQL = """
        SELECT id, priority, position, 0 FROM task INDEXED BY task_queue \
        WHERE lane = ? AND state = 'queued' AND failures_in_row = 0 ORDER BY priority DESC, position, id
        """

    static let leastFailedSQL = """
        SELECT id, priority, position, failures_in_row FROM task INDEXED BY task_queue \
        WHERE lane = ? AND state = 'queued' ORDER BY failures_in_row, priority DESC, position, id
        """

    static let invitedSQL = """
        SELECT task.id, priority, position, failures_in_row, owner, identifier, lane.host FROM task \
        JOIN lane ON lane.id = task.lane JOIN session ON session.id = task.session \
        WHERE task.id = ? AND task.state = 'queued' AND session.paused_since IS NULL
        """

    /// When the next attempt, deadline and resource timeout after `time` fall due.
    package func nextTimes(after time: Timestamp) throws -> NextTimes {
        NextTimes(
            attempt: try earliest(
                "SELECT min(next_attempt_at) FROM task WHERE state = 'waiting' AND next_attempt_at > ?", time),
            deadline: try earliest(
                "SELECT min(deadline_at) FROM task WHERE finished_at IS NULL AND deadline_at > ?", time),
            resourceTimeout: try earliest(
                "SELECT min(expires_at) FROM task WHERE finished_at IS NULL AND expires_at > ?", time))
    }

    private func earliest(_ sql: String, _ time: Timestamp) throws -> Timestamp? {
        try integer(sql, time.rawValue).map { Timestamp(milliseconds: $0) }
    }

    /// Waiting tasks whose next attempt is due at `time`, the longest due first.
    package func dueWaiting(at time: Timestamp, limit: Int) throws -> [TaskID] {
        try taskIDs(
            """
            SELECT id FROM task WHERE state = 'waiting' AND next_attempt_at <= ? \
            ORDER BY next_attempt_at LIMIT ?
            """, time.rawValue, limit)
    }

    /// Unfinished tasks whose deadline or resource timeout has passed at `time`.
    package func dueDeadlines(at time: Timestamp, limit: Int) throws -> [TaskID] {
        let deadlines = try taskIDs(
            "SELECT id FROM task WHERE finished_at IS NULL AND deadline_at <= ? ORDER BY deadline_at LIMIT ?",
            time.rawValue, limit)
        let known = Set(deadlines)
        let expired = try dueResourceTimeouts(at: time, limit: limit).filter { !known.contains($0) }
        return Array((deadlines + expired).prefix(limit))
    }

    /// Unfinished tasks whose resource timeout has passed at `time`, estimated with the wall clock: the task machine
    /// decides with the boot clock.
    package func dueResourceTimeouts(at time: Timestamp, limit: Int) throws -> [TaskID] {
        try taskIDs(
            "SELECT id FROM task WHERE finished_at IS NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?",
            time.rawValue, limit)
    }
}

extension CandidateQuery.Access {
    /// Tasks to read from a lane; nil if none may begin.
    fileprivate func limit(_ perLane: Int) -> Int? {
        switch self {
        case .open: perLane
        case .one, .probe: 1
        case .held, .pausing: nil
        }
    }
}
