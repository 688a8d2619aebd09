import TransferModel

/// A name that a task's part file had before the task's destination changed: once the part is elsewhere, nothing of it may
/// stay there.
package struct MovedPart: Hashable, Sendable {
    package var path: String
    /// It may have been removed since.
    package var task: TaskID
    package var owner: UserID
    /// Of the folder when the task was added; another one that is there now is not the one that is meant.
    package var device: UInt64?
    package var recordedAt: Timestamp

    package init(path: String, task: TaskID, owner: UserID, device: UInt64?, recordedAt: Timestamp) {
        self.path = path
        self.task = task
        self.owner = owner
        self.device = device
        self.recordedAt = recordedAt
    }
}
