import TransferModel

/// What the node knows of one lease and the task that carries it out. Each stage has at most one call that it waits for;
/// a call without answer is repeated, so that nothing but an answer moves a job on.
struct Work: Hashable, Sendable {
    enum Stage: Hashable, Sendable {
        /// A task whose lease the table has not confirmed since this program started.
        case unknown
        /// A lease that needs its task: `task.add`.
        case adding
        case running
        /// The task must end before the table hears anything: `task.cancel`.
        case stopping(Next)
        /// The bytes stay for the next node: `task.resumeData`.
        case collecting
        /// The task has ended: `task.get`.
        case inspecting
        /// `dld.finish`.
        case telling(End)
        /// `dld.release`.
        case releasing(JSONValue?)
        /// Nobody needs the task any more: `task.cancel`, then `task.remove`.
        case discarding(deleteFile: Bool)

        /// Its call goes to the database, and not to dld.
        var isOfDatabase: Bool {
            switch self {
            case .telling, .releasing: true
            case .unknown, .adding, .running, .stopping, .collecting, .inspecting, .discarding: false
            }
        }
    }

    /// Its lease may have expired. A renewal decides about it before the node claims again, or it would take its own job.
    func mayHaveExpired(_ settings: NodeSettings, at now: Duration) -> Bool {
        holdsLease && (certain.map { $0 + settings.lease <= now } ?? true)
    }

    /// What follows when the task has stopped.
    enum Next: Hashable, Sendable {
        case tell(End)
        case release

        var stage: Stage {
            switch self {
            case .tell(let end): .telling(end)
            case .release: .releasing(nil)
            }
        }
    }

    enum Call: Hashable, Sendable { case effect(Effect), wait, drop }

    struct End: Hashable, Sendable {
        var outcome: Outcome
        var detail: JSONValue
        var delay = Duration.zero
        /// For the log.
        var code: String?
    }

    /// Since when a task waits for something that may be better at another node.
    struct Stuck: Hashable, Sendable {
        enum Cause: Hashable, Sendable { case network, disk, paused }
        var cause: Cause
        var since: Duration
        var error: JobError?
    }

    /// Whether dld may have a task that the node does not know.
    enum Addition: Hashable, Sendable { case none, outstanding, unsure }

    /// Bytes for `dld.renew`.
    struct Progress: Hashable, Sendable {
        var bytes: Int64
        var total: Int64
        var rate: Int64
    }

    let key: JobKey
    /// nil: only the task is known.
    var job: LeasedJob?
    var task: TaskID?
    var marks: TaskMarks = []
    var state = TaskState.queued
    var stage: Stage
    /// Its call has no answer yet.
    var isAsked = false
    /// Not before this moment, because the last call got no answer.
    var retryAt: Duration?
    var addition = Addition.none
    var usesResumeData = true
    /// dld has another spec of this token, and the list is asked which.
    var hasReusedToken = false
    /// When a claim or renewal was sent that then said that the lease is ours.
    var certain: Duration?
    var firstSeen: Duration
    var stuck: Stuck?
    /// The node paused the task, or wants to.
    var isHeld = false
    var progress: Progress?
    var storedProgress: Progress?
    var progressStoredAt: Duration?

    init(job: LeasedJob, certain: Duration?, at now: Duration) {
        (key, self.job, self.certain, stage, firstSeen) = (job.key, job, certain, .adding, now)
        marks = job.limited ? .limited : []
    }

    init(task: LocalTask, at now: Duration) {
        (key, self.task, marks, state, stage, firstSeen) = (task.key, task.id, task.marks, task.state, .unknown, now)
        isHeld = task.state == .paused && isLimited
    }

    /// The table counts it as leased by this node, as far as known.
    var holdsLease: Bool { job != nil && !isSettled }

    /// Its end is committed or refused, or its lease is lost.
    var isSettled: Bool {
        if case .discarding = stage { true } else { false }
    }

    /// Its task runs or may yet run.
    var isLive: Bool {
        switch stage {
        case .unknown, .adding, .running: true
        case .stopping, .collecting, .inspecting, .telling, .releasing, .discarding: false
        }
    }

    var isLimited: Bool { marks.contains(.limited) || job?.limited == true }

    /// The moment from which another node may have the job; what is unknown has a second to be confirmed.
    func uncertain(_ settings: NodeSettings) -> Duration {
        certain.map { $0 + settings.lease - settings.pauseMargin } ?? firstSeen + .seconds(1)
    }

    /// - Returns: nil if a task that waits so may as well stay.
    static func stuck(_ wait: Wait?, after old: Stuck?, at now: Duration) -> Stuck? {
        guard let wait else { return old }
        let cause: Stuck.Cause
        switch wait.reason {
        case WaitReason.disk.rawValue: cause = .disk
        // A login page is no network.
        case WaitReason.network.rawValue, WaitReason.portal.rawValue: cause = .network
        default: return nil
        }
        return Stuck(cause: cause, since: old?.cause == cause ? old?.since ?? now : now, error: wait.error)
    }

    /// When a stuck task leaves the node; nil while it is not stuck or tries again.
    func leaves(_ settings: NodeSettings) -> Duration? {
        guard let stuck, stage == .running, state == .waiting || state == .paused else { return nil }
        return stuck.since + settings.handBackAfter
    }

    mutating func move(to stage: Stage) {
        (self.stage, isAsked, retryAt, stuck) = (stage, false, nil, nil)
    }

    /// What a restarted node does about a lease, a task, or both (contract, section 3, "Local tasks").
    ///
    /// - Parameters:
    ///   - isLeased: whether `dld.leases` has it.
    ///   - task: its state in `task.list`; nil if it is not there.
    /// - Returns: nil: nothing is left to do. A cancelled task without lease stays in dld's history, because a handed back
    ///   job may still need its bytes.
    static func stage(isLeased: Bool, task: TaskState?) -> Stage? {
        switch (isLeased, task) {
        case (true, nil): .adding
        case (true, .queued), (true, .running), (true, .waiting), (true, .paused): .running
        case (true, .completed), (true, .failed), (true, .cancelled): .inspecting
        case (false, nil), (false, .cancelled): nil
        case (false, .queued), (false, .running), (false, .waiting), (false, .paused):
            .discarding(deleteFile: true)
        case (false, .completed), (false, .failed): .inspecting
        }
    }
}

extension [JobKey: Work] {
    /// The stuck task, and those that leave the node with it. While one task tries a host that does not answer, dld keeps
    /// the others of that host in its queue; those that have waited as long leave too.
    func leaving(with key: JobKey, _ settings: NodeSettings, at now: Duration) -> Self {
        guard let first = self[key] else { return [:] }
        let kin = filter { $0.value.stage == .running && $0.value.job?.host == first.job?.host }
        // Another that tries the host has no bytes yet.
        let answers = kin.values.contains { $0.state == .running && $0.progress != nil }
        return kin.filter { other, work in
            let waits = work.state == .queued && work.firstSeen + settings.handBackAfter <= now
            return other == key || first.stuck?.cause == .network && !answers && waits
        }
    }
}

// MARK: - Calls

extension Work {
    /// How a job ends with this error.
    func end(_ error: JobError, retryAfter: Duration? = nil, _ settings: NodeSettings, random: Double) -> End {
        let detail = error.json(node: settings.name, attempt: job?.attempt)
        guard error.retryable else { return End(outcome: .failed, detail: detail, code: error.code) }
        let delay = settings.backoff.delay(attempt: job?.attempt ?? 1, retryAfter: retryAfter, random: random)
        return End(outcome: .transient, detail: detail, delay: delay, code: error.code)
    }

    /// Begins the call that the stage waits for, if its connection is there.
    mutating func ask(
        hasDatabase: Bool, hasDld: Bool, _ settings: NodeSettings, at now: Duration, random: Double
    ) -> Call {
        if hasDld, task == nil, addition == .none {
            switch stage {
            case .stopping(let next): move(to: next.stage)
            case .collecting: move(to: .releasing(nil))
            case .inspecting: move(to: .telling(end(.cancelled, settings, random: random)))
            case .discarding: return .drop
            case .unknown, .adding, .running, .telling, .releasing: break
            }
        }
        let effect = (hasDatabase ? databaseCall : nil) ?? (hasDld ? dldCall(settings, at: now) : nil)
        guard let effect else { return .wait }
        isAsked = true
        return .effect(effect)
    }

    private var databaseCall: Effect? {
        switch stage {
        case .telling(let end): .finish(key, end.outcome, detail: end.detail, delay: end.delay)
        case .releasing(let resume): .release(key, resume: resume)
        case .unknown, .adding, .running, .stopping, .collecting, .inspecting, .discarding: nil
        }
    }

    private mutating func dldCall(_ settings: NodeSettings, at now: Duration) -> Effect? {
        let mayRun = !isLimited || uncertain(settings) > now
        guard let task else {
            guard stage == .adding, addition == .none, let job, mayRun, certain != nil || !isLimited else { return nil }
            addition = .outstanding
            return .add(job, resuming: usesResumeData && job.resume != nil)
        }
        switch stage {
        case .unknown, .running:
            guard isHeld == mayRun, !state.isFinal else { return nil }
            isHeld = !mayRun
            return isHeld ? .pause(key, task) : .resume(key, task)
        case .stopping: return .stop(key, task)
        case .collecting: return .collect(key, task)
        case .inspecting: return .inspect(key, task)
        case .discarding(let deleteFile): return .discard(key, task, deleteFile: deleteFile)
        case .adding, .telling, .releasing: return nil
        }
    }
}
