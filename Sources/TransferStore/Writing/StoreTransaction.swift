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
        let rows = try connection.rows("SELECT session, lane, state FROM task WHERE id = ?", id.rawValue)
        return try rows.next().map { row in
            (Tallies.Place(session: row[0], lane: row[1]), try JSONColumn.word(row[2]))
        }
    }

    /// Runs a change of a task's state, lane or rank: removes the task from the counters before, and counts it again
    /// after.
    /// - Returns: what `change` returns.
    func recounting<Value>(_ id: TaskID, _ change: () throws -> Value) throws -> Value {
        if let (place, state) = try place(of: id) {
            try memory.tallies.count(place, state, by: -1, in: connection)
        }
        let value = try change()
        if let (place, state) = try place(of: id) {
            try memory.tallies.count(place, state, by: 1, in: connection)
        }
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
            row.set(2, events[index].time.rawValue)
            row.set(3, events[index].type.rawValue)
            row.set(4, Int64(events[index].session.owner.rawValue))
            row.set(5, events[index].session.identifier)
            row.set(6, (tasks?[index] ?? events[index].task)?.rawValue)
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
