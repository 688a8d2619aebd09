import TransferModel
import TransferRPC

/// Which tasks are followed, and from which position in the event log.
struct FollowPlan: Sendable {
    /// nil for all tasks that are active, including new ones.
    var tasks: [TaskID]?
    /// What is already known of the tasks from the answer to `task.add`.
    var known: [FollowedTask] = []
    /// Events after this one are replayed. If it is nil, following starts now with a snapshot of the tasks.
    var after: SequenceNumber?
    var owner: OwnerScope?
    var progressInterval: Seconds = 0.2
    /// Tells whether each task is fetched completely when it ends.
    var fetchesEnded = false

    /// Above this many ids, the daemon is not asked to filter, because the request would grow with them.
    static let longestFilter = 10_000
    /// Above this many ids, a reconnection relies only on replayed events.
    static let longestSnapshot = 500
}

/// The inputs of a display's loop, which waits for one stream of them and for nothing else.
enum FollowInput: Sendable {
    case began(head: SequenceNumber)
    case storeChanged(head: SequenceNumber)
    case event(EventView)
    case snapshot(FollowedTask)
    case missing(TaskID)
    case backlog([String: Int])
    /// The complete view of a task that is over. It comes before the event that ends the task.
    case ended(TaskView)
    case linkLost(nextAttemptAt: Timestamp)
    case linkRestored
    case refused(CommandFailure)
    case tick
    case signal(Int32)
}
