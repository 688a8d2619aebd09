import TransferModel

/// An upload that was begun at a server and is wanted no more: what it takes to tell the server so, even when the task is
/// gone.
package struct UploadEnding: Hashable, Sendable {
    package var id: Int64
    /// The task that began it; it may have been removed since.
    package var task: TaskID
    package var session: SessionKey
    /// How the server is reached: the task's, as it was.
    package var spec: TaskSpec
    package var progress: UploadProgress
    /// Tries that met no answer, or one that asks to come again.
    package var failures: Int
    package var recordedAt: Timestamp
    package var nextAttemptAt: Timestamp
}
