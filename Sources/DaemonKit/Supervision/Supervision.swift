import CurlEngine
import DaemonSetup
import FileKit
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// The parts that supervise the tasks of one store. Each part knows what it needs, and none knows this type.
///
/// They make no decisions themselves: `TaskMachine` decides what becomes of a task, `Scheduler` what runs, and
/// strategies what is fetched. The parts pass these decisions to the store and the engine.
package struct Supervision: Sendable {
    package let services: TaskServices

    private let patience: StorePatience
    let store: TransferStore
    let slots: SharedSlots
    let runs: RunTable
    let transitions: TaskTransitions
    let rates: RateLimits
    let waiting: WaitingTasks
    let leftParts: LeftParts
    let schedules: ScheduleKeeper
    let clock: ClockKeeper
    let deadlines: Deadlines
    let house: Housekeeping
    let sessionController: SessionController
    private let endings: UploadEndings
    private let alarms: Alarms
    let dispatcher: Dispatcher
    private let network: NetworkFollower
    package let keepers: Keepers
    private let machine: MachineState
    private let engine: any ExchangePerforming
    private let logger: Logger
    private let work = Guarded<[Task<Void, Never>]>([])

    /// - Parameters:
    ///   - launches: nil for volatile sessions, which start no programs.
    ///   - streams: the streams of a volatile store's tasks; nil if no task of the store has one.
    package init(
        store: TransferStore, engine: any ExchangePerforming, access: FileAccess, pool: BlockingPool,
        conditions: Conditions, launches: LaunchService?, streams: BodyStreams? = nil, slots: SharedSlots,
        keepers: Keepers? = nil, cache: CacheKeeper? = nil, helpers: HelperFolders? = nil,
        configuration: @escaping @Sendable () -> Configuration,
        time: any TimeSource = SystemTime(), logger: Logger
    ) {
        self.store = store
        self.slots = slots
        self.engine = engine
        self.logger = logger
        let (signal, gates) = (slots.signal, slots.gates)
        let runs = slots.makeTable()
        self.runs = runs
        let minimumFreeSpace: @Sendable () -> ByteCount = { configuration().global.minimumFreeSpace }
        let files = TransferFiles(
            access: access, storeID: store.identifier, stateFolder: store.isInMemory ? nil : store.folderPath,
            helpers: helpers, pool: pool, time: time)
        let policies = TaskPolicies(configuration: configuration)
        let machine = MachineState(configuration: configuration)
        self.machine = machine
        let transitions = Self.transitions(store.identifier, policies, machine, time, logger)
        let patience = StorePatience(store: store) { signal.isStopped }
        let stops = RunStops(runs: runs, patience: patience, transitions: transitions, signal: signal)
        let moves = PartMoves(patience: patience, files: files, engine: engine, runs: runs, logger: logger) {
            signal.queueChanged()
        }
        let leftParts = LeftParts(
            patience: patience, files: files, runs: runs, moves: moves, time: time, signal: signal, logger: logger)
        let keepers = keepers ?? Keepers(store: store, logger: logger, time: time)
        self.keepers = keepers
        let (cookies, credentials, hsts, trust) = (keepers.cookies, keepers.credentials, keepers.hsts, keepers.trust)
        let followUp = FollowUp(leftParts: leftParts, launches: launches, cookies: cookies, logger: logger)
        (self.transitions, self.patience, self.leftParts) = (transitions, patience, leftParts)

        let windows = SessionSchedules()
        rates = RateLimits(engine: engine, windows: windows, time: time, configuration: configuration)
        waiting = WaitingTasks(store: store, transitions: transitions, signal: signal)
        let disks = DiskWaits(
            store: store, conditions: conditions, waiting: waiting, minimumFreeSpace: minimumFreeSpace, logger: logger)
        schedules = ScheduleKeeper(
            store: store, runs: runs, transitions: transitions, windows: windows, signal: signal)

        let tools = AttemptTools(
            patience: patience, engine: engine, files: files, transitions: transitions,
            completions: Completions(patience: patience, transitions: transitions),
            checkpoints: CheckpointKeeper(store: store, logger: logger), time: time,
            minimumFreeSpace: minimumFreeSpace, slots: slots, moves: moves, streams: streams, cache: cache,
            logger: logger, asked: { launches?.look(at: $0) }
        ) { run in if runs.freeSlot(of: run) { signal.slotsFreed() } }
        let runner = AttemptRunner(
            tools: tools, runs: runs, policies: policies, machine: machine, disks: disks, rates: rates,
            sampler: RateSampler(runs: runs, gates: gates, time: time, signal: signal), cookies: cookies,
            credentials: credentials, hsts: hsts, trust: trust, followUp: followUp)
        dispatcher = Dispatcher(
            store: store, runs: runs, slots: slots, transitions: transitions, time: time,
            settings: { configuration().settings }, logger: logger,
            closedUntil: windows.closedUntil, machine: machine, asked: { launches?.look(at: $0.session) },
            begin: runner.begin)

        let tasks = TaskController(
            store: store, files: files, runs: runs, stops: stops, transitions: transitions, leftParts: leftParts,
            gates: gates, launches: launches, signal: signal, logger: logger)
        let reader = TaskReader(
            store: store, runs: runs, transitions: transitions, conditions: conditions, disks: disks,
            reason: QueueingReason(
                store: store, slots: slots, policies: policies, configuration: configuration, time: time))
        let answers = cache.map {
            EarlyAnswers(
                cache: $0, policies: policies, cookies: cookies, credentials: credentials,
                hsts: hsts, files: files, closedUntil: windows.closedUntil, time: time)
        }
        let adder = TaskAdder(
            store: store, files: files, runs: runs, transitions: transitions, leftParts: leftParts,
            followUp: followUp, answers: answers, hsts: hsts, configuration: configuration, time: time, signal: signal)
        let updater = TaskUpdater(
            store: store, engine: engine, files: files, reader: reader, stops: stops, moves: moves,
            transitions: transitions, policies: policies, rates: rates, gates: gates, leftParts: leftParts,
            followUp: followUp, hsts: hsts, configuration: configuration, time: time, signal: signal, logger: logger)
        sessionController = SessionController(
            store: store, files: files, runs: runs, stops: stops, transitions: transitions, tasks: tasks,
            schedules: schedules, rates: rates, launches: launches, keepers: keepers, cache: cache, time: time,
            signal: signal, logger: logger)
        let decisions = DecisionService(
            store: store, runs: runs, stops: stops, transitions: transitions, files: files, leftParts: leftParts,
            followUp: followUp, trust: trust, configuration: configuration, signal: signal, logger: logger)
        services = TaskServices(
            adder: adder, controller: tasks, updater: updater, reader: reader, sessions: sessionController,
            decisions: decisions, store: store)

        clock = ClockKeeper(store: store, schedules: schedules, time: time, logger: logger)
        deadlines = Deadlines(
            store: store, runs: runs, transitions: transitions, followUp: followUp, signal: signal)
        house = Housekeeping(
            store: store, stops: stops, transitions: transitions, leftParts: leftParts, clock: clock,
            configuration: configuration, time: time, logger: logger)
        endings = UploadEndings(
            patience: patience, engine: engine, files: files, credentials: credentials, hsts: hsts, trust: trust,
            policy: { policies.policies(in: $1, kind: $2).policy(of: Boxed(wrappedValue: $0)) }, time: time,
            logger: logger
        ) { signal.timesChanged() }
        alarms = Alarms(
            store: store, clock: clock, deadlines: deadlines, waiting: waiting,
            schedules: schedules, rates: rates, endings: endings, disks: disks, leftParts: leftParts, house: house,
            dispatcher: dispatcher,
            diskPollInterval: { configuration().global.diskPollInterval }, time: time, signal: signal,
            logger: logger)
        network = NetworkFollower(
            store: store, network: conditions.network, runs: runs, gates: gates, policies: policies,
            machine: machine, waiting: waiting, rounds: slots.rounds, time: time, signal: signal, logger: logger)
    }

    private static func transitions(
        _ storeID: String, _ policies: TaskPolicies, _ machine: MachineState, _ time: any TimeSource, _ logger: Logger
    ) -> TaskTransitions {
        TaskTransitions(
            time: time, storeID: storeID, resourceTimeout: policies.resourceTimeout,
            queueLimit: { policies.configuration().global.maximumQueuedTasksPerUser }, machine: machine,
            unreadable: { task, cause in
                logger.error(
                    "a task was set aside: what is stored of it cannot be read",
                    metadata: ["task": "\(task)", "error": "\(cause)"])
            })
    }

    /// Something that has happened could not be stored. The next daemon must find it out again, if it can.
    package var hasGivenUp: Bool { patience.hasGivenUp || !keepers.unstored.isEmpty }

    // MARK: Life

    /// Continues where the last daemon stopped. Tasks that the store shows as `running` belong to a daemon that is
    /// gone, and are queued again.
    ///
    /// Must be called once, before any client is answered. Otherwise a client could change a run that does not exist.
    package func recover() async throws {
        try await clock.begin()
        try await keepers.load()
        try await sessionController.recallPauses()
        let interrupted = try await store.read { try $0.runningIDs() }
        for chunk in interrupted.chunked(500) {
            let transitions = transitions
            try await store.write { transaction in
                for id in chunk {
                    guard let record = try transitions.readable(id, in: transaction) else { continue }
                    let waits = try transitions.wait(inPlaceOf: .daemonRestarted, of: id, in: transaction)
                    _ = try transitions.apply(waits ?? .daemonRestarted, to: record, in: transaction)
                }
            }
        }
        if !interrupted.isEmpty {
            logger.notice("resuming after an interruption", metadata: ["tasks": "\(interrupted.count)"])
        }
    }

    /// Begins to fill slots. Must follow `recover()`.
    /// - Parameter others: further supervisions of the same engine, which are started too, because they share the
    ///   reports about the network.
    package func start(with others: [Supervision] = []) async throws {
        try await begin()
        for other in others { try await other.begin() }
        let followers = [network] + others.map(\.network)
        work.withLock { work in
            work += [
                Task { [network] in await network.followNetwork(with: followers) },
                Task { [network] in await network.followResolver(with: followers) },
            ]
        }
    }

    private func begin() async throws {
        rates.applyGlobal()
        for session in try await store.read({ try $0.sessions(owner: nil) }) { rates.apply(of: session) }
        work.withLock { work in
            work = [
                Task { [alarms] in await alarms.run() },
                Task { [dispatcher] in await dispatcher.run() },
                Task { [network] in await network.followConditions() },
            ]
        }
    }

    /// Stops every run at its checkpoint. The tasks are queued again for the next daemon.
    package func stop() async {
        slots.signal.stop()
        work.withLock { $0 }.forEach { $0.cancel() }
        endings.stop()
        await stopRuns(.stopping, atMost: .milliseconds(1500))
    }

    /// - Parameter limit: one for all of them, because a disk that does not answer may delay many.
    private func stopRuns(_ cause: Displacement, atMost limit: Duration) async {
        let active = runs.all
        for run in active { run.requestAbort(.transition(.preempted(cause))) }
        let deadline = ContinuousClock.now + limit
        for run in active { await run.waitForEnd(atMost: max(.zero, deadline - .now)) }
    }

    /// Logs what is lost because the store could not take it until the end.
    func tellOfUnstored() {
        let unstored = keepers.unstored
        guard !unstored.isEmpty else { return }
        logger.error(
            "changes are lost, because the state folder was full or failing until the end",
            metadata: unstored.mapValues { "\($0)" })
    }

    /// Applies changed global settings at once, also to running transfers.
    package func settingsChanged() {
        rates.applyGlobal()
        slots.signal.changed()
        slots.signal.conditionsChanged()
        slots.tellWhetherTransfersRun(anew: true)
    }

    // MARK: The machine

    package var conditions: MachineConditions { machine.conditions }

    /// Applies what the services of the machine say, also to running transfers; at any time, on any thread.
    package func apply(_ conditions: MachineConditions) {
        if machine.set(conditions) { slots.signal.conditionsChanged() }
    }

    /// Returns when every running task has stopped at its checkpoint and is stored as queued; after what a round claims
    /// has begun, it waits `longestFarewell` for that. No task begins before `wake()`, which must follow in any case.
    package func prepareForSleep() async {
        machine.fallAsleep()
        // What the present round claims has its runs when the round is over.
        await slots.rounds.pass()
        await stopRuns(.sleep, atMost: Self.longestFarewell)
    }

    /// logind waits 5 s unless it is configured otherwise (`InhibitDelayMaxSec=`, logind.conf(5)).
    private static let longestFarewell: Duration = .seconds(4)

    /// The machine is awake: no back-off holds a task any more, and connections are made anew.
    package func wake() {
        engine.renewConnections()
        for run in runs.all { run.requestAbort(.transition(.preempted(.sleep))) }
        slots.gates.forgetSilence()
        machine.wake(at: network.time.reading().boot)
        slots.signal.conditionsChanged()
    }
}

extension Array {
    /// Consecutive pieces of at most `size` elements.
    func chunked(_ size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
