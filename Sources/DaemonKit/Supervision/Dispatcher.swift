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
    private let begin: @Sendable (TaskRecord, SessionRecord) -> Void
    private let logger: Logger

    private var breaker = CircuitBreaker()
    private var isPumping = false
    private var isKicked = false
    private var isStopped = false

    init(
        store: TransferStore, runs: RunTable, transitions: TaskTransitions, time: any TimeSource,
        settings: @escaping @Sendable () -> GlobalSettings, logger: Logger,
        begin: @escaping @Sendable (TaskRecord, SessionRecord) -> Void
    ) {
        self.store = store
        self.runs = runs
        self.transitions = transitions
        self.time = time
        self.settings = settings
        self.logger = logger
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

    func recordSuccess(host: String) { breaker.recordSuccess(host: host) }

    func recordFailure(host: String, task: TaskID) {
        breaker.recordFailure(host: host, task: task, at: time.reading())
    }

    /// When a host that is held back may be probed again; the alarms wake the dispatcher then.
    func nextProbe() -> Int64? { breaker.nextProbe(after: time.reading()) }

    /// One round; true where another may start more.
    private func fill() async throws -> Bool {
        let now = time.reading()
        let limits = settings()
        let running = runs.all.map {
            Scheduler.Slot(
                id: $0.task, session: $0.session, host: $0.host, priority: $0.priority, position: $0.position)
        }
        let (candidates, sessions) = try await store.read { snapshot in
            let sessions = try snapshot.sessions(owner: nil)
            let found = try snapshot.candidates(
                CandidateQuery(limit: limits.maximumConcurrentTasks + 1, perLane: limits.maximumConcurrentTasks))
            return (found, Dictionary(uniqueKeysWithValues: sessions.map { ($0.key, $0) }))
        }
        let offered = candidates.filter { runs[$0.id] == nil }.map {
            Scheduler.Slot(
                id: $0.id, session: $0.session, host: $0.host, priority: $0.priority, position: $0.position)
        }
        let choice = Scheduler.pick(
            candidates: offered, running: running, limits: slotLimits(limits, sessions), breaker: breaker, at: now)
        for id in choice.preempt { runs[id]?.requestAbort() }
        guard !choice.start.isEmpty else { return false }
        let transitions = transitions
        let claimed = try await store.write { transaction in
            try choice.start.compactMap { id -> TaskRecord? in
                do {
                    return try transitions.apply(.claimed, to: id, in: transaction).record
                } catch let error as TransferError where [.taskWrongState, .taskNotFound].contains(error.code) {
                    return nil  // paused, cancelled or removed since it was read
                }
            }
        }
        for record in claimed {
            if breaker.isProbe(host: record.host) { breaker.probeStarted(host: record.host, task: record.id) }
            begin(record, sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now.wall))
        }
        return !claimed.isEmpty
    }

    private func slotLimits(_ settings: GlobalSettings, _ sessions: [SessionKey: SessionRecord]) -> SlotLimits {
        SlotLimits(
            global: settings.maximumConcurrentTasks,
            perHost: settings.maximumConcurrentTasksPerHost,
            perSession: sessions.compactMapValues(\.configuration.maximumConcurrentTasks),
            perHostOfSession: sessions.compactMapValues(\.configuration.httpMaximumConnectionsPerHost))
    }
}
