import TransferModel

extension StoreTransaction {
    /// Stores a new task with the next id; creates the owner's `shared` session if the task needs it and it is missing.
    /// - Throws: like `insert(_:)` of many.
    @discardableResult
    package func insert(_ task: NewTask) throws -> TaskRecord {
        task.record(try insert([task])[0])
    }

    /// Stores new tasks with the next ids, in order; creates the owner's `shared` session if a task needs it and it is
    /// missing.
    /// - Returns: one id for each task.
    /// - Throws: `session.not_found`; `disk.full` while the reserve is released, `limit.reached` if a limit forbids it.
    package func insert(_ tasks: [NewTask]) throws -> [TaskID] {
        if let lack { throw lack.refusal }
        guard !tasks.isEmpty else { return [] }
        if memory.isVolatile { try requireRoom(for: tasks) }
        let last = try take(tasks.count, .task)
        let first = last - Int64(tasks.count) + 1
        var places = TaskPlaces()
        var (lengths, counted): ([Int], [Tallies.Place]) = ([], [])
        lengths.reserveCapacity(tasks.count)
        counted.reserveCapacity(tasks.count)
        let rows = tasks.contains { $0.end != nil } ? Self.endedRows : Self.taskRows
        try rows.run(tasks.count, in: connection) { row, index in
            let place = try places.place(of: tasks[index], in: self)
            let text = try tasks[index].specText ?? StoredSpec.text(tasks[index].spec)
            lengths.append(text.utf8.count)
            counted.append(place)
            try Self.bind(tasks[index], text, id: first + Int64(index), place, to: row)
        }
        for index in tasks.indices {
            try memory.tallies.count(counted[index], tasks[index].status.state, by: 1, in: connection)
            guard tasks[index].hasOneRow, tasks[index].end == nil else { continue }
            memory.noteAdded(
                tasks[index].record(TaskID(first + Int64(index))), counted[index], expiry: tasks[index].storedExpiry,
                length: lengths[index])
        }
        for index in tasks.indices { try insertBelongings(of: tasks[index], TaskID(first + Int64(index))) }
        try insertEnds(of: tasks, from: first)
        return (first...last).map { TaskID($0) }
    }

    /// Data that few tasks have is in separate tables.
    private func insertBelongings(of task: NewTask, _ id: TaskID) throws {
        if let checkpoint = task.checkpoint { try setCheckpoint(id, checkpoint) }
        if let source = task.source { try setSource(id, source) }
        if let upload = task.upload { try setUpload(id, upload) }
        if let body = task.requestBody { try setBody(id, .request, body) }
        if let token = task.$spec.wrappedValue.clientToken {
            try execute(
                "INSERT INTO client_token (owner, token, task, created_at, digest) VALUES (?, ?, ?, ?, ?)",
                task.session.owner.rawValue, token, id.rawValue, task.status.createdAt.rawValue,
                task.specDigest)
        }
        for tag in task.$spec.wrappedValue.tags ?? [] {
            try execute(
                "INSERT OR IGNORE INTO task_tag (owner, tag, task) VALUES (?, ?, ?)",
                task.session.owner.rawValue, tag, id.rawValue)
        }
    }

    /// What tasks leave that are over already.
    private func insertEnds(of tasks: [NewTask], from first: Int64) throws {
        let ends = tasks.indices.compactMap { index in tasks[index].end.map { (id: first + Int64(index), end: $0) } }
        guard !ends.isEmpty else { return }
        try Self.responseRows.run(ends.count, in: connection) { row, index in
            let (id, end) = ends[index]
            row.set(1, id)
            row.set(2, text: end.response.text ?? JSONCoding.encode(end.response.response))
            row.set(3, end.response.head)
        }
        try Self.bodyRows.run(ends.count, in: connection) { row, index in
            row.set(1, ends[index].id)
            row.set(2, BodyRole.response.rawValue)
            row.set(3, ends[index].end.body)
            row.set(4, ends[index].end.response.showsKept ? Int64(1) : Int64(0))
        }
    }

    private static let responseRows = RowInsert(into: "response", ["task", "document", "head"])
    private static let bodyRows = RowInsert(into: "body", ["task", "role", "content", "is_shown"])

    private static let columns = [
        "id", "session", "lane", "kind", "priority", "position", "state", "reason", "next_attempt_at", "error",
        "attempts", "failures_in_row", "integrity_restarts", "created_at", "started_at", "finished_at",
        "budget_used", "budget_mark", "unresolved_since", "deadline_at", "expires_at", "destination_device", "url",
        "description", "spec", "sought",
    ]
    private static let taskRows = RowInsert(into: "task", columns)
    private static let endedRows = RowInsert(
        into: "task", columns + ["result_bytes", "result_verified", "metrics"])

    private static func bind(
        _ task: NewTask, _ specText: String, id: Int64, _ place: Tallies.Place, to row: RowValues
    ) throws {
        let status = task.$status
        row.set(1, id)
        row.set(2, place.session)
        row.set(3, place.lane)
        row.set(4, task.$spec.wrappedValue.kind.rawValue)
        row.set(5, (task.$spec.wrappedValue.priority ?? .normal).value)
        row.set(6, task.position ?? Double(id))
        row.set(7, status.wrappedValue.state.rawValue)
        row.set(8, status.wrappedValue.reason?.rawValue)
        row.set(9, status.wrappedValue.nextAttemptAt?.rawValue)
        row.set(10, status.wrappedValue.error.map { JSONColumn.encode($0) })
        row.set(11, Int64(status.wrappedValue.attempts))
        row.set(12, Int64(status.wrappedValue.failuresInRow))
        row.set(13, Int64(status.wrappedValue.integrityRestarts))
        row.set(14, status.wrappedValue.createdAt.rawValue)
        row.set(15, status.wrappedValue.startedAt?.rawValue)
        row.set(16, status.wrappedValue.finishedAt?.rawValue)
        row.set(17, status.wrappedValue.budgetUsed.rawValue)
        row.set(18, status.wrappedValue.budgetMark)
        row.set(19, status.wrappedValue.unresolvedSince?.milliseconds)
        row.set(20, task.$spec.wrappedValue.deadlineAt?.rawValue)
        row.set(21, task.storedExpiry?.rawValue)
        row.set(22, task.destinationDevice.map { Int64(bitPattern: $0) })
        row.set(23, task.$spec.wrappedValue.url ?? "")
        row.set(24, task.$spec.wrappedValue.description)
        row.set(25, specText)
        row.set(26, task.isSought ? Int64(1) : Int64(0))
        guard let end = task.end else { return }
        row.set(27, end.result.bytes.rawValue)
        row.set(28, end.result.verified ? Int64(1) : Int64(0))
        if let metrics = end.metrics { row.set(29, metrics.bytes) }
    }
}

extension NewTask {
    /// The record as it will be read.
    fileprivate func record(_ id: TaskID) -> TaskRecord {
        var record = TaskRecord(
            id: id, session: session, spec: $spec, status: $status, host: host,
            position: position ?? Double(id.rawValue))
        record.destinationDevice = destinationDevice
        record.checkpoint = checkpoint
        record.source = source
        record.upload = upload
        return record
    }

    /// No part of its record is in another table.
    fileprivate var hasOneRow: Bool { checkpoint == nil && source == nil && upload == nil }

    fileprivate var storedExpiry: Timestamp? { status.budgetMark == nil ? nil : resourceTimeoutAt }
}

/// The rows of sessions and lanes that the tasks of one insert share, each looked up once.
private struct TaskPlaces {
    private struct Lane: Hashable {
        var session: Int64
        var host: String
    }

    private var sessions: [SessionKey: Int64] = [:]
    private var lanes: [Lane: Int64] = [:]
    /// The place of the previous task: most calls are for one host.
    private var last: (session: SessionKey, host: String, place: Tallies.Place)?

    mutating func place(
        of task: NewTask, in transaction: StoreTransaction
    ) throws -> Tallies.Place {
        if let last, last.host == task.host, last.session == task.session { return last.place }
        let place = try find(task, in: transaction)
        last = (task.session, task.host, place)
        return place
    }

    private mutating func find(
        _ task: NewTask, in transaction: StoreTransaction
    ) throws -> Tallies.Place {
        let session = try sessions[task.session] ?? transaction.existingSession(task.session)
        sessions[task.session] = session
        let key = Lane(session: session, host: task.host)
        let lane = try lanes[key] ?? transaction.lane(session, task.host)
        lanes[key] = lane
        return Tallies.Place(session: session, lane: lane)
    }
}
