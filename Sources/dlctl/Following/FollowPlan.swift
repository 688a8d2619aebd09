import TransferModel
import TransferRPC

/// Which tasks are followed, and from where in the event log.
struct FollowPlan: Sendable {
    /// nil: every task that moves, new ones too.
    var tasks: [TaskID]?
    /// What is known of them already; `task.add` answered with it.
    var known: [FollowedTask] = []
    /// Events after this one are replayed; nil: from now on, with a snapshot of the tasks.
    var after: SequenceNumber?
    var owner: OwnerScope?
    var progressInterval: Seconds = 0.2
    /// Whether each task is fetched whole when it ends.
    var fetchesEnded = false

    /// Above this many ids the daemon is not asked to filter, for the request would grow with them.
    static let longestFilter = 10_000
    /// Above this many ids a reconnection relies on replayed events alone.
    static let longestSnapshot = 500
}

/// What happens to a display: one stream of these is the only thing its loop waits for.
enum FollowInput: Sendable {
    case began(head: SequenceNumber)
    case storeChanged(head: SequenceNumber)
    case event(FollowedEvent)
    case snapshot(FollowedTask)
    case missing(TaskID)
    case backlog([String: Int])
    /// A task that is over, whole; comes before the event that ends it.
    case ended(TaskView)
    case linkLost(nextAttemptAt: Timestamp)
    case linkRestored
    case refused(CommandFailure)
    case tick
    case signal(Int32)
}
