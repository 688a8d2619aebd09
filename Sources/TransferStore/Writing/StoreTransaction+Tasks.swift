import TransferModel

extension StoreTransaction {
    /// Moves the task to `status` if it is still in `state`.
    /// - Parameter resourceTimeoutAt: wall time at which the resource timeout runs out; if omitted, the stored time
    ///   stays. It is always forgotten while its time does not count (`budgetMark` nil).
    /// - Returns: false if the task does not exist or is in another state; nothing is changed then.
    package func update(
        _ id: TaskID, from state: TaskState, to status: TaskStatus, resourceTimeoutAt: Timestamp?? = nil
    ) throws -> Bool {
        try update(
            StatusChange(id, from: state, to: status, resourceTimeoutAt: resourceTimeoutAt ?? nil),
            keepsExpiry: resourceTimeoutAt == nil)
    }

    /// Stores how much of the download is durable; nil forgets it.
    package func setCheckpoint(_ id: TaskID, _ checkpoint: Checkpoint?) throws {
        guard let checkpoint else { return try execute("DELETE FROM checkpoint WHERE task = ?", id) }
        try execute(
            Self.checkpointChange, id, checkpoint.offset, checkpoint.total, checkpoint.validators.etag,
            checkpoint.validators.lastModified, checkpoint.validators.date, checkpoint.contentCoding,
            checkpoint.partPath, checkpoint.device, checkpoint.inode,
            checkpoint.serverDigests.isEmpty ? nil : JSONColumn.encode(checkpoint.serverDigests),
            checkpoint.ranges.isEmpty ? nil : JSONColumn.encode(checkpoint.ranges), checkpoint.mirror)
    }

    private static let checkpointChange = SQL(
        puttingInto: "checkpoint",
        """
        task, part_offset, total, etag, last_modified, response_date, content_coding, part_path, device, inode, \
        server_digests, ranges, origin
        """)

    /// Stores checkpoints of tasks, one for each; if only the offset differs, this costs a fraction.
    package func setCheckpoints(_ changes: [CheckpointChange]) throws {
        let moves = changes.filter(\.onlyMoves)
        var met = 0
        for move in moves {
            try connection.execute(Self.checkpointMove, move.checkpoint.offset, move.id)
            met += connection.changes
        }
        // A stored checkpoint was removed in the meantime.
        let all = met < moves.count
        for change in changes where all || !change.onlyMoves { try setCheckpoint(change.id, change.checkpoint) }
    }

    private static let checkpointMove = SQL("UPDATE checkpoint SET part_offset = ? WHERE task = ?")

    /// Stores the server's answer; nil forgets it.
    package func setResponse(_ id: TaskID, _ response: ResponseInfo?) throws {
        guard let response else { return try execute("DELETE FROM response WHERE task = ?", id) }
        try setResponse(id, StoredDocument(response))
    }

    package func setResponse(_ id: TaskID, _ document: StoredDocument) throws {
        let text = document.text ?? JSONCoding.encode(document.response)
        let statement = try connection.statement(Self.responseChange)
        id.bind(to: statement, at: 1)
        statement.bind(text: text, at: 2)
        document.head.bind(to: statement, at: 3)
        try statement.runAndClear()
    }

    private static let responseChange = SQL(puttingInto: "response", "task, document, head")

    /// Stores the device of the task's destination; `setSpec` stores its path.
    package func setDestinationDevice(_ id: TaskID, _ device: UInt64?) throws {
        try execute("UPDATE task SET destination_device = ? WHERE id = ?", device, id)
    }

    /// Replaces what the client requested (`task.update`), and the host that counts its slot.
    /// - Throws: `task.not_found`.
    package func setSpec(_ id: TaskID, _ spec: TaskSpec, host: String) throws {
        guard let session = try integer("SELECT session FROM task WHERE id = ?", id) else {
            throw TransferError(.taskNotFound, "There is no task \(id).")
        }
        let (text, lane) = (JSONColumn.encode(spec), try lane(session, host))
        try recounting(id) {
            try connection.execute(
                """
                UPDATE task SET spec = ?, url = ?, description = ?, kind = ?, priority = ?, deadline_at = ?, lane = ? \
                WHERE id = ?
                """,
                text, spec.url ?? "", spec.description, spec.kind, (spec.priority ?? .normal).value, spec.deadlineAt,
                lane, id)
        }
    }

    /// Moves the task among the tasks with its priority; the smallest position runs first.
    package func setPosition(_ id: TaskID, _ position: Double) throws {
        try recounting(id) { try connection.execute("UPDATE task SET position = ? WHERE id = ?", position, id) }
    }

    /// A position before or after all unfinished tasks of the same session and priority, including those that will be
    /// added later. The position of a new task is its id, and a time in milliseconds is larger than every id. If the
    /// clock stands still or goes back, the outermost position so far counts.
    /// - Throws: `task.not_found`.
    package func outermostPosition(of id: TaskID, isLast: Bool, at now: Timestamp) throws -> Double {
        guard let row = try rows("SELECT session, priority FROM task WHERE id = ?", id).next() else {
            throw TransferError(.taskNotFound, "There is no task \(id).")
        }
        let (session, priority): (Int64, Double) = (row[0], row[1])
        var position = isLast ? Double(now.rawValue) : -Double(now.rawValue)
        for state in TaskState.allCases where !state.isFinal {
            let rank = TaskListing.rankIndex(of: state)
            let outermost = """
                SELECT \(isLast ? "max" : "min")(position) FROM task INDEXED BY \(rank.index) \
                WHERE session = ? AND state = ? AND kind = ? AND priority = ?\(rank.condition)
                """
            for kind in TaskKind.allCases {
                let found = try rows(outermost, session, state, kind, priority).next()
                    .flatMap { $0[0] as Double? }
                guard let found else { continue }
                let next = isLast ? max(position, found + 1, found.nextUp) : min(position, found - 1, found.nextDown)
                if next.isFinite { position = next }
            }
        }
        return position
    }

    /// Removes the task with its checkpoint, response and bodies; its events stay, and its client token remembers how
    /// it ended. Its id is never used again.
    /// - Returns: whether there was such a task.
    @discardableResult
    package func delete(_ id: TaskID) throws -> Bool {
        guard let (place, state) = try place(of: id) else { return false }
        isUntidy = true
        try connection.execute("DELETE FROM task WHERE id = ?", id)
        try connection.execute(
            "UPDATE client_token SET removed_as = ? WHERE task = ?", state.isFinal ? state : .cancelled, id)
        if memory.isVolatile {
            try connection.execute("UPDATE client_token SET session = ? WHERE task = ?", place.session, id)
        }
        try memory.tallies.count(place, state, by: -1, in: connection)
        return true
    }

    /// Like `delete` for each of them.
    package func delete(_ ids: [TaskID]) throws {
        for id in ids { try delete(id) }
    }

    /// The row of a session and host that counts queued tasks; made if it is missing.
    func lane(_ session: Int64, _ host: String) throws -> Int64 {
        let known = try integer("SELECT id FROM lane WHERE session = ? AND host = ?", session, host)
        if let known { return known }
        try execute("INSERT INTO lane (session, host) VALUES (?, ?)", session, host)
        return connection.lastInsertedRow
    }
}

/// A checkpoint that is to be stored.
package struct CheckpointChange: Sendable {
    package var id: TaskID
    package var checkpoint: Checkpoint
    /// Only the offset differs from what is stored.
    package var onlyMoves: Bool

    /// - Parameter known: the stored checkpoint of the task.
    package init(_ id: TaskID, _ checkpoint: Checkpoint, after known: Checkpoint?) {
        self.id = id
        self.checkpoint = checkpoint
        var moved = known
        moved?.offset = checkpoint.offset
        onlyMoves = moved == checkpoint
    }
}
