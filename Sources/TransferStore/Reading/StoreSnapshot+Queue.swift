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
            // Ids decide between equal ranks, and a lane does not know them.
            let lane = QueuedTask(
                id: TaskID(.min), session: session, host: row[1], priority: row[2], position: row[3])
            if found.tasks.count == most, let last = found.tasks.last, !Self.precedes(lane, last) {
                found.isCut = true
                break
            }
            let access = query.access(session, lane.host)
            guard let limit = access.limit(query.perLane) else {
                if access == .held { held.append(LaneID(rawValue: row[0])) }
                continue
            }
            // The best task that has not failed; if all have failed, the best of those that failed least often.
            let orders = access == .probe ? [Self.untriedSQL, Self.leastFailedSQL] : [Self.headsSQL]
            var heads: [QueuedTask] = []
            for sql in orders where heads.isEmpty { heads = try self.heads(sql, row[0], of: lane, query, limit) }
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
        try rows(Self.sessionsSQL).map { ($0[1], $0[0]) }
    }

    private static func precedes(_ a: QueuedTask, _ b: QueuedTask) -> Bool {
        a.priority == b.priority ? (a.position, a.id) < (b.position, b.id) : a.priority > b.priority
    }

    private func heads(
        _ sql: String, _ row: Int64, of lane: QueuedTask, _ query: CandidateQuery, _ limit: Int
    ) throws -> [QueuedTask] {
        let rows = try rows(sql, row)
        var heads: [QueuedTask] = []
        while heads.count < limit, let row = try rows.next() {
            let task = Self.task(row, lane.session, lane.host)
            if !query.excludedTasks.contains(task.id) { heads.append(task) }
        }
        return heads
    }

    private func wanted(_ query: CandidateQuery) throws -> [QueuedTask] {
        try query.wantedTasks.filter { !query.excludedTasks.contains($0) }.compactMap { id in
            try rows(Self.invitedSQL, id).next().map { Self.task($0, $0[4], $0[6]) }
        }
    }

    private static func task(_ row: Row, _ session: SessionKey, _ host: String) -> QueuedTask {
        QueuedTask(id: row[0], session: session, host: host, priority: row[1], position: row[2], failures: row[3])
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
        try integer(sql, time).map { Timestamp(milliseconds: $0) }
    }

    /// Waiting tasks whose next attempt is due at `time`, the longest due first.
    package func dueWaiting(at time: Timestamp, limit: Int) throws -> [TaskID] {
        try taskIDs(
            """
            SELECT id FROM task WHERE state = 'waiting' AND next_attempt_at <= ? \
            ORDER BY next_attempt_at LIMIT ?
            """, time, limit)
    }

    /// Unfinished tasks whose deadline or resource timeout has passed at `time`.
    package func dueDeadlines(at time: Timestamp, limit: Int) throws -> [TaskID] {
        let deadlines = try taskIDs(
            "SELECT id FROM task WHERE finished_at IS NULL AND deadline_at <= ? ORDER BY deadline_at LIMIT ?",
            time, limit)
        let known = Set(deadlines)
        let expired = try dueResourceTimeouts(at: time, limit: limit).filter { !known.contains($0) }
        return Array((deadlines + expired).prefix(limit))
    }

    /// Unfinished tasks whose resource timeout has passed at `time`, estimated with the wall clock: the task machine
    /// decides with the boot clock.
    package func dueResourceTimeouts(at time: Timestamp, limit: Int) throws -> [TaskID] {
        try taskIDs(
            "SELECT id FROM task WHERE finished_at IS NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?",
            time, limit)
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
