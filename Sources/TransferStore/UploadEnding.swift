import TransferModel

/// An upload that was begun at a server and is no longer wanted: what is needed to tell the server, even if the task is
/// gone.
package struct UploadEnding: Hashable, Sendable {
    package var id: Int64
    /// The task that began it; it may have been removed since.
    package var task: TaskID
    package var session: SessionKey
    /// How to reach the server: the task's spec as it was.
    package var spec: TaskSpec
    package var progress: UploadProgress
    /// Tries that got no answer, or an answer that asks to try again.
    package var failures: Int
    package var recordedAt: Timestamp
    package var nextAttemptAt: Timestamp
}
