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
