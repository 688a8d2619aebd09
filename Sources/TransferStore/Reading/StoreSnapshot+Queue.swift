import GRDB
import TransferModel

extension StoreSnapshot {
    /// The best queued tasks of each lane that is not excluded, best first over all.
    ///
    /// Lanes are walked in the order of their heads and the walk ends once no further head can be among the answer:
    /// its cost depends on `limit` and on excluded lanes, not on the length of the queue. Lanes that are marked as held
    /// are in no index that it goes through.
    package func candidates(_ query: CandidateQuery) throws -> Candidates {
        let lanes = try Row.fetchCursor(
            try statement(Self.lanesSQL), arguments: [query.abovePriority ?? -1])
        var found = Candidates()
        while let row = try lanes.next() {
            let lane = Lane(row)
            guard !query.excludedSessions.contains(lane.session) else { continue }
            if found.tasks.count == query.limit, let last = found.tasks.last, !lane.canPrecede(last) { break }
            let isHeld = query.isHeld(lane.host)
            let heads = try heads(of: lane, query, among: isHeld ? Self.againSQL : Self.headsSQL)
            if isHeld, heads.isEmpty { found.heldLanes.append(LaneID(rawValue: lane.id)) }
            found.tasks.append(contentsOf: heads)
            found.tasks.sort(by: Self.precedes)
            found.tasks.removeLast(max(0, found.tasks.count - query.limit))
        }
        return found
    }

    private struct Lane {
        var id: Int64
        var session: SessionKey
        var host: String
        var priority: Double
        var position: Double

        init(_ row: Row) {
            id = row[0]
            session = SessionKey(owner: UserID(row[1] as UInt32), identifier: row[2])
            host = row[3]
            priority = row[4]
            position = row[5]
        }

        /// Whether the lane's head might come before `task`; equal rank is decided by ids, which a lane does not know.
        func canPrecede(_ task: QueuedTask) -> Bool {
            priority > task.priority || (priority == task.priority && position <= task.position)
        }
    }

    private static func precedes(_ a: QueuedTask, _ b: QueuedTask) -> Bool {
        a.priority == b.priority ? (a.position, a.id) < (b.position, b.id) : a.priority > b.priority
    }

    private func heads(of lane: Lane, _ query: CandidateQuery, among sql: String) throws -> [QueuedTask] {
        let rows = try Row.fetchCursor(
            try statement(sql), arguments: [lane.id, query.abovePriority ?? -1])
        var heads: [QueuedTask] = []
        while heads.count < query.perLane, let row = try rows.next() {
            let task = QueuedTask(
                id: TaskID(row[0] as Int64), session: lane.session, host: lane.host, priority: row[1],
                position: row[2], hasFailed: row[3])
            if !query.excludedTasks.contains(task.id) { heads.append(task) }
        }
        return heads
    }

    static let lanesSQL = """
        SELECT lane.id, session.owner, session.identifier, lane.host, head_priority, head_position \
        FROM lane INDEXED BY lane_head CROSS JOIN session ON session.id = lane.session \
        WHERE queued > 0 AND held = 0 AND head_priority > ? ORDER BY head_priority DESC, head_position
        """

    static let headsSQL = """
        SELECT id, priority, position, failures_in_row > 0 FROM task INDEXED BY task_queue \
        WHERE lane = ? AND state = 'queued' AND priority > ? ORDER BY priority DESC, position, id
        """

    /// Those that failed themselves: at a host that is held back they may run.
    static let againSQL = """
        SELECT id, priority, position, 1 FROM task INDEXED BY task_again \
        WHERE lane = ? AND state = 'queued' AND failures_in_row > 0 AND priority > ? \
        ORDER BY priority DESC, position, id
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
