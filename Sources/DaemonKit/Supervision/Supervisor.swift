import CurlEngine
import FileKit
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Owns the daemon's transfers: starts what may run, ends what must stop, and does what clients ask of tasks.
///
/// It decides nothing itself: `TaskMachine` says what becomes of a task, `Scheduler` what runs, strategies what is
/// fetched; this type hands them to the store and the engine.
package final class Supervisor: Sendable {
    let store: TransferStore
    let engine: any ExchangePerforming
    let files: TransferFiles
    let configuration: @Sendable () -> Configuration
    let time: any TimeSource
    let logger: Logger
    private let scheduling: SchedulingPolicy
    let runs = RunTable()
    /// Beginnings at one time, for each destination's file system: each takes more memory than a transfer that waits.
    private let beginnings = Turnstiles(width: 64)
    let transitions: TaskTransitions
    let schedules = SessionSchedules()
    let patience: StorePatience
    let conditions: Conditions
    let launches: any LaunchServing
    private let tools: AttemptTools
    let endings: UploadEndings
    let moves: PartMoves
    private let stopping: Guarded<Bool>
    private let dispatcherBox = Guarded<Dispatcher?>(nil)
    let clock = Guarded<ClockMemory?>(nil)
    let sweep = Guarded(SweepMemory())
    private let alarmsBox = Guarded<Alarms?>(nil)
    /// Tasks that have a limit of their own in the engine.
    private let limited = Guarded(Set<TaskID>())
    private let networkFollowers = Guarded<[Task<Void, Never>]>([])

    package init(
        store: TransferStore, engine: any ExchangePerforming, access: FileAccess, pool: BlockingPool,
        conditions: Conditions, launches: any LaunchServing,
        configuration: @escaping @Sendable () -> Configuration,
        time: any TimeSource = SystemTime(), scheduling: SchedulingPolicy = SchedulingPolicy(), logger: Logger
    ) {
        self.scheduling = scheduling
        self.store = store
        self.engine = engine
        self.configuration = configuration
        self.time = time
        self.logger = logger
        self.conditions = conditions
        self.launches = launches
        files = TransferFiles(
            access: access, storeID: store.identifier, stateFolder: store.folderPath, pool: pool)
        transitions = TaskTransitions(
            time: time, policy: { spec, session in Self.policy(of: spec, session, configuration()) },
            queueLimit: { configuration().global.maximumQueuedTasksPerUser },
            unreadable: { task, cause in
                logger.error(
                    "a task was set aside: what is stored of it cannot be read",
                    metadata: ["task": "\(task)", "error": "\(cause)"])
            })
        let stopping = Guarded(false)
        self.stopping = stopping
        patience = StorePatience(store: store) { stopping.withLock { $0 } }
        moves = PartMoves(
            patience: patience, files: files, engine: engine, runs: runs, logger: logger
        ) { [dispatcherBox] in dispatcherBox.withLock { $0 }?.kickLater(isChange: true) }
        tools = AttemptTools(
            patience: patience, engine: engine, files: files, transitions: transitions,
            completions: Completions(patience: patience, transitions: transitions),
            checkpoints: CheckpointKeeper(store: store, logger: logger), time: time,
            minimumFreeSpace: { configuration().global.minimumFreeSpace }, hosts: HostConnections(), moves: moves)
        endings = UploadEndings(
            patience: patience, engine: engine, files: files, policy: transitions.policy, time: time, logger: logger
        ) { [alarmsBox] in alarmsBox.withLock { $0 }?.rearm() }
    }

    var isStopping: Bool { stopping.withLock { $0 } }

    /// Takes up where the last daemon stopped: rows that say `running` are of a daemon that is gone, and are queued again.
    ///
    /// To be called once, before any client is answered: a client that changed such a row meanwhile would change a run that
    /// does not exist.
    package func recover() async throws {
        try await beginClock()
        try await recallPauses()
        let interrupted = try await store.read { try $0.runningIDs() }
        for chunk in interrupted.chunked(500) {
            let transitions = transitions
            try await store.write { transaction in
                for id in chunk {
                    guard let record = try transitions.readable(id, in: transaction) else { continue }
                    _ = try transitions.apply(.daemonRestarted, to: record, in: transaction)
                }
            }
        }
        if !interrupted.isEmpty {
            logger.notice("resuming after an interruption", metadata: ["tasks": "\(interrupted.count)"])
        }
    }

    /// Fills slots from now on; after `recover()`.
    package func start() async throws {
        applyRateLimits()
        for session in try await store.read({ try $0.sessions(owner: nil) }) { applyRateLimit(of: session) }
        let dispatcher = Dispatcher(
            store: store, runs: runs, transitions: transitions, time: time,
            settings: { [configuration] in configuration().settings }, policy: scheduling, logger: logger,
            closedUntil: { [weak self] session, now in self?.closedUntil(session, at: now) },
            begin: { [weak self] record, session in self?.begin(record, session) },
            nextLookChanged: { [alarmsBox] in alarmsBox.withLock { $0 }?.rearm() })
        let alarms = Alarms(supervisor: self, dispatcher: dispatcher)
        dispatcherBox.withLock { $0 = dispatcher }
        alarmsBox.withLock { $0 = alarms }
        alarms.start()
        let followers = [
            Task { [weak self] in await self?.followNetwork() ?? () },
            Task { [weak self] in await self?.followResolver(dispatcher) ?? () },
        ]
        networkFollowers.withLock { $0 = followers }
        await dispatcher.kick()
    }

    /// Stops every run at its checkpoint; the tasks are queued again for the next daemon.
    package func stop() async {
        stopping.withLock { $0 = true }
        alarmsBox.withLock { $0 }?.stop()
        networkFollowers.withLock { $0 }.forEach { $0.cancel() }
        endings.stop()
        await dispatcherBox.withLock { $0 }?.stop()
        let active = runs.all
        for run in active { run.requestAbort(.transition(.preempted(.stopping))) }
        // One limit for all of them: a disk that does not answer may hold many.
        let deadline = ContinuousClock.now + .milliseconds(1500)
        for run in active { await run.waitForEnd(atMost: max(.zero, deadline - .now)) }
    }

    /// Something changed that may let a task run or must be waited for; returns at once.
    func kick() {
        guard !isStopping else { return }
        alarmsBox.withLock { $0 }?.rearm()
        dispatcherBox.withLock { $0 }?.kickLater(isChange: true)
    }

    /// A slot got free, and no time changed that anything waits for; returns at once.
    private func slotFreed() {
        if !isStopping { dispatcherBox.withLock { $0 }?.kickLater(isChange: false) }
    }

    /// Global settings changed: limits hold at once, also for what runs.
    package func settingsChanged() {
        applyRateLimits()
        kick()
    }

    func policy(of record: TaskRecord, in session: SessionRecord) -> EffectivePolicy {
        Self.policy(of: record.spec, session.configuration, configuration())
    }

    private static func policy(
        of spec: TaskSpec, _ session: SessionConfiguration, _ configuration: Configuration
    ) -> EffectivePolicy {
        // The folder was settled when the task was added.
        let filled = configuration.filled(session, findsDirectory: false)
        var policy = EffectivePolicy(
            spec: spec, session: filled)
        policy.network.caFileIsTheDaemons = spec.caFile == nil && session.caFile == nil
        policy.network.knownHostsPath = configuration.knownHosts
        return policy
    }

    // MARK: Runs

    private func begin(_ record: TaskRecord, _ session: SessionRecord) {
        let policy = policy(of: record, in: session)
        let proxy = policy.network.proxy
        let startedAt = time.reading().boot
        let run = TransferRun(record, startedAt: startedAt, directHost: Self.directHost(of: record, proxy: proxy)) {
            [dispatcherBox, host = record.host, owner = record.session.owner, id = record.id] in
            dispatcherBox.withLock { $0 }?.hostAnswered(host, owner: owner, task: id, startedAt: startedAt)
        }
        runs.insert(run)
        alarmsBox.withLock { $0 }?.sampleRates()
        applyRateLimit(policy.rateLimit, of: record)
        logger.debug("started", metadata: TaskLogFields.fields(of: record))
        let attempt = attempt(record, policy, run)
        let turnstile = beginnings[record.destinationDevice]
        turnstile.enter { [self] in
            run.start { [self] in
                let progress = await attempt.begin()
                turnstile.leave()
                switch progress {
                case .ended(let ending): await finish(run, attempt, ending)
                case .goesOn(let awaited, let ending):
                    run.goOn(after: awaited) { [self] in await finish(run, attempt, await ending()) }
                }
            }
        }
    }

    private func attempt(
        _ record: TaskRecord, _ policy: EffectivePolicy, _ run: TransferRun
    ) -> any TransferAttempt {
        switch record.spec.kind {
        case .download: DownloadAttempt(record: record, policy: policy, run: run, tools: tools, logger: logger)
        case .upload, .data:
            RequestAttempt(record: record, policy: policy, run: run, tools: tools, logger: logger)
        }
    }

    @inline(never)  // Kept off the frames that wait.
    private func finish(_ run: TransferRun, _ attempt: any TransferAttempt, _ ending: AttemptEnding) async {
        let record = attempt.record
        note(ending, of: record, run)
        do {
            if let outcome = try await settle(ending, record, attempt.policy, run) {
                log(outcome)
                if outcome.discardsPart { await discard(outcome.record) }
                tellLaunches(outcome)
            }
        } catch {
            logger.error("cannot store how an attempt ended", metadata: ["task": "\(record.id)", "error": "\(error)"])
        }
        applyRateLimit(.unlimited, of: record)
        runs.remove(run)
        run.ended()
        if ending.isCompleted { slotFreed() } else { kick() }
    }

    /// Tells the gate of its host how the attempt did.
    private func note(_ ending: AttemptEnding, of record: TaskRecord, _ run: TransferRun) {
        var report: HostGates.Report =
            switch ending {
            case .completed, .integrityFailed: .answered
            case .blocked, .aborted: .nothing
            case .failed(let failure, _): HostGates.Report(failure)
            }
        if report == .answered, run.hasAnswered { return }
        // A host that serves others is there, whatever became of this connection.
        if report == .failed, runs.all.contains(where: { $0.host == record.host && $0 !== run && $0.receives }) {
            report = .nothing
        }
        // The host that was silent is another one.
        if report == .failed, run.isElsewhere { report = .refused }
        dispatcher?.report(
            report, host: record.host, owner: record.session.owner, task: record.id, startedAt: run.startedAt)
    }

    var dispatcher: Dispatcher? { dispatcherBox.withLock { $0 } }

    /// Stores how an attempt ended; nil where a client's request had already changed the task.
    private func settle(
        _ ending: AttemptEnding, _ record: TaskRecord, _ policy: EffectivePolicy, _ run: TransferRun
    ) async throws -> TaskTransitions.Outcome? {
        let event: TaskEvent
        var notes: PendingNotes?
        let ending = await adjusted(ending, of: record.id)
        switch ending {
        case .completed(let outcome): return outcome
        case .aborted:
            switch run.takeAbortPlan() {
            case .transition(let wanted): event = wanted
            case .leftToCaller: return nil
            case nil: event = .preempted()
            }
        case .integrityFailed(let error): event = .integrityFailed(error, places: Origins(record.spec).count)
        case .blocked(let reason, let error):
            event = .blocked(reason, error, nextAttemptAt: nextLook(reason))
        case .failed(let failure, let last):
            notes = last
            let seen = conditions.adjusted(failure, for: run.directHost)
            event = .attemptFailed(
                seen, policy.retry, jitter: Double.random(in: 0..<1), earliest: nil)
        }
        let outcome = try await settle(event, record.id, with: notes)
        // Not before the task is stored as waiting: a look at the disks in between would find nobody, and be the last.
        if ending.waitsForDisk { conditions.set(needsPolling: true) }
        return outcome
    }

    private func settle(
        _ event: TaskEvent, _ id: TaskID, with notes: PendingNotes? = nil
    ) async throws -> TaskTransitions.Outcome? {
        let transitions = transitions
        do {
            return try await patience.persistently { transaction in
                guard var now = try transaction.task(id), now.status.state == .running else { return nil }
                if let notes {
                    try notes.store(in: transaction)
                    now = try transaction.task(id) ?? now
                }
                return try transitions.apply(event, to: now, in: transaction)
            }
        } catch let error as TransferError where error.code == .taskWrongState || error.code == .taskNotFound {
            return nil
        }
    }

    /// Where no monitor speaks first, a blocked task is looked at again after this.
    private func nextLook(_ reason: WaitReason) -> Timestamp? {
        switch reason {
        case .disk: time.reading().wall.advanced(by: Seconds(Self.longestDiskWait))
        case .network, .retry, .schedule, .authentication, .decision, .metered: nil
        }
    }

    private static let longestDiskWait: Double = 60

    /// Stops the runs of `ids` and waits until nothing of them moves, then lets `body` store what becomes of their
    /// tasks; those that `body` leaves `running` are queued again. None of `ids` begins to run meanwhile.
    /// - Throws: what `body` throws; `disk.io` where a run cannot stop because its disk does not answer.
    func stoppingRuns<T>(_ ids: [TaskID], _ body: () async throws -> T) async throws -> T {
        await runs.claims.hold(ids)
        defer {
            runs.claims.release(ids)
            if !ids.isEmpty { kick() }
        }
        let stopped = ids.compactMap { runs[$0] }
        for run in stopped { run.requestAbort(.leftToCaller) }
        for run in stopped where !(await run.waitForEnd(atMost: Self.longestStop)) {
            await abandon(stopped)
            throw TransferError(
                .diskIO, "Task \(run.task) cannot stop: its disk does not answer. Try again when it does.")
        }
        do {
            let result = try await body()
            try await requeue(stopped)
            return result
        } catch {
            try? await requeue(stopped)
            throw error
        }
    }

    private static let longestStop: Duration = .seconds(10)

    /// Nobody waits any more for these to stop: their tasks are queued again, now or when they do.
    private func abandon(_ stopped: [TransferRun]) async {
        let over = stopped.filter { !$0.abandonStop() }
        for run in over { await run.waitForEnd(atMost: Self.longestStop) }
        try? await requeue(over)
    }

    private func requeue(_ stopped: [TransferRun]) async throws {
        for run in stopped where runs[run.task] == nil { _ = try await settle(.preempted(), run.task) }
    }

    /// What follows a stored transition outside the store: part files, launches.
    func afterwards(_ outcomes: [TaskTransitions.Outcome]) async {
        for outcome in outcomes {
            if outcome.discardsPart { await discard(outcome.record) }
            tellLaunches(outcome)
        }
    }

    /// Removes what a task held here; an upload that was begun at a server is ended by `endings`.
    func discard(_ record: TaskRecord) async {
        await note(await files.discardParts(of: [record], at: time.reading().wall))
    }

    private func tellLaunches(_ outcome: TaskTransitions.Outcome) {
        if outcome.record.status.state.isFinal { launches.look(at: outcome.record.session) }
    }

    // MARK: Rates

    private func applyRateLimits() {
        engine.setRateLimits(global: configuration().global.downloadRateLimit)
        engine.setUploadRateLimits(global: configuration().global.uploadRateLimit)
    }

    func applyRateLimit(of session: SessionRecord) {
        engine.setRateLimit(session: session.key, session.configuration.downloadRateLimit ?? .unlimited)
        engine.setUploadRateLimit(session: session.key, session.configuration.uploadRateLimit ?? .unlimited)
    }

    /// The task's own limit holds for the direction that its bytes go.
    func applyRateLimit(_ rate: ByteRate, of record: TaskRecord) {
        let isKnown = limited.withLock { limited in
            rate > .unlimited ? !limited.insert(record.id).inserted : limited.remove(record.id) != nil
        }
        guard isKnown || rate > .unlimited else { return }
        switch record.spec.kind {
        case .download, .data: engine.setRateLimit(task: record.id, rate)
        case .upload: engine.setUploadRateLimit(task: record.id, rate)
        }
    }
}

extension Array {
    /// Consecutive pieces of at most `size` elements.
    func chunked(_ size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
