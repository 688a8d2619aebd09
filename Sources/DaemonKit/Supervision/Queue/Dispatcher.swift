import DaemonSetup
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Fills free slots: reads the best queued tasks from the store, lets the scheduler choose, and starts the chosen ones.
actor Dispatcher {
    private let store: TransferStore
    private let runs: RunTable
    private let transitions: TaskTransitions
    private let time: any TimeSource
    private let settings: @Sendable () -> DaemonSettings
    private let closedUntil: @Sendable (SessionRecord, Timestamp) -> Timestamp?
    private let machine: MachineState?
    private let asked: @Sendable (TaskRecord) -> Void
    private let begin: @Sendable ([(task: TaskRecord, session: SessionRecord)]) -> Void
    private let signal: SupervisionSignal
    private let news: SupervisionSignal.Listener
    private let logger: Logger

    private let slots: SharedSlots
    private let gates: Gatekeeper
    /// This dispatcher's number among those that share the gates.
    private let number: Int
    /// When the turn of a running task ends for which another owner waits, in milliseconds of the boot clock.
    private let turnEnd = Guarded<Int64?>(nil)
    private var turns = SlotTurns()
    /// The result of `nextLook()` that the alarms were last told.
    private var toldLook: Int64?
    /// The marks of an earlier daemon on lanes of held hosts have been removed.
    private var hasForgottenMarks = false
    private let retry = Guarded<Int64?>(nil)
    private var ahead = LookAhead()
    private var hasHeard = false
    /// Tasks of the store's last answer that the machine's network or power forbids.
    private var hindered: [TaskID] = []

    /// - Parameters:
    ///   - closedUntil: returns when the session's next time window opens; nil if one is open.
    ///   - asked: called for tasks that ask their client before they begin.
    ///   - begin: begins the attempts of claimed tasks.
    init(
        store: TransferStore, runs: RunTable, slots: SharedSlots, transitions: TaskTransitions,
        time: any TimeSource, settings: @escaping @Sendable () -> DaemonSettings, logger: Logger,
        closedUntil: @escaping @Sendable (SessionRecord, Timestamp) -> Timestamp?, machine: MachineState? = nil,
        asked: @escaping @Sendable (TaskRecord) -> Void = { _ in },
        begin: @escaping @Sendable ([(task: TaskRecord, session: SessionRecord)]) -> Void
    ) {
        self.store = store
        self.runs = runs
        self.transitions = transitions
        self.slots = slots
        gates = slots.gates
        number = slots.gates.addDispatcher()
        signal = slots.signal
        news = slots.signal.listen(to: [.slots, .queue])
        self.time = time
        self.settings = settings
        self.logger = logger
        self.closedUntil = closedUntil
        self.machine = machine
        self.asked = asked
        self.begin = begin
    }

    /// Fills slots each time the signal rings, until it is stopped.
    func run() async {
        await fillSlots()
        while let heard = await news.next() { await fillSlots(isChange: heard.contains(.queue)) }
    }

    /// - Parameter isChange: false if nothing has changed except that slots became free.
    func fillSlots(isChange: Bool = true) async {
        retry.withLock { $0 = nil }
        if isChange { ahead.forget() }
        var mayStartMore = true
        while mayStartMore || hasHeard, !signal.isStopped {
            hearNews()
            hasHeard = false
            do {
                await slots.rounds.enter()
                defer { slots.rounds.leave() }
                mayStartMore = try await fill()
            } catch {
                logger.retried("cannot start tasks", error)
                ahead.forget()
                lookAgain()
                break
            }
        }
        tellOfNextLook()
    }

    /// Takes the news that came meanwhile: what was read before may be stale, and another round is due.
    private func hearNews() {
        guard let heard = news.take(), !heard.isEmpty else { return }
        hasHeard = true
        if heard.contains(.queue) { ahead.forget() }
    }

    /// Tells the alarms if `nextLook()` has changed.
    private func tellOfNextLook() {
        let next = nextLook()
        if next != nil, toldLook != next { signal.timesChanged() }
        toldLook = next
    }

    /// Milliseconds until tasks are tried again that could not be started.
    private static let retryPause: Int64 = 5000

    /// Schedules another round: the store failed, and perhaps nothing else will ever change.
    private func lookAgain() {
        let next = time.reading().boot + Self.retryPause
        retry.withLock { $0 = next }
    }

    /// When a new round is due although nothing has changed, in milliseconds of the boot clock: a held host may be
    /// tried, a turn is over, or the store failed.
    nonisolated func nextLook() -> Int64? {
        [gates.nextChange(), turnEnd.withLock { $0 }, retry.withLock { $0 }].compactMap(\.self).min()
    }

    /// Makes lanes readable again whose hosts are not held any more. If that cannot be stored now, the other lanes are
    /// still served, and another round tries again soon.
    private func releaseLanes(_ now: ClockReading) async {
        let released = gates.takeReleased(by: number, at: now)
        guard !released.isEmpty || !hasForgottenMarks else { return }
        let isFirst = !hasForgottenMarks
        do {
            try await store.write { transaction in
                if isFirst { try transaction.releaseAllLanes() } else { try transaction.release(hosts: released) }
            }
            hasForgottenMarks = true
            ahead.forget()
        } catch {
            gates.putBack(released, by: number)
            logger.retried("cannot release hosts", error)
            // Their tasks are in lanes that are not read, so the readable lanes may show that there is nothing to do.
            lookAgain()
        }
    }

    /// Performs one round. Returns true if another one may start more.
    private func fill() async throws -> Bool {
        if machine?.isAsleep == true { return false }
        let now = time.reading()
        turnEnd.withLock { $0 = nil }
        // Done first, because it brings back the tasks of hosts that were held.
        await releaseLanes(now)
        if ahead.isEmpty { return false }
        let settings = settings()
        let limits = settings.global
        let active = slots.holders
        var query = query(limits, now)
        let counted = active.filter { $0.hold != .left }
        let free = limits.maximumConcurrentTasks - counted.count
        if let started = try await startFromAhead(query, free, active, now) { return started }
        // The tasks read ahead do not include these.
        query.excludedTasks = Set((active + slots.pendingEnds).map(\.task))
        query.order = { [turns, running = counted.map(\.session)] in turns.order($0, running: running) }
        var isFirst = true
        while true {
            let running = Set(active.map(\.session))
            let (candidates, sessions) = try await isFirst ? lookAhead(query, running) : ask(query, running)
            isFirst = false
            let closed = try await holdBack(candidates.tasks, sessions, now)
            // However many must wait, the others begin now.
            let open = closed.isEmpty ? candidates.tasks : candidates.tasks.filter { !closed.contains($0.id) }
            let decision = decide(open, active, SlotLimits(settings, sessions), now)
            preempt(decision, among: active)
            if !decision.start.isEmpty {
                let claimed = try await start(decision.start, sessions, now)
                return claimed != nil || !closed.isEmpty
            }
            if !closed.isEmpty { return true }
            // A further look sees other tasks and other turns.
            turnEnd.withLock { $0 = [$0, decision.nextLook].compactMap(\.self).min() }
            guard decision.preempt.isEmpty, candidates.hasMoreLanes, !candidates.tasks.isEmpty,
                free > 0 || decision.leavesOwnerWithout && decision.nextLook == nil
            else { return false }
            query.lookFurther(past: candidates.tasks)
        }
    }

    private func query(_ limits: GlobalSettings, _ now: ClockReading) -> CandidateQuery {
        var query = CandidateQuery(
            perLane: min(limits.maximumConcurrentTasks, limits.maximumConcurrentTasksPerHost) + 1,
            limit: limits.maximumConcurrentTasks + 1)
        query.wantedTasks = gates.invitations(at: now)
        query.access = { [gates, heedsSilence = !store.isInMemory] session, host in
            switch gates.permission(host: host, owner: session.owner, at: now, heedsSilence: heedsSilence) {
            case .any: .open
            case .one: .one
            case .probe: .probe
            case .none(let until): until - now.boot > Self.shortestHold ? .held : .pausing
            }
        }
        return query
    }

    /// Milliseconds below which a hold is not worth a write.
    private static let shortestHold: Int64 = 1000

    private func preempt(_ decision: Scheduler.Decision, among active: [TransferRun]) {
        guard !decision.preempt.isEmpty else { return }
        let victims = Set(decision.preempt)
        for run in active where victims.contains(run.task) {
            if run.losesByStop {
                logger.warning(
                    "gives its slot to another task, and begins again from 0 later",
                    metadata: ["task": "\(run.task)", "lost": "\(run.bytesTransferred + run.bytesUploaded)"])
            }
            run.requestAbort(.transition(.preempted(decision.displacements[run.task] ?? .interruption)))
        }
    }

    /// Fills slots with tasks that were read before, or finds that there is none to fill; nil if the store must be
    /// asked.
    /// - Parameter free: the number of free slots.
    private func startFromAhead(
        _ query: CandidateQuery, _ free: Int, _ active: [TransferRun], _ now: ClockReading
    ) async throws -> Bool? {
        var query = query
        // A lane fills at most the free slots; one more task shows whether it takes a slot from another. If a host is
        // held, any of its tasks may be the one that may probe it.
        if !gates.mayHoldHosts { query.perLane = min(query.perLane, max(0, free) + 1) }
        guard let candidates = ahead.candidates(query)?.tasks, !candidates.isEmpty else { return nil }
        let sessions = ahead.sessions
        guard !sessions.values.contains(where: { closedUntil($0, now.wall) != nil }) else { return nil }
        let decision = decide(candidates, active, ahead.limits, now)
        guard decision.preempt.isEmpty else { return nil }
        if !decision.start.isEmpty {
            guard let claimed = try await start(decision.start, sessions, now) else { return false }
            // With only one owner, there are no turns to wait for: without a free slot, another round starts nothing.
            return claimed < free || Set(sessions.keys.map(\.owner)).count > 1
        }
        // All slots are taken and every owner has one. The store knows no more, and nothing changes before a slot
        // becomes free.
        guard free <= 0, !decision.leavesOwnerWithout else { return nil }
        turnEnd.withLock { $0 = decision.nextLook }
        return false
    }

    private func decide(
        _ candidates: [QueuedTask], _ active: [TransferRun], _ limits: SlotLimits, _ now: ClockReading
    ) -> Scheduler.Decision {
        Scheduler.pick(
            candidates: candidates.map(Scheduler.Candidate.init), running: active.map(Scheduler.Candidate.init),
            stopping: Set(active.filter(\.isAborting).map(\.task)), limits: limits,
            gates: gates.snapshot, turns: turns, policy: slots.scheduling, at: now)
    }

    /// - Returns: how many of `ids` were claimed; nil if none may be claimed now.
    private func start(
        _ ids: [TaskID], _ sessions: [SessionKey: SessionRecord], _ now: ClockReading
    ) async throws -> Int? {
        ahead.remove(ids)
        let wanted = runs.claims.enter(ids)
        guard !wanted.isEmpty else { return nil }
        defer { runs.claims.leave(wanted) }
        var claimed = try await store.write { [transitions] in
            try transitions.claim(wanted, sessions: sessions, in: $0)
        }
        if !claimed.indices.allSatisfy({ claimed[$0].status.state == .running }) {
            for record in claimed where record.status.state != .running { asked(record) }
            claimed.removeAll { $0.status.state != .running }
        }
        gates.attemptsStarted(claimed, at: now)
        for index in claimed.indices { turns.served(claimed[index].session) }
        begin(
            claimed.map { record in
                (record, sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now.wall))
            })
        return claimed.count
    }

    /// Reads from the store. The answer may serve later rounds too.
    private func lookAhead(
        _ query: CandidateQuery, _ running: Set<SessionKey>
    ) async throws -> (Candidates, [SessionKey: SessionRecord]) {
        let (wide, version) = (ahead.widened(query), ahead.version)
        let (found, sessions) = try await ask(wide, running)
        hearNews()
        ahead.fill(found, sessions, SlotLimits(settings(), sessions), at: version)
        guard wide.limit > query.limit else { return (found, sessions) }
        if version == ahead.version, let candidates = ahead.candidates(query) { return (candidates, sessions) }
        return try await ask(query, running)
    }

    private func ask(
        _ query: CandidateQuery, _ running: Set<SessionKey>
    ) async throws -> (Candidates, [SessionKey: SessionRecord]) {
        let (candidates, sessions, hindered) = try await store.read { [machine] snapshot in
            let candidates = try snapshot.candidates(query)
            let keys = Set(candidates.sessions.map(\.session)).union(running)
            let known = try keys.compactMap { try snapshot.session($0) }
            let sessions = Dictionary(uniqueKeysWithValues: known.map { ($0.key, $0) })
            let hindered = try machine?.hindered(candidates.tasks.map(\.id), sessions, in: snapshot) ?? []
            return (candidates, sessions, hindered)
        }
        self.hindered = hindered
        let held = candidates.heldLanes
        // If this fails, they are read again the next time.
        if !held.isEmpty { try? await store.write { try $0.hold(held) } }
        return (candidates, sessions)
    }

    /// Makes those of the read tasks wait that may not begin now, whether or not a slot is free.
    private func holdBack(
        _ tasks: [QueuedTask], _ sessions: [SessionKey: SessionRecord], _ now: ClockReading
    ) async throws -> Set<TaskID> {
        let closedSessions = Set(sessions.values.filter { closedUntil($0, now.wall) != nil }.map(\.key))
        let closed = Set(tasks.filter { closedSessions.contains($0.session) }.map(\.id) + hindered)
        guard !closed.isEmpty else { return [] }
        try await block(closed.sorted(), now)
        ahead.remove(Array(closed))
        return closed
    }

    /// Makes tasks wait that are outside the time windows of their session, or that the machine's network or power
    /// forbids. It uses the current windows and conditions, because a change of them has already reconsidered the waiting
    /// tasks.
    private func block(_ tasks: [TaskID], _ now: ClockReading) async throws {
        let (transitions, closedUntil, machine) = (transitions, closedUntil, machine)
        try await store.write { transaction in
            var openings = SessionOpenings(now: now.wall, closedUntil: closedUntil)
            for id in tasks {
                guard let record = try transitions.readable(id, in: transaction), record.status.state == .queued else {
                    continue
                }
                if let opening = try openings.opening(of: record.session, in: transaction) {
                    _ = try transitions.apply(
                        .blocked(.schedule, nil, nextAttemptAt: opening), to: record, in: transaction)
                } else if case .blocked(let reason, let error, _)? = machine?.event(
                    for: record, in: try transaction.session(record.session))
                {
                    _ = try transitions.apply(
                        .blocked(reason, error, nextAttemptAt: nil), to: record, in: transaction)
                }
            }
        }
    }
}

extension CandidateQuery {
    /// More lanes than any store has.
    private static let most = 1 << 30

    /// Looks for further tasks if none of the best may start, because their hosts or sessions are full or held. It
    /// reads one task of each lane, and each time more lanes and sessions.
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
            canResume: run.canResume, startedAt: run.startedAt, hold: run.hold)
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
