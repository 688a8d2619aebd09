import GRDB
import TransferModel

extension StoreSnapshot {
    /// Names that the task's part had before.
    package func movedParts(of task: TaskID) throws -> [MovedPart] {
        let rows = try Row.fetchAll(
            try statement("SELECT path, owner, device, recorded_at FROM moved_part WHERE task = ? ORDER BY path"),
            arguments: [task.rawValue])
        return rows.map { row in
            MovedPart(
                path: row[0], task: task, owner: UserID(row[1] as UInt32),
                device: (row[2] as Int64?).map { UInt64(bitPattern: $0) },
                recordedAt: Timestamp(milliseconds: row[3]))
        }
    }

    /// Tasks whose parts have left something behind, or have to move yet: some beyond `last`, in order.
    package func tasksWithMovedParts(after last: TaskID?, limit: Int) throws -> [TaskID] {
        try Int64.fetchAll(
            try statement("SELECT DISTINCT task FROM moved_part WHERE task > ? ORDER BY task LIMIT ?"),
            arguments: [last?.rawValue ?? 0, limit]
        ).map { TaskID($0) }
    }
}
