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
    let signal = SupervisionSignal()
    let runs = RunTable()
    let transitions: TaskTransitions
    let schedules = SessionSchedules()
    let patience: StorePatience
    let conditions: Conditions
    let launches: any LaunchServing
    let policies: TaskPolicies
    let gates: Gatekeeper
    let rates: RateLimits
    let waiting: WaitingTasks
    let disks: DiskWaits
    let endings: UploadEndings
    let moves: PartMoves
    let leftParts: LeftParts
    let followUp: FollowUp
    let stops: RunStops
    private let dispatcher: Dispatcher
    let clock = Guarded<ClockMemory?>(nil)
    private let work = Guarded<[Task<Void, Never>]>([])

    package init(
        store: TransferStore, engine: any ExchangePerforming, access: FileAccess, pool: BlockingPool,
        conditions: Conditions, launches: any LaunchServing,
        configuration: @escaping @Sendable () -> Configuration,
        time: any TimeSource = SystemTime(), scheduling: SchedulingPolicy = SchedulingPolicy(), logger: Logger
    ) {
        self.store = store
        self.engine = engine
        self.configuration = configuration
        self.time = time
        self.logger = logger
        self.conditions = conditions
        self.launches = launches
        let signal = signal
        files = TransferFiles(
            access: access, storeID: store.identifier, stateFolder: store.folderPath, pool: pool)
        policies = TaskPolicies(configuration: configuration)
        transitions = TaskTransitions(
            time: time, policy: policies.policy,
            queueLimit: { configuration().global.maximumQueuedTasksPerUser },
            unreadable: { task, cause in
                logger.error(
                    "a task was set aside: what is stored of it cannot be read",
                    metadata: ["task": "\(task)", "error": "\(cause)"])
            })
        patience = StorePatience(store: store) { signal.isStopped }
        gates = Gatekeeper(policy: scheduling, time: time, signal: signal)
        rates = RateLimits(engine: engine, configuration: configuration)
        waiting = WaitingTasks(store: store, transitions: transitions, signal: signal)
        disks = DiskWaits(
            store: store, conditions: conditions, waiting: waiting,
            minimumFreeSpace: { configuration().global.minimumFreeSpace }, logger: logger)
        moves = PartMoves(
            patience: patience, files: files, engine: engine, runs: runs, logger: logger
        ) { signal.queueChanged() }
        leftParts = LeftParts(
            patience: patience, files: files, runs: runs, moves: moves, time: time, signal: signal, logger: logger)
        followUp = FollowUp(leftParts: leftParts, launches: launches, logger: logger)
        stops = RunStops(runs: runs, patience: patience, transitions: transitions, signal: signal)
        endings = UploadEndings(
            patience: patience, engine: engine, files: files, policy: transitions.policy, time: time, logger: logger
        ) { signal.timesChanged() }
        let tools = AttemptTools(
            patience: patience, engine: engine, files: files, transitions: transitions,
            completions: Completions(patience: patience, transitions: transitions),
            checkpoints: CheckpointKeeper(store: store, logger: logger), time: time,
            minimumFreeSpace: { configuration().global.minimumFreeSpace }, hosts: HostConnections(), moves: moves)
        let runner = AttemptRunner(
            tools: tools, runs: runs, policies: policies, conditions: conditions, disks: disks, gates: gates,
            rates: rates, sampler: RateSampler(runs: runs, gates: gates, time: time, signal: signal),
            followUp: followUp, signal: signal, logger: logger)
        dispatcher = Dispatcher(
            store: store, runs: runs, transitions: transitions, gates: gates, signal: signal, time: time,
            settings: { configuration().settings }, policy: scheduling, logger: logger,
            closedUntil: schedules.closedUntil, begin: runner.begin)
    }

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
        rates.applyGlobal()
        for session in try await store.read({ try $0.sessions(owner: nil) }) { rates.apply(of: session) }
        let alarms = Alarms(supervisor: self, dispatcher: dispatcher)
        let network = NetworkFollower(
            store: store, network: conditions.network, runs: runs, gates: gates, policies: policies, waiting: waiting,
            time: time, signal: signal, logger: logger)
        work.withLock { work in
            work = [
                Task { await alarms.run() },
                Task { [dispatcher] in await dispatcher.run() },
                Task { await network.followNetwork() },
                Task { await network.followResolver() },
            ]
        }
    }

    /// Stops every run at its checkpoint; the tasks are queued again for the next daemon.
    package func stop() async {
        signal.stop()
        work.withLock { $0 }.forEach { $0.cancel() }
        endings.stop()
        let active = runs.all
        for run in active { run.requestAbort(.transition(.preempted(.stopping))) }
        // One limit for all of them: a disk that does not answer may hold many.
        let deadline = ContinuousClock.now + .milliseconds(1500)
        for run in active { await run.waitForEnd(atMost: max(.zero, deadline - .now)) }
    }

    /// Global settings changed: limits hold at once, also for what runs.
    package func settingsChanged() {
        rates.applyGlobal()
        signal.changed()
    }
}

extension Array {
    /// Consecutive pieces of at most `size` elements.
    func chunked(_ size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
