import GRDB
import TransferModel

extension StoreSnapshot {
    /// The best queued tasks of each lane that is not excluded, best first over all: one index lookup a lane, whatever
    /// the length of the queue.
    package func candidates(_ query: CandidateQuery) throws -> [QueuedTask] {
        var found: [QueuedTask] = []
        for lane in try openLanes(query) {
            try found.append(contentsOf: heads(of: lane, query))
        }
        found.sort { ($1.priority, $0.position, $0.id) < ($0.priority, $1.position, $1.id) }
        return Array(found.prefix(query.limit))
    }

    private struct Lane {
        var id: Int64
        var session: SessionKey
        var host: String
    }

    private func openLanes(_ query: CandidateQuery) throws -> [Lane] {
        let rows = try Row.fetchCursor(
            try statement(
                """
                SELECT lane.id, session.owner, session.identifier, lane.host \
                FROM lane INDEXED BY lane_with_queue JOIN session ON session.id = lane.session WHERE lane.queued > 0
                """))
        var lanes: [Lane] = []
        while let row = try rows.next() {
            let session = SessionKey(owner: UserID(row[1] as UInt32), identifier: row[2])
            let host: String = row[3]
            guard !query.excludedHosts.contains(host), !query.excludedSessions.contains(session) else { continue }
            lanes.append(Lane(id: row[0], session: session, host: host))
        }
        return lanes
    }

    private func heads(of lane: Lane, _ query: CandidateQuery) throws -> [QueuedTask] {
        let rows = try Row.fetchCursor(
            try statement(Self.headsSQL), arguments: [lane.id, query.abovePriority ?? -1])
        var heads: [QueuedTask] = []
        while heads.count < query.perLane, let row = try rows.next() {
            let task = QueuedTask(
                id: TaskID(row[0] as Int64), session: lane.session, host: lane.host, priority: row[1],
                position: row[2])
            if !query.excludedTasks.contains(task.id) { heads.append(task) }
        }
        return heads
    }

    static let headsSQL = """
        SELECT id, priority, position FROM task INDEXED BY task_queue \
        WHERE lane = ? AND state = 'queued' AND priority > ? ORDER BY priority DESC, position, id
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
        try integer(sql, [time.rawValue]).map { Timestamp(milliseconds: $0) }
    }

    /// Waiting tasks whose next attempt is due at `time`, the longest due first.
    package func dueWaiting(at time: Timestamp, limit: Int) throws -> [TaskID] {
        try taskIDs(
            """
            SELECT id FROM task WHERE state = 'waiting' AND next_attempt_at <= ? \
            ORDER BY next_attempt_at LIMIT ?
            """, [time.rawValue, limit])
    }

    /// Unfinished tasks whose deadline or time for the resource has passed at `time`.
    package func dueDeadlines(at time: Timestamp, limit: Int) throws -> [TaskID] {
        let deadlines = try taskIDs(
            "SELECT id FROM task WHERE finished_at IS NULL AND deadline_at <= ? ORDER BY deadline_at LIMIT ?",
            [time.rawValue, limit])
        let known = Set(deadlines)
        let expired = try dueResourceTimeouts(at: time, limit: limit).filter { !known.contains($0) }
        return Array((deadlines + expired).prefix(limit))
    }

    /// Unfinished tasks whose time for the resource has passed at `time`, by the wall clock's estimate: the machine
    /// decides on the boot clock.
    package func dueResourceTimeouts(at time: Timestamp, limit: Int) throws -> [TaskID] {
        try taskIDs(
            "SELECT id FROM task WHERE finished_at IS NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?",
            [time.rawValue, limit])
    }
}
