import TransferModel

/// What is known of a task that was set aside.
package struct SetAsideTask: Sendable, Hashable {
    package var id: TaskID
    package var session: SessionKey
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
            """, id.rawValue
        ).next()
        guard let row else { return nil }
        let task = SetAsideTask(
            id: id, session: SessionKey(owner: UserID(row[0] as UInt32), identifier: row[1]), url: row[4],
            state: try JSONColumn.word(row[3]))
        try keepPart(of: task, at: now)
        var spec = TaskSpec()
        spec.kind = try JSONColumn.word(row[2])
        spec.description = row[5]
        let isCompleted = task.state == .completed
        if isCompleted { spec.url = task.url }
        for table in ["checkpoint", "response", "upload", "decision"] {
            try execute("DELETE FROM \(table) WHERE task = ?", id.rawValue)
        }
        let text = JSONColumn.encode(spec)
        let reason = isCompleted ? nil : JSONColumn.encode(error)
        try recounting(id) {
            try connection.execute(
                """
                UPDATE task SET spec = ?, error = ?, state = ?, reason = NULL, next_attempt_at = NULL, short_body = NULL, \
                budget_mark = NULL, expires_at = NULL, deadline_at = NULL, metrics = NULL, \
                finished_at = coalesce(finished_at, ?) WHERE id = ?
                """, text, reason, (task.state.isFinal ? task.state : .failed).rawValue, now.rawValue, id.rawValue)
        }
        return task
    }

    /// Its part file is removed with the others that are no longer wanted.
    private func keepPart(of task: SetAsideTask, at now: Timestamp) throws {
        let row = try rows("SELECT part_path, device, inode FROM checkpoint WHERE task = ?", task.id.rawValue).next()
        guard let row, let slash = (row[0] as String).lastIndex(of: "/") else { return }
        let path: String = row[0]
        let part = LeftPart(
            owner: task.session.owner, folder: slash == path.startIndex ? "/" : String(path[..<slash]),
            name: String(path[path.index(after: slash)...]), task: task.id, device: UInt64(bitPattern: row[1]),
            inode: UInt64(bitPattern: row[2]), recordedAt: now)
        try note([part])
    }
}
