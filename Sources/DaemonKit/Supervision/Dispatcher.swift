import Logging
import TransferCore
import TransferModel
import TransferStore

/// Fills free slots: asks the store for the best queued tasks, the scheduler which of them run, and starts those.
actor Dispatcher {
    private let store: TransferStore
    private let runs: RunTable
    private let transitions: TaskTransitions
    private let time: any TimeSource
    private let settings: @Sendable () -> GlobalSettings
    private let closedUntil: @Sendable (SessionRecord, Timestamp) -> Timestamp?
    private let begin: @Sendable (TaskRecord, SessionRecord) -> Void
    private let logger: Logger

    private var breaker = CircuitBreaker()
    /// Hosts of queued tasks that the breaker holds back.
    private var heldHosts: Set<String> = []
    private var isPumping = false
    private var isKicked = false
    private var isStopped = false

    init(
        store: TransferStore, runs: RunTable, transitions: TaskTransitions, time: any TimeSource,
        settings: @escaping @Sendable () -> GlobalSettings, logger: Logger,
        closedUntil: @escaping @Sendable (SessionRecord, Timestamp) -> Timestamp?,
        begin: @escaping @Sendable (TaskRecord, SessionRecord) -> Void
    ) {
        self.store = store
        self.runs = runs
        self.transitions = transitions
        self.time = time
        self.settings = settings
        self.logger = logger
        self.closedUntil = closedUntil
        self.begin = begin
    }

    /// Something changed that may let a task run: a task came, a slot got free, a limit moved.
    func kick() async {
        isKicked = true
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while isKicked, !isStopped {
            isKicked = false
            do {
                if try await fill() { isKicked = true }
            } catch {
                logger.error("cannot start tasks", metadata: ["error": "\(error)"])
                return
            }
        }
    }

    /// Starts nothing from now on.
    func stop() { isStopped = true }

    /// What an attempt showed of its host.
    enum HostReport: Sendable { case answered, failed, nothing }

    func report(_ report: HostReport, host: String, task: TaskID) {
        switch report {
        case .answered: breaker.recordSuccess(host: host)
        case .failed: breaker.recordFailure(host: host, task: task, at: time.reading())
        case .nothing: breaker.ended(host: host, task: task)
        }
        if !breaker.isOpen(host: host) { heldHosts.remove(host) }
    }

    /// When a host that is held back may be probed next (boot clock, milliseconds).
    func nextProbe() -> Int64? { heldHosts.compactMap { breaker.nextProbe(host: $0) }.min() }

    /// One round; true where another may start more.
    private func fill() async throws -> Bool {
        let now = time.reading()
        let limits = settings()
        let active = runs.all
        var query = CandidateQuery(
            perLane: min(limits.maximumConcurrentTasks, limits.maximumConcurrentTasksPerHost) + 1,
            limit: limits.maximumConcurrentTasks + 1)
        query.excludedTasks = Set(active.map(\.task))
        while true {
            let (candidates, sessions) = try await lookAhead(query, hasRuns: !active.isEmpty)
            let closed = candidates.filter { candidate in
                sessions[candidate.session].flatMap { closedUntil($0, now.wall) } != nil
            }
            if !closed.isEmpty {
                try await block(closed, sessions, now)
                return true
            }
            heldHosts.formUnion(candidates.map(\.host).filter { breaker.isOpen(host: $0) })
            let decision = Scheduler.pick(
                candidates: candidates.map(Scheduler.Candidate.init),
                running: active.map(Scheduler.Candidate.init),
                stopping: Set(active.filter(\.isAborting).map(\.task)),
                limits: SlotLimits(limits, sessions), breaker: breaker, at: now)
            for id in decision.preempt { runs[id]?.requestAbort() }
            if !decision.start.isEmpty { return try await start(decision.start, sessions, now) }
            guard decision.preempt.isEmpty, candidates.count >= query.limit,
                active.count < limits.maximumConcurrentTasks
            else { return false }
            query.lookFurther(past: candidates)
        }
    }

    /// False where none of `ids` may be claimed just now.
    private func start(
        _ ids: [TaskID], _ sessions: [SessionKey: SessionRecord], _ now: ClockReading
    ) async throws -> Bool {
        let wanted = runs.claims.enter(ids)
        guard !wanted.isEmpty else { return false }
        defer { runs.claims.leave(wanted) }
        for record in try await claim(wanted) {
            breaker.started(host: record.host, task: record.id)
            begin(record, sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now.wall))
        }
        return true
    }

    private func lookAhead(
        _ query: CandidateQuery, hasRuns: Bool
    ) async throws -> ([QueuedTask], [SessionKey: SessionRecord]) {
        try await store.read { snapshot in
            let candidates = try snapshot.candidates(query)
            let running = hasRuns ? try snapshot.sessions(owner: nil).map(\.key) : []
            let sessions = try Set(candidates.map(\.session)).union(running).compactMap { try snapshot.session($0) }
            return (candidates, Dictionary(uniqueKeysWithValues: sessions.map { ($0.key, $0) }))
        }
    }

    private func claim(_ ids: [TaskID]) async throws -> [TaskRecord] {
        let transitions = transitions
        return try await store.write { transaction in
            try ids.compactMap { id in
                do {
                    return try transitions.apply(.claimed, to: id, in: transaction).record
                } catch let error as TransferError
                    where error.code == .taskWrongState || error.code == .taskNotFound
                {
                    return nil  // paused, cancelled or removed since it was read
                }
            }
        }
    }

    /// Tasks of a session outside its time windows wait for the next one.
    private func block(
        _ tasks: [QueuedTask], _ sessions: [SessionKey: SessionRecord], _ now: ClockReading
    ) async throws {
        let openings = tasks.map { task in sessions[task.session].flatMap { closedUntil($0, now.wall) } }
        let transitions = transitions
        try await store.write { transaction in
            for (task, opening) in zip(tasks, openings) {
                guard let record = try transaction.task(task.id), record.status.state == .queued else { continue }
                _ = try transitions.apply(
                    .blocked(.schedule, nil, nextAttemptAt: opening), to: record, in: transaction)
            }
        }
    }
}

extension CandidateQuery {
    /// None of the best tasks may start, because their hosts or sessions are full or held back: what comes after them,
    /// one of each lane and more lanes each time, may.
    fileprivate mutating func lookFurther(past candidates: [QueuedTask]) {
        excludedTasks.formUnion(candidates.map(\.id))
        perLane = 1
        limit *= 4
    }
}

extension Scheduler.Candidate {
    init(_ task: QueuedTask) {
        self.init(
            id: task.id, session: task.session, host: task.host, priority: task.priority, position: task.position)
    }

    init(_ run: TransferRun) {
        self.init(id: run.task, session: run.session, host: run.host, priority: run.priority, position: run.position)
    }
}

extension SlotLimits {
    init(_ settings: GlobalSettings, _ sessions: [SessionKey: SessionRecord]) {
        self.init(
            global: settings.maximumConcurrentTasks, perHost: settings.maximumConcurrentTasksPerHost,
            perSession: sessions.compactMapValues(\.configuration.maximumConcurrentTasks),
            perHostOfSession: sessions.compactMapValues(\.configuration.httpMaximumConnectionsPerHost))
    }
}
