import TransferModel

/// A part file that is no longer needed but may still exist. Either its disk was away or did not answer when the task
/// gave it up, or the task's destination has changed and the file may not have been moved yet.
package struct LeftPart: Hashable, Sendable {
    package var owner: UserID
    /// Absolute path of its folder.
    package var folder: String
    package var name: String
    /// The task that it belonged to, which may be gone.
    package var task: TaskID
    /// Of the file system; nil if it is not known.
    package var device: UInt64?
    /// nil for a name that itself says which task it belongs to.
    package var inode: UInt64?
    package var recordedAt: Timestamp

    package init(
        owner: UserID, folder: String, name: String, task: TaskID, device: UInt64?, inode: UInt64? = nil,
        recordedAt: Timestamp
    ) {
        self.owner = owner
        self.folder = folder
        self.name = name
        self.task = task
        self.device = device
        self.inode = inode
        self.recordedAt = recordedAt
    }

    package var path: String { folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)" }
}

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
        try leftParts("WHERE task = ? ORDER BY folder, owner, name", task)
    }

    fileprivate static let leftPartColumns = "owner, folder, name, task, device, inode, recorded_at"

    private func leftParts<each Value: Bindable>(_ tail: String, _ values: repeat each Value) throws -> [LeftPart] {
        try rows("SELECT \(Self.leftPartColumns) FROM left_part \(tail)", repeat each values).map { row in
            LeftPart(
                owner: row[0], folder: row[1], name: row[2], task: row[3], device: row[4], inode: row[5],
                recordedAt: row[6])
        }
    }
}

extension StoreTransaction {
    /// Remembers part files until they are removed; one that is known already is not changed.
    package func note(_ parts: [LeftPart]) throws {
        for part in parts {
            try execute(
                "INSERT INTO left_part (\(Self.leftPartColumns)) VALUES (\(placeholders(7))) ON CONFLICT DO NOTHING",
                part.owner, part.folder, part.name, part.task, part.device, part.inode, part.recordedAt)
        }
    }

    /// They are gone, or in use again.
    package func forget(_ parts: [LeftPart]) throws {
        for part in parts {
            try execute(
                "DELETE FROM left_part WHERE folder = ? AND owner = ? AND name = ?",
                part.folder, part.owner, part.name)
        }
    }
}
