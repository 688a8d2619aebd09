import TransferModel

/// Sums over the rows of tasks and events: how many tasks each session has in each state, the figures of each lane, the
/// events of each owner, the last numbers given out. A commit of a hundred changes writes each row once.
///
/// The schema's triggers count for other programs; on the writing connection they are off. Code that adds, removes or
/// moves tasks must report it here.
struct Tallies {
    /// Where a task is counted.
    struct Place: Hashable {
        var session: Int64
        var lane: Int64
    }

    /// Changes of a lane that are not written yet; whether a task was added to its queue, removed from it, or moved in
    /// it.
    private typealias Lane = (tasks: Int64, queued: Int64, mayHaveNewHead: Bool)

    /// Counts of a session in the order of `TaskState.allCases`.
    private struct Session {
        var counts: [Int64]
        /// The counts that are not written yet, as bits.
        var changed = 0

        mutating func count(_ index: Int, by change: Int64) {
            counts[index] += change
            changed |= 1 << index
        }
    }

    private var sessions: [Int64: Session] = [:]
    private var lanes: [Int64: Lane] = [:]
    private var owners: [UserID: Int64] = [:]
    private var counters: [StoreTransaction.Counter: (value: Int64, isWritten: Bool)] = [:]
    /// Whether anything is not written yet.
    private(set) var isPending = false

    // MARK: Counting

    /// - Parameter change: 1 if the task is counted there from now on, -1 if it no longer is.
    mutating func count(_ place: Place, _ state: TaskState, by change: Int64, in connection: Connection) throws {
        let index = Self.index(state)
        if sessions[place.session] == nil { sessions[place.session] = try Self.stored(place.session, in: connection) }
        sessions[place.session]?.count(index, by: change)
        Self.count(&lanes[place.lane, default: (0, 0, false)], tasks: change, queued: state == .queued ? change : 0)
        isPending = true
    }

    /// A task stays in its place and has another state.
    mutating func move(
        _ place: Place, from old: TaskState, to new: TaskState, in connection: Connection
    ) throws {
        guard old != new else { return }
        if sessions[place.session] == nil { sessions[place.session] = try Self.stored(place.session, in: connection) }
        Self.move(&sessions[place.session], Self.index(old), Self.index(new))
        let queued: Int64 = old == .queued ? -1 : new == .queued ? 1 : 0
        if queued != 0 { Self.count(&lanes[place.lane, default: (0, 0, false)], tasks: 0, queued: queued) }
        isPending = true
    }

    /// Each access to a dictionary searches for the key.
    private static func move(_ session: inout Session?, _ from: Int, _ to: Int) {
        session?.count(from, by: -1)
        session?.count(to, by: 1)
    }

    private static func count(_ lane: inout Lane, tasks: Int64, queued: Int64) {
        lane.tasks += tasks
        lane.queued += queued
        if queued != 0 { lane.mayHaveNewHead = true }
    }

    mutating func countEvents(_ owner: UserID, _ count: Int) {
        owners[owner, default: 0] += Int64(count)
        isPending = true
    }

    /// Takes the next `count` numbers.
    /// - Returns: the last of them.
    mutating func take(_ count: Int, _ counter: StoreTransaction.Counter, in connection: Connection) throws -> Int64 {
        let value = try last(counter, in: connection) + Int64(count)
        counters[counter] = (value, false)
        isPending = true
        return value
    }

    // MARK: Asking

    /// The last number given out.
    mutating func last(_ counter: StoreTransaction.Counter, in connection: Connection) throws -> Int64 {
        if let known = counters[counter] { return known.value }
        guard let stored = try connection.integer("SELECT value FROM counter WHERE name = ?", counter.rawValue) else {
            throw TransferError(.internal, "The store has no counter \(counter.rawValue).")
        }
        counters[counter] = (stored, true)
        return stored
    }

    /// Whether a task of the session has not ended.
    mutating func hasUnfinishedTasks(_ session: Int64, in connection: Connection) throws -> Bool {
        let known = try sessions[session] ?? Self.stored(session, in: connection)
        sessions[session] = known
        return zip(TaskState.allCases, known.counts).contains { !$0.isFinal && $1 > 0 }
    }

    private static func index(_ state: TaskState) -> Int {
        switch state {
        case .queued: 0
        case .running: 1
        case .waiting: 2
        case .paused: 3
        case .completed: 4
        case .failed: 5
        case .cancelled: 6
        }
    }

    private static let states: [TaskState] = [.queued, .running, .waiting, .paused, .completed, .failed, .cancelled]

    private static func stored(_ session: Int64, in connection: Connection) throws -> Session {
        var counts = [Int64](repeating: 0, count: states.count)
        let rows = try connection.rows("SELECT state, count FROM task_count WHERE session = ?", session)
        while let row = try rows.next() { counts[index(try row.word(0))] = row[1] }
        return Session(counts: counts)
    }

    // MARK: Writing

    /// Writes the pending changes.
    mutating func write(to connection: Connection) throws {
        guard isPending else { return }
        for (session, known) in sessions where known.changed != 0 {
            for index in known.counts.indices where known.changed & 1 << index != 0 {
                try connection.execute(Self.sessionChange, known.counts[index], session, Self.states[index])
            }
            sessions[session]?.changed = 0
        }
        for (id, lane) in lanes { try Self.write(lane, id, to: connection) }
        lanes.removeAll(keepingCapacity: true)
        for (owner, count) in owners { try connection.execute(Self.ownerChange, owner, count) }
        owners.removeAll(keepingCapacity: true)
        for (counter, known) in counters where !known.isWritten {
            try connection.execute(Self.counterChange, known.value, counter.rawValue)
            counters[counter]?.isWritten = true
        }
        isPending = false
    }

    private static func write(_ lane: Lane, _ id: Int64, to connection: Connection) throws {
        if lane.mayHaveNewHead {
            try connection.execute(queueChange, id, lane.tasks, lane.queued)
        } else if lane.tasks != 0 {
            try connection.execute(laneChange, id, lane.tasks)
        }
        if lane.tasks < 0 { try connection.execute(emptyLane, id) }
    }

    private static let sessionChange = SQL("UPDATE OR FAIL task_count SET count = ? WHERE session = ? AND state = ?")
    private static let queueChange = SQL(
        """
        UPDATE OR FAIL lane SET tasks = tasks + ?2, queued = queued + ?3, (head_priority, head_position) = (\
        SELECT priority, position FROM task INDEXED BY task_queue WHERE lane = ?1 AND state = 'queued' \
        ORDER BY priority DESC, position, id LIMIT 1) WHERE id = ?1
        """)
    private static let laneChange = SQL("UPDATE OR FAIL lane SET tasks = tasks + ?2 WHERE id = ?1")
    private static let emptyLane = SQL("DELETE FROM lane WHERE id = ? AND tasks = 0")
    private static let ownerChange = SQL(
        """
        INSERT INTO event_owner (owner, count, expired) VALUES (?, ?, 0) \
        ON CONFLICT (owner) DO UPDATE SET count = count + excluded.count
        """)
    private static let counterChange = SQL("UPDATE OR FAIL counter SET value = ? WHERE name = ?")
}
