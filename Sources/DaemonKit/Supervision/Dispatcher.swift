import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Fills free slots: asks the store for the best queued tasks, the scheduler which of them run, and starts those.
actor Dispatcher {
    private let store: TransferStore
    private let runs: RunTable
    private let transitions: TaskTransitions
    private let time: any TimeSource
    private let settings: @Sendable () -> DaemonSettings
    private let closedUntil: @Sendable (SessionRecord, Timestamp) -> Timestamp?
    private let begin: @Sendable (TaskRecord, SessionRecord) -> Void
    private let nextLookChanged: @Sendable () -> Void
    private let logger: Logger

    private let breaker = Guarded(CircuitBreaker())
    /// No lane is marked for what a daemon before this one knew of its host.
    private var hasForgottenMarks = false
    /// A kick is on its way, and whether it is for more than free slots.
    private struct Call {
        var isPending = false
        var isChange = false
    }

    private let call = Guarded(Call())
    private let retry = Guarded<Int64?>(nil)
    private var ahead = LookAhead()
    private var isPumping = false
    private var isKicked = false
    private var isStopped = false

    /// - Parameters:
    ///   - closedUntil: when the session's next time window opens; nil where one is open.
    ///   - begin: runs a task that was claimed.
    ///   - nextLookChanged: whoever sleeps until `nextLook()` should ask for it again.
    init(
        store: TransferStore, runs: RunTable, transitions: TaskTransitions, time: any TimeSource,
        settings: @escaping @Sendable () -> DaemonSettings, logger: Logger,
        closedUntil: @escaping @Sendable (SessionRecord, Timestamp) -> Timestamp?,
        begin: @escaping @Sendable (TaskRecord, SessionRecord) -> Void,
        nextLookChanged: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.runs = runs
        self.transitions = transitions
        self.time = time
        self.settings = settings
        self.logger = logger
        self.closedUntil = closedUntil
        self.begin = begin
        self.nextLookChanged = nextLookChanged
    }

    /// As `kick`, but returns at once; calls that come before the first is served are one.
    /// - Parameter isChange: false where nothing but a slot got free.
    nonisolated func kickLater(isChange: Bool) {
        let isFirst = call.withLock { call in
            if isChange { call.isChange = true }
            defer { call.isPending = true }
            return !call.isPending
        }
        guard isFirst else { return }
        Task {
            let isChange = call.withLock { call in
                defer { call = Call() }
                return call.isChange
            }
            await kick(isChange: isChange)
        }
    }

    /// Something changed that may let a task run: a task came, a slot got free, a limit moved.
    /// - Parameter isChange: false where nothing but a slot got free.
    func kick(isChange: Bool = true) async {
        isKicked = true
        retry.withLock { $0 = nil }
        if isChange { ahead.forget() }
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while isKicked, !isStopped {
            isKicked = false
            do {
                if try await fill() { isKicked = true }
            } catch {
                logger.error("cannot start tasks", metadata: ["error": "\(error)"])
                ahead.forget()
                lookAgain()
                return
            }
        }
    }

    /// Milliseconds after which tasks are to be started again that could not be.
    private static let retryPause: Int64 = 5000

    /// The store failed, and nothing else may ever change.
    private func lookAgain() {
        let next = time.reading().boot + Self.retryPause
        let isNew = retry.withLock { retry in
            defer { retry = next }
            return retry != next
        }
        if isNew { nextLookChanged() }
    }

    /// Starts nothing from now on.
    func stop() { isStopped = true }

    /// What an attempt showed of its host.
    enum HostReport: Sendable { case answered, failed, nothing }

    nonisolated func report(_ report: HostReport, host: String, task: TaskID) {
        let now = time.reading()
        breaker.withLock { breaker in
            switch report {
            case .answered: breaker.recordSuccess(host: host)
            case .failed: breaker.recordFailure(host: host, task: task, at: now)
            case .nothing: breaker.ended(host: host, task: task)
            }
        }
    }

    /// A transfer of `host` is answered: tasks that were held for it need not wait for the transfer's end.
    nonisolated func hostAnswered(_ host: String) {
        if breaker.withLock({ $0.recordAnswer(host: host) }) { kickLater(isChange: true) }
    }

    /// When somebody should kick although nothing has changed (boot clock, milliseconds): a host that is held back may be
    /// probed, or the store failed.
    nonisolated func nextLook() -> Int64? {
        [breaker.withLock { $0.nextProbe() }, retry.withLock { $0 }].compactMap(\.self).min()
    }

    /// Lanes whose hosts are held back no longer are walked over again. Where that cannot be stored just now, the others go
    /// on, and another round tries again soon.
    private func releaseLanes(_ now: ClockReading) async {
        let released = breaker.withLock { $0.takeReleased(at: now) }
        guard !released.isEmpty || !hasForgottenMarks else { return }
        let isFirst = !hasForgottenMarks
        do {
            try await store.write { transaction in
                if isFirst { try transaction.releaseAllLanes() } else { try transaction.release(hosts: released) }
            }
            hasForgottenMarks = true
            ahead.forget()
        } catch {
            breaker.withLock { $0.putBack(released) }
            logger.warning("cannot release hosts", metadata: ["error": "\(error)"])
            // Their tasks are in no lane that is read: what can be read may say that there is nothing to do.
            lookAgain()
        }
    }

    /// One round; true where another may start more.
    private func fill() async throws -> Bool {
        let now = time.reading()
        // Before all else: tasks of hosts that were held come back by it.
        await releaseLanes(now)
        if ahead.isEmpty { return false }
        let settings = settings()
        let limits = settings.global
        let active = runs.all
        var query = CandidateQuery(
            perLane: min(limits.maximumConcurrentTasks, limits.maximumConcurrentTasksPerHost) + 1,
            limit: limits.maximumConcurrentTasks + 1)
        query.excludedTasks = Set(active.map(\.task))
        query.isHeld = { [breaker] host in breaker.withLock { $0.isHeld(host: host, at: now) } }
        if let started = try await startFromAhead(query, active, settings, now) { return started }
        var isFirst = true
        while true {
            let (candidates, sessions) =
                try await isFirst ? lookAhead(query, hasRuns: !active.isEmpty) : ask(query, !active.isEmpty)
            isFirst = false
            let closed = candidates.filter { candidate in
                sessions[candidate.session].flatMap { closedUntil($0, now.wall) } != nil
            }
            if !closed.isEmpty {
                try await block(closed, now)
                return true
            }
            let decision = decide(candidates, active, SlotLimits(settings, sessions), now)
            for id in decision.preempt { runs[id]?.requestAbort() }
            if !decision.start.isEmpty { return try await start(decision.start, sessions, now) }
            guard decision.preempt.isEmpty, candidates.count >= query.limit,
                active.count < limits.maximumConcurrentTasks
            else { return false }
            query.lookFurther(past: candidates)
        }
    }

    /// Fills slots with tasks that were read before; nil where the store must be asked.
    private func startFromAhead(
        _ query: CandidateQuery, _ active: [TransferRun], _ settings: DaemonSettings, _ now: ClockReading
    ) async throws -> Bool? {
        guard let candidates = ahead.candidates(query), !candidates.isEmpty else { return nil }
        let sessions = ahead.sessions
        guard !sessions.values.contains(where: { closedUntil($0, now.wall) != nil }) else { return nil }
        let decision = decide(candidates, active, SlotLimits(settings, sessions), now)
        guard decision.preempt.isEmpty, !decision.start.isEmpty else { return nil }
        return try await start(decision.start, sessions, now)
    }

    private func decide(
        _ candidates: [QueuedTask], _ active: [TransferRun], _ limits: SlotLimits, _ now: ClockReading
    ) -> Scheduler.Decision {
        Scheduler.pick(
            candidates: candidates.map(Scheduler.Candidate.init), running: active.map(Scheduler.Candidate.init),
            stopping: Set(active.filter(\.isAborting).map(\.task)), limits: limits,
            breaker: breaker.withLock { $0 }, at: now)
    }

    /// False where none of `ids` may be claimed just now.
    private func start(
        _ ids: [TaskID], _ sessions: [SessionKey: SessionRecord], _ now: ClockReading
    ) async throws -> Bool {
        ahead.remove(Set(ids))
        let wanted = runs.claims.enter(ids)
        guard !wanted.isEmpty else { return false }
        defer { runs.claims.leave(wanted) }
        for record in try await claim(wanted, sessions) {
            breaker.withLock { $0.started(host: record.host, task: record.id) }
            begin(record, sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now.wall))
        }
        return true
    }

    /// Asks the store, for rounds to come too where it can.
    private func lookAhead(
        _ query: CandidateQuery, hasRuns: Bool
    ) async throws -> ([QueuedTask], [SessionKey: SessionRecord]) {
        let (wide, version) = (ahead.widened(query), ahead.version)
        let (found, sessions) = try await ask(wide, hasRuns)
        ahead.fill(found, sessions, for: wide, at: version)
        guard wide.limit > query.limit else { return (found, sessions) }
        if version == ahead.version, let candidates = ahead.candidates(query) { return (candidates, sessions) }
        return try await ask(query, hasRuns)
    }

    private func ask(
        _ query: CandidateQuery, _ hasRuns: Bool
    ) async throws -> ([QueuedTask], [SessionKey: SessionRecord]) {
        let (candidates, sessions) = try await store.read { snapshot in
            let candidates = try snapshot.candidates(query)
            let running = hasRuns ? try snapshot.sessions(owner: nil).map(\.key) : []
            let keys = Set(candidates.tasks.map(\.session)).union(running)
            let sessions = try keys.compactMap { try snapshot.session($0) }
            return (candidates, Dictionary(uniqueKeysWithValues: sessions.map { ($0.key, $0) }))
        }
        let held = candidates.heldLanes
        // Without the mark they are read again the next time.
        if !held.isEmpty { try? await store.write { try $0.hold(held) } }
        return (candidates.tasks, sessions)
    }

    private func claim(
        _ ids: [TaskID], _ sessions: [SessionKey: SessionRecord]
    ) async throws -> [TaskRecord] {
        let transitions = transitions
        return try await store.write { try transitions.claim(ids, sessions: sessions, in: $0) }
    }

    /// Tasks of a session outside its time windows wait for the next one: of its windows as they are by then, for whoever
    /// changed them has looked through those that wait already.
    private func block(_ tasks: [QueuedTask], _ now: ClockReading) async throws {
        let (transitions, closedUntil) = (transitions, closedUntil)
        try await store.write { transaction in
            var openings = SessionOpenings(after: now.wall, closedUntil: closedUntil)
            for task in tasks {
                guard let record = try transaction.task(task.id), record.status.state == .queued,
                    let opening = try openings.opening(of: record.session, in: transaction)
                else { continue }
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
            id: task.id, session: task.session, host: task.host, priority: task.priority, position: task.position,
            hasFailed: task.hasFailed)
    }

    init(_ run: TransferRun) {
        self.init(id: run.task, session: run.session, host: run.host, priority: run.priority, position: run.position)
    }
}

extension SlotLimits {
    init(_ settings: DaemonSettings, _ sessions: [SessionKey: SessionRecord]) {
        let configurations = sessions.mapValues { settings.session.filling($0.configuration) }
        self.init(
            global: settings.global.maximumConcurrentTasks, perHost: settings.global.maximumConcurrentTasksPerHost,
            perSession: configurations.compactMapValues(\.maximumConcurrentTasks),
            perHostOfSession: configurations.compactMapValues(\.httpMaximumConnectionsPerHost))
    }
}
