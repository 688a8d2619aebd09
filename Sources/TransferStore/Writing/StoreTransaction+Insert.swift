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
        let (places, lengths) = try insertRows(of: tasks, from: first)
        for index in tasks.indices {
            try memory.tallies.count(places[index], tasks[index].status.state, by: 1, in: connection)
            guard tasks[index].hasOneRow, tasks[index].end == nil else { continue }
            memory.noteAdded(
                tasks[index].record(TaskID(first + Int64(index))), places[index], expiry: tasks[index].storedExpiry,
                length: lengths[index])
        }
        for index in tasks.indices { try insertBelongings(of: tasks[index], TaskID(first + Int64(index))) }
        try insertEnds(of: tasks, from: first)
        return (first...last).map { TaskID($0) }
    }

    /// - Returns: where each task is counted, and how long the text of its spec is.
    private func insertRows(of tasks: [NewTask], from first: Int64) throws -> (places: [Tallies.Place], lengths: [Int])
    {
        var (places, lengths): ([Tallies.Place], [Int]) = ([], [])
        places.reserveCapacity(tasks.count)
        lengths.reserveCapacity(tasks.count)
        var sessions: [SessionKey: Int64] = [:]
        var lanes: [Int64: [String: Int64]] = [:]
        func place(of task: NewTask) throws -> Tallies.Place {
            let session = try sessions[task.session] ?? existingSession(task.session)
            sessions[task.session] = session
            let lane = try lanes[session]?[task.host] ?? lane(session, task.host)
            lanes[session, default: [:]][task.host] = lane
            return Tallies.Place(session: session, lane: lane)
        }
        let rows = tasks.contains { $0.end != nil } ? Self.endedRows : Self.taskRows
        try rows.run(tasks.count, in: connection) { row, index in
            // Most calls are for one host.
            let isAsBefore =
                index > 0 && tasks[index].host == tasks[index - 1].host
                && tasks[index].session == tasks[index - 1].session
            let place = isAsBefore ? places[index - 1] : try place(of: tasks[index])
            let text = tasks[index].specText ?? JSONColumn.encode(tasks[index].spec)
            places.append(place)
            lengths.append(text.utf8.count)
            try Self.bind(tasks[index], text, id: first + Int64(index), place, to: row)
        }
        return (places, lengths)
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
                task.session.owner, token, id, task.status.createdAt, task.specDigest)
        }
        for tag in task.$spec.wrappedValue.tags ?? [] {
            try execute(
                "INSERT OR IGNORE INTO task_tag (owner, tag, task) VALUES (?, ?, ?)",
                task.session.owner, tag, id)
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
            row.set(2, BodyRole.response)
            row.set(3, ends[index].end.body)
            row.set(4, ends[index].end.response.showsKept)
        }
    }

    private static let responseRows = RowInsert(into: "response", ["task", "document", "head"])
    private static let bodyRows = RowInsert(into: "body", ["task", "role", "content", "is_shown"])

    private static let columns = [
        "id", "session", "lane", "kind", "priority", "position", "created_at", "deadline_at", "expires_at",
        "destination_device", "url", "description", "spec", "sought",
    ]
    private static let rowColumns = columns + StatusColumn.all.map(\.name)
    private static let taskRows = RowInsert(into: "task", rowColumns)
    private static let endedRows = RowInsert(
        into: "task", rowColumns + ["result_bytes", "result_verified", "metrics"])

    private static func bind(
        _ task: NewTask, _ specText: String, id: Int64, _ place: Tallies.Place, to row: RowValues
    ) throws {
        row.set(1, id)
        row.set(2, place.session)
        row.set(3, place.lane)
        row.set(4, task.$spec.wrappedValue.kind)
        row.set(5, (task.$spec.wrappedValue.priority ?? .normal).value)
        row.set(6, task.position ?? Double(id))
        row.set(7, task.$status.wrappedValue.createdAt)
        row.set(8, task.$spec.wrappedValue.deadlineAt)
        row.set(9, task.storedExpiry)
        row.set(10, task.destinationDevice)
        row.set(11, task.$spec.wrappedValue.url ?? "")
        row.set(12, task.$spec.wrappedValue.description)
        row.set(13, specText)
        row.set(14, task.isSought)
        var next = row.first + 15
        for column in StatusColumn.all {
            column.bind(task.$status, row.statement, next)
            next += 1
        }
        guard let end = task.end else { return }
        row.set(28, end.result.bytes)
        row.set(29, end.result.verified)
        row.set(30, end.metrics?.bytes)
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
