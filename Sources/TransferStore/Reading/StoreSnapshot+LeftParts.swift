import TransferModel

extension StoreSnapshot {
    /// Part files that are still to be removed, grouped by folder and owner.
    /// - Parameter last: the end of the page before.
    package func leftParts(after last: LeftPart? = nil, limit: Int) throws -> [LeftPart] {
        try leftParts(
            "WHERE (folder, owner, name) > (?, ?, ?) ORDER BY folder, owner, name LIMIT ?",
            last?.folder ?? "", last?.owner.rawValue ?? 0, last?.name ?? "", limit)
    }

    /// The part files that the task left, in the same order.
    package func leftParts(of task: TaskID) throws -> [LeftPart] {
        try leftParts("WHERE task = ? ORDER BY folder, owner, name", task.rawValue)
    }

    private func leftParts<each Value: Bindable>(_ condition: String, _ values: repeat each Value) throws -> [LeftPart]
    {
        let columns = "owner, folder, name, task, device, inode, recorded_at"
        return try rows("SELECT \(columns) FROM left_part \(condition)", repeat each values).map { row in
            LeftPart(
                owner: UserID(row[0] as UInt32), folder: row[1], name: row[2], task: TaskID(row[3] as Int64),
                device: (row[4] as Int64?).map { UInt64(bitPattern: $0) },
                inode: (row[5] as Int64?).map { UInt64(bitPattern: $0) },
                recordedAt: Timestamp(milliseconds: row[6]))
        }
    }
}
