import TransferModel

/// Everything that can happen to a task; the table in docs/states.md says what each event does in each state.
package enum TaskEvent: Sendable {
    /// A slot is free: the attempt begins.
    case claimed
    /// The attempt ended without the file. `jitter` is a random number in 0..<1.
    case attemptFailed(AttemptFailure, RetryPolicy, jitter: Double)
    /// The whole file has the wrong digest. A task with several mirrors restarts once for each.
    case integrityFailed(TransferError, places: Int = 1)
    /// The file is delivered. `mirrors`: as in `Arrival`.
    case completed(TaskResult, duration: Seconds, mirrors: [String] = [])
    case pause
    /// `notBefore`: the task's `earliestBeginAt`.
    case resume(notBefore: Timestamp?)
    case cancel(keepPartial: Bool)
    case retry
    /// The task makes another request from now on: earlier failures mean nothing any more.
    case retargeted
    /// The slot is needed by another task, or the daemon stops.
    case preempted(Displacement = .interruption)
    /// The daemon that ran the task is gone; this one has just started.
    case daemonRestarted
    /// The condition that a waiting task waited for has been met.
    case conditionCleared
    /// The task cannot run now, but no attempt failed.
    case blocked(WaitReason, TransferError?, nextAttemptAt: Timestamp?)
    /// A client must decide. In the same transaction, the question is stored and announced with its id in `payload`.
    /// `until`: when the default is taken.
    case asked(WaitReason, TransferError?, until: Timestamp?, payload: JSONMembers)
    /// `deadlineAt` has passed.
    case deadlinePassed
    /// The budget of `timeoutIntervalForResource` is used up.
    case resourceTimeoutPassed
}

extension TaskEvent {
    /// The event's name in messages and in docs/states.md.
    package var name: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }
}

/// What the daemon must do for a transition, in this order.
package enum TaskEffect: Sendable, Hashable {
    /// Store the changed status; always first. Every `publish` in the same list belongs to the same transaction.
    case persist
    /// Remove the part file and its checkpoint.
    case discardPart
    /// Append an event to the durable log.
    case publish(EventType, JSONMembers)
}
