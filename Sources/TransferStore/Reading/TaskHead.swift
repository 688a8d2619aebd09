import TransferModel

/// What decides about a task's state, read without its documents, which cost more than the rest of its row. Used by
/// actions on a hundred thousand tasks at once.
package struct TaskHead: Sendable, Hashable {
    package var id: TaskID
    package var session: SessionKey
    package var kind: TaskKind
    @Boxed package var status: TaskStatus
    package var hasCheckpoint: Bool
    /// The upload was begun at a server and may have to be ended there.
    package var hasUpload: Bool

    package init(_ record: TaskRecord) {
        id = record.id
        session = record.session
        kind = record.spec.kind
        _status = record.$status
        hasCheckpoint = record.checkpoint != nil
        hasUpload = record.upload != nil
    }

    /// Whether it may have a part file: a download has one from its first attempt on, or was added with one.
    package var mayHavePart: Bool { kind == .download && (status.attempts > 0 || hasCheckpoint) }

    fileprivate init(_ row: Row) throws {
        id = row[0]
        session = row[1]
        kind = try row.word(3)
        hasCheckpoint = row[4]
        hasUpload = row[5]
        status = try TaskRow.status(row, from: 6)
    }

    fileprivate static let sql = """
        SELECT task.id, session.owner, session.identifier, task.kind, \
        EXISTS (SELECT 1 FROM checkpoint WHERE checkpoint.task = task.id), \
        EXISTS (SELECT 1 FROM upload WHERE upload.task = task.id), \(TaskRow.statusColumns) \
        FROM json_each(?) AS wanted CROSS JOIN task ON task.id = wanted.value \
        JOIN session ON session.id = task.session ORDER BY wanted.key
        """
}

extension StoreSnapshot {
    /// Heads of those of the tasks that exist and can be read, in the requested order.
    package func heads(_ ids: [TaskID]) throws -> [TaskHead] {
        ids.isEmpty ? [] : try rows(TaskHead.sql, Self.list(ids)).readable(TaskHead.init)
    }

    /// Ids as one argument, for `json_each`.
    static func list(_ ids: [TaskID]) -> String {
        "[\(ids.map { String($0.rawValue) }.joined(separator: ","))]"
    }
}
