import TransferModel

/// A part file that nobody wants any more and that may still be there: its disk was away, or did not answer, when the task
/// that it belonged to gave it up; or the task's destination has changed, and its part may not have followed yet.
package struct LeftPart: Hashable, Sendable {
    package var owner: UserID
    /// Absolute path of its folder.
    package var folder: String
    package var name: String
    /// Whose part it was; the task may be gone.
    package var task: TaskID
    /// Of the file system; nil if it is not known.
    package var device: UInt64?
    /// nil for a name that says itself whose it is.
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
