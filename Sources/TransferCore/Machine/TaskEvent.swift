import TransferModel

/// Everything that can happen to a task; docs/states.md has the table of what each does in each state.
package enum TaskEvent: Sendable {
    /// A slot is free: the attempt begins.
    case claimed
    /// The attempt ended without the file. `jitter` is a random number in 0..<1.
    case attemptFailed(AttemptFailure, RetryPolicy, jitter: Double)
    /// The whole file has the wrong digest.
    /// A task with several places that have the file begins anew once for each.
    case integrityFailed(TransferError, places: Int = 1)
    /// The file is delivered.
    case completed(TaskResult, duration: Seconds)
    case pause
    /// `notBefore`: the task's `earliestBeginAt`.
    case resume(notBefore: Timestamp?)
    case cancel(keepPartial: Bool)
    case retry
    /// The task asks elsewhere, or otherwise, from now on: what failed before says nothing any more.
    case retargeted
    /// The slot is needed by another task, or the daemon stops.
    case preempted(Displacement = .interruption)
    /// The daemon that ran the task is gone; this one has just started.
    case daemonRestarted
    /// What a waiting task waited for has come.
    case conditionCleared
    /// The task cannot run now, through no fault of an attempt.
    case blocked(WaitReason, TransferError?, nextAttemptAt: Timestamp?)
    /// A client is to decide. The question is stored, and told with its id in `payload`, in the same transaction.
    /// `until`: when the default is taken.
    case asked(WaitReason, TransferError?, until: Timestamp?, payload: JSONMembers)
    /// `deadlineAt` has passed.
    case deadlinePassed
    /// The budget of `timeoutIntervalForResource` is used up.
    case resourceTimeoutPassed
}

extension TaskEvent {
    /// The event's name in messages and in docs/states.md.
    package var name: String {
        switch self {
        case .claimed: "claimed"
        case .attemptFailed: "attemptFailed"
        case .integrityFailed: "integrityFailed"
        case .completed: "completed"
        case .pause: "pause"
        case .resume: "resume"
        case .cancel: "cancel"
        case .retry: "retry"
        case .retargeted: "retargeted"
        case .preempted: "preempted"
        case .daemonRestarted: "daemonRestarted"
        case .conditionCleared: "conditionCleared"
        case .blocked: "blocked"
        case .asked: "asked"
        case .deadlinePassed: "deadlinePassed"
        case .resourceTimeoutPassed: "resourceTimeoutPassed"
        }
    }
}

/// What the daemon has to do about a transition, in this order.
package enum TaskEffect: Sendable, Hashable {
    /// Store the changed status; always first. Every `publish` of the same list belongs into the same transaction.
    case persist
    /// Remove the part file and its checkpoint.
    case discardPart
    /// Append an event to the durable log.
    case publish(EventType, JSONMembers)
}
