import TransferModel

/// What happens to a node. Answers of a connection come before the input that says that it went, never after it.
enum Input: Hashable, Sendable {
    // MARK: The database
    /// A connection is there, and `dld.register` succeeded.
    case databaseCame
    case databaseWent
    /// - Parameter sentAt: the boot clock before the claim was sent.
    case claimed([LeasedJob], sentAt: Duration)
    /// The claim got no answer; whether it took jobs is unknown.
    case claimFailed
    case leases([LeasedJob])
    case leasesFailed
    /// - Parameters:
    ///   - drain: set if the row `drain` was there.
    ///   - sentAt: the boot clock before the renewal was sent.
    case renewed([JobKey: Verdict], drain: Drain?, sentAt: Duration)
    case renewalFailed
    /// - Parameter state: nil: refused.
    case finished(JobKey, state: String?)
    case released(JobKey, state: String?)
    case notified(Channel)

    // MARK: dld
    /// The session is open and the events are subscribed; those that are not acknowledged follow.
    case dldCame([LocalTask])
    case dldWent
    case listed([LocalTask])
    case event(TaskEvent)
    case added(JobKey, AddAnswer)
    /// - Parameter hasEnded: the task had ended by itself before.
    case stopped(JobKey, hasEnded: Bool)
    /// - Parameter resume: nil if the task has no resume data.
    case collected(JobKey, resume: JSONValue?)
    /// - Parameter report: nil: there is no such task.
    case inspected(JobKey, EndReport?)
    /// The answer of a pause or resume.
    case controlled(JobKey)
    case discarded(JobKey)
    /// The question is closed.
    case answered(sequence: Int64)

    // MARK: The process
    /// The call of this job failed although its connection lives; it is repeated.
    case unanswered(JobKey)
    case tick
    case terminate
    /// SIGHUP. Its `name` is ignored.
    case settings(NodeSettings)

    enum Verdict: String, Hashable, Sendable { case ok, cancel, lost }
    enum Channel: Hashable, Sendable { case jobs(pool: String), control }
    /// - Parameter limit: `nodes.drain_limit`, if the executor knows it.
    struct Drain: Hashable, Sendable { var limit: Duration? }

    enum AddAnswer: Hashable, Sendable {
        case task(TaskID, TaskState, TaskMarks = [])
        /// The token's task was removed since.
        case removed
        /// By the policy, or by dld.
        case refused(JobError)
    }
}

/// What a node does. Each effect but the last group gets exactly one answer, or its connection goes.
enum Effect: Hashable, Sendable {
    // MARK: The database
    case claim(Int)
    case leases
    /// The executor adds what it measures to the figures.
    case renew([Renewal], Figures)
    case finish(JobKey, Outcome, detail: JSONValue, delay: Duration)
    case release(JobKey, resume: JSONValue?)

    // MARK: dld
    /// `Policy.task`, then `task.add`.
    case add(LeasedJob, resuming: Bool)
    case stop(JobKey, TaskID)
    case collect(JobKey, TaskID)
    case inspect(JobKey, TaskID)
    case pause(JobKey, TaskID)
    case resume(JobKey, TaskID)
    /// `task.cancel`, then `task.remove`.
    case discard(JobKey, TaskID, deleteFile: Bool)
    case follow(decision: Int64, sequence: Int64)
    case list

    // MARK: Without answer
    /// `session.open` with the policy's configuration.
    case openSession
    case acknowledge(Int64)
    /// `dld.register` with the new settings.
    case register
    case ready
    case status(String)
    case log(LogLine)
    /// The process ends with status 0.
    case exit

    struct Renewal: Hashable, Sendable {
        var key: JobKey
        /// nil keeps the stored value.
        var progress: Work.Progress?
    }

    struct Figures: Hashable, Sendable {
        var running: Int
        var hasDld: Bool
        /// Tasks that failed since the start.
        var taskErrors: Int
    }

    struct LogLine: Hashable, Sendable {
        var text: String
        var isWarning = false
        var job: JobKey?
        var task: TaskID?
        var code: String?
    }
}
