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

    private let policy: SchedulingPolicy
    private let gates: Guarded<HostGates>
    /// When a running task has had its turn and another owner waits (boot clock, milliseconds).
    private let turnEnd = Guarded<Int64?>(nil)
    private var turns = SlotTurns()
    /// What `nextLook()` was when somebody was told of it.
    private let toldLook = Guarded<Int64?>(nil)
    /// The marks are gone that an earlier daemon put on lanes of held hosts.
    private var hasForgottenMarks = false
    /// A kick that is on its way.
    private struct Call {
        var isPending = false
        /// It is for more than free slots.
        var isChange = false
    }

    private let call = Guarded(Call())
    private let retry = Guarded<Int64?>(nil)
    private var ahead = LookAhead()
    private var isPumping = false
    private var isKicked = false
    private var isStopped = false

    /// - Parameters:
    ///   - closedUntil: when the session's next time window opens; nil if one is open.
    ///   - begin: runs a task that was claimed.
    ///   - nextLookChanged: whoever sleeps until `nextLook()` should ask for it again.
    init(
        store: TransferStore, runs: RunTable, transitions: TaskTransitions, time: any TimeSource,
        settings: @escaping @Sendable () -> DaemonSettings, policy: SchedulingPolicy = SchedulingPolicy(),
        logger: Logger,
        closedUntil: @escaping @Sendable (SessionRecord, Timestamp) -> Timestamp?,
        begin: @escaping @Sendable (TaskRecord, SessionRecord) -> Void,
        nextLookChanged: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.runs = runs
        self.transitions = transitions
        self.time = time
        self.settings = settings
        self.policy = policy
        gates = Guarded(HostGates(policy: policy))
        self.logger = logger
        self.closedUntil = closedUntil
        self.begin = begin
        self.nextLookChanged = nextLookChanged
    }

    /// As `kick`, but returns at once; calls that come before the first is served are one.
    /// - Parameter isChange: false if nothing but a slot got free.
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
    /// - Parameter isChange: false if nothing but a slot got free.
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
                logger.retried("cannot start tasks", error)
                ahead.forget()
                lookAgain()
                break
            }
        }
        tellOfNextLook()
    }

    /// Whoever sleeps until `nextLook()` hears of another time.
    private func tellOfNextLook() {
        let next = nextLook()
        let isNew = toldLook.withLock { told in
            defer { told = next }
            return next != nil && told != next
        }
        if isNew { nextLookChanged() }
    }

    /// Milliseconds after which tasks are to be started again that could not be.
    private static let retryPause: Int64 = 5000

    /// The store failed, and nothing else may ever change.
    private func lookAgain() {
        let next = time.reading().boot + Self.retryPause
        retry.withLock { $0 = next }
    }

    /// Starts nothing from now on.
    func stop() { isStopped = true }

    nonisolated func report(
        _ report: HostGates.Report, host: String, owner: UserID, task: TaskID, startedAt: Int64
    ) {
        let now = time.reading()
        gates.withLock { $0.report(report, host: host, owner: owner, task: task, startedAt: startedAt, at: now) }
    }

    /// A transfer of `host` is answered: tasks that were held for it need not wait for the transfer's end.
    nonisolated func hostAnswered(_ host: String, owner: UserID, task: TaskID, startedAt: Int64) {
        let now = time.reading()
        let isHeld = gates.withLock { gates in
            let isHeld = gates.hold(host: host, owner: owner, at: now) != nil
            gates.report(.answered, host: host, owner: owner, task: task, startedAt: startedAt, at: now)
            return isHeld
        }
        if isHeld { kickLater(isChange: true) }
    }

    /// A transfer of `host` receives bytes.
    nonisolated func hostSends(_ host: String) {
        let now = time.reading()
        if gates.withLock({ $0.received(from: host, at: now) }) { kickLater(isChange: true) }
    }

    /// A client wants `task` to be tried now; false if its host does not hold it.
    nonisolated func tryNow(_ task: TaskID, host: String, owner: UserID) -> Bool {
        let now = time.reading()
        return gates.withLock { $0.tryNow(host: host, owner: owner, task: task, at: now) }
    }

    /// Whether any host may be held back.
    nonisolated var mayHoldHosts: Bool { gates.withLock { !$0.isEmpty } }

    /// Why `host` takes no task of `owner` now.
    nonisolated func hold(host: String, owner: UserID) -> HostGates.Hold? {
        let now = time.reading()
        return gates.withLock { $0.hold(host: host, owner: owner, at: now) }
    }

    /// When somebody should kick although nothing has changed (boot clock, milliseconds): a host that is held back may be
    /// tried, a turn is over, or the store failed.
    nonisolated func nextLook() -> Int64? {
        [gates.withLock { $0.nextChange() }, turnEnd.withLock { $0 }, retry.withLock { $0 }].compactMap(\.self).min()
    }

    /// Lets lanes be read again whose hosts are not held any more. If that cannot be stored just now, the other lanes are still
    /// served, and another round tries again soon.
    private func releaseLanes(_ now: ClockReading) async {
        let released = gates.withLock { $0.takeReleased(at: now) }
        guard !released.isEmpty || !hasForgottenMarks else { return }
        let isFirst = !hasForgottenMarks
        do {
            try await store.write { transaction in
                if isFirst { try transaction.releaseAllLanes() } else { try transaction.release(hosts: released) }
            }
            hasForgottenMarks = true
            ahead.forget()
        } catch {
            gates.withLock { $0.putBack(released) }
            logger.retried("cannot release hosts", error)
            // Their tasks are in no lane that is read: what can be read may say that there is nothing to do.
            lookAgain()
        }
    }

    /// One round; true if another may start more.
    private func fill() async throws -> Bool {
        let now = time.reading()
        turnEnd.withLock { $0 = nil }
        // Before all else: tasks of hosts that were held come back by it.
        await releaseLanes(now)
        if ahead.isEmpty { return false }
        let settings = settings()
        let limits = settings.global
        let active = runs.all
        var query = query(for: active, limits, now)
        if let started = try await startFromAhead(query, active, settings, now) { return started }
        var isFirst = true
        while true {
            let running = Set(active.map(\.session))
            let (candidates, sessions) = try await isFirst ? lookAhead(query, running) : ask(query, running)
            isFirst = false
            let closedSessions = Set(sessions.values.filter { closedUntil($0, now.wall) != nil }.map(\.key))
            let closed = candidates.tasks.filter { closedSessions.contains($0.session) }
            if !closed.isEmpty {
                try await block(closed, now)
                return true
            }
            let decision = decide(candidates.tasks, active, SlotLimits(settings, sessions), now)
            preempt(decision)
            if !decision.start.isEmpty { return try await start(decision.start, sessions, now) }
            // A look further sees other tasks, and other turns.
            turnEnd.withLock { $0 = [$0, decision.nextLook].compactMap(\.self).min() }
            guard decision.preempt.isEmpty, candidates.hasMoreLanes, !candidates.tasks.isEmpty,
                active.count < limits.maximumConcurrentTasks || decision.leavesOwnerWithout && decision.nextLook == nil
            else { return false }
            query.lookFurther(past: candidates.tasks)
        }
    }

    private func query(for active: [TransferRun], _ limits: GlobalSettings, _ now: ClockReading) -> CandidateQuery {
        var query = CandidateQuery(
            perLane: min(limits.maximumConcurrentTasks, limits.maximumConcurrentTasksPerHost) + 1,
            limit: limits.maximumConcurrentTasks + 1)
        query.excludedTasks = Set(active.map(\.task))
        query.wantedTasks = gates.withLock { $0.invitations(at: now) }
        query.access = { [gates] session, host in
            switch gates.withLock({ $0.permission(host: host, owner: session.owner, at: now) }) {
            case .any: .open
            case .one: .one
            case .probe: .probe
            case .none(let until): until - now.boot > Self.shortestHold ? .held : .pausing
            }
        }
        query.order = { [turns, running = active.map(\.session)] in turns.order($0, running: running) }
        return query
    }

    /// A hold of so many milliseconds is not worth a write.
    private static let shortestHold: Int64 = 1000

    private func preempt(_ decision: Scheduler.Decision) {
        for run in decision.preempt.compactMap({ runs[$0] }) {
            if run.losesByStop {
                logger.warning(
                    "gives its slot to another task, and begins again from 0 later",
                    metadata: ["task": "\(run.task)", "lost": "\(run.bytesTransferred + run.bytesUploaded)"])
            }
            run.requestAbort(.transition(.preempted(decision.displacements[run.task] ?? .interruption)))
        }
    }

    /// Fills slots with tasks that were read before; nil if the store must be asked.
    private func startFromAhead(
        _ query: CandidateQuery, _ active: [TransferRun], _ settings: DaemonSettings, _ now: ClockReading
    ) async throws -> Bool? {
        guard let candidates = ahead.candidates(query)?.tasks, !candidates.isEmpty else { return nil }
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
            gates: gates.withLock { $0 }, turns: turns, policy: policy, at: now)
    }

    /// False if none of `ids` may be claimed just now.
    private func start(
        _ ids: [TaskID], _ sessions: [SessionKey: SessionRecord], _ now: ClockReading
    ) async throws -> Bool {
        ahead.remove(Set(ids))
        let wanted = runs.claims.enter(ids)
        guard !wanted.isEmpty else { return false }
        defer { runs.claims.leave(wanted) }
        for record in try await claim(wanted, sessions) {
            gates.withLock {
                $0.attemptStarted(host: record.host, owner: record.session.owner, task: record.id, at: now)
            }
            turns.served(record.session)
            begin(record, sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now.wall))
        }
        return true
    }

    /// Asks the store; the answer may serve later rounds too.
    private func lookAhead(
        _ query: CandidateQuery, _ running: Set<SessionKey>
    ) async throws -> (Candidates, [SessionKey: SessionRecord]) {
        let (wide, version) = (ahead.widened(query), ahead.version)
        let (found, sessions) = try await ask(wide, running)
        ahead.fill(found, sessions, at: version)
        guard wide.limit > query.limit else { return (found, sessions) }
        if version == ahead.version, let candidates = ahead.candidates(query) { return (candidates, sessions) }
        return try await ask(query, running)
    }

    private func ask(
        _ query: CandidateQuery, _ running: Set<SessionKey>
    ) async throws -> (Candidates, [SessionKey: SessionRecord]) {
        let (candidates, sessions) = try await store.read { snapshot in
            let candidates = try snapshot.candidates(query)
            let keys = Set(candidates.sessions.map(\.session)).union(running)
            let sessions = try keys.compactMap { try snapshot.session($0) }
            return (candidates, Dictionary(uniqueKeysWithValues: sessions.map { ($0.key, $0) }))
        }
        let held = candidates.heldLanes
        // If this fails, they are read again the next time.
        if !held.isEmpty { try? await store.write { try $0.hold(held) } }
        return (candidates, sessions)
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
                guard let record = try transitions.readable(task.id, in: transaction), record.status.state == .queued,
                    let opening = try openings.opening(of: record.session, in: transaction)
                else { continue }
                _ = try transitions.apply(
                    .blocked(.schedule, nil, nextAttemptAt: opening), to: record, in: transaction)
            }
        }
    }
}

extension CandidateQuery {
    /// More lanes than any store has.
    private static let most = 1 << 30

    /// None of the best tasks may start: their hosts or sessions are full or held back. Those that come after them may: one of
    /// each lane, and more lanes and sessions each time.
    fileprivate mutating func lookFurther(past candidates: [QueuedTask]) {
        excludedTasks.formUnion(candidates.map(\.id))
        perLane = 1
        limit = min(limit * 4, Self.most)
        sessions = min(sessions * 4, Self.most)
    }
}

extension Scheduler.Candidate {
    init(_ task: QueuedTask) {
        self.init(
            id: task.id, session: task.session, host: task.host, priority: task.priority, position: task.position,
            failures: task.failures)
    }

    init(_ run: TransferRun) {
        self.init(
            id: run.task, session: run.session, host: run.host, priority: run.priority, position: run.position,
            canResume: run.canResume, startedAt: run.startedAt)
    }
}

extension SlotLimits {
    init(_ settings: DaemonSettings, _ sessions: [SessionKey: SessionRecord]) {
        let configurations = sessions.mapValues { settings.session.filling($0.configuration) }
        self.init(
            global: settings.global.maximumConcurrentTasks, perHost: settings.global.maximumConcurrentTasksPerHost,
            perOwner: settings.global.maximumConcurrentTasksPerUser,
            perSession: configurations.compactMapValues(\.maximumConcurrentTasks),
            perHostOfSession: configurations.compactMapValues(\.httpMaximumConnectionsPerHost))
    }
}
