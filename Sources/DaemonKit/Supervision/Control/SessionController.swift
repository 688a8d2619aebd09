import DaemonSetup
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferStore

/// Sessions: a client opens one by attaching, may change it while its tasks run, and it ends with its tasks.
struct SessionController: SessionServing {
    let store: TransferStore
    let files: TransferFiles
    let runs: RunTable
    let stops: RunStops
    let transitions: TaskTransitions
    let tasks: TaskController
    let schedules: ScheduleKeeper
    let rates: RateLimits
    let launches: LaunchService?
    let keepers: Keepers
    var cache: CacheKeeper?
    let time: any TimeSource
    let signal: SupervisionSignal
    let logger: Logger

    func open(
        _ key: SessionKey, kind: SessionKind, configuration: SessionConfiguration?, by peer: Peer
    ) async throws -> SessionRecord {
        if let configuration { try await check(configuration, of: key.owner) }
        let now = time.reading().wall
        let (launches, keepers) = (launches, keepers)
        let (place, isOnDisk) = (place(of: key), !store.isInMemory)
        let session = try await notingClock(of: key) { transaction in
            let known = try transaction.session(key)
            // An ended session is opened as a new one. Nothing remains of its configuration or pause.
            let reopens = known?.state == .invalidated
            if known == nil || reopens, try transaction.openSessionCount(of: key.owner) >= Bounds.sessions {
                throw TransferError(
                    .limitReached, "One user has at most \(Bounds.sessions) sessions that have not ended; finish some.")
            }
            if known == nil || reopens {
                // A session that ended by itself left its cookies and credentials. They go before a client can set new
                // ones.
                keepers.forget(place)
                if isOnDisk { try transaction.removeCookiesOfEndedSessions() }
            }
            let new = SessionRecord(key: key, kind: kind, createdAt: now)
            var session = reopens ? new : known ?? new
            let launch = session.configuration.launch
            if let configuration {
                session.configuration = session.configuration.changed(by: configuration)
                try launches?.check(session.configuration)
                try transaction.introduce(session.configuration.subscriber, owner: key.owner)
            }
            if known == nil {
                try transaction.insertSession(session)
            } else if reopens || configuration != nil {
                try transaction.updateSession(session)
            }
            if reopens || known != nil && session.configuration.launch != launch {
                try transaction.forgetLaunchFailures(of: key)
            }
            if known == nil || reopens {
                _ = try transaction.append(EventRecord(time: now, type: .sessionOpened, session: key))
            }
            return session
        }
        rates.apply(of: session)
        if configuration?.namesSchedule ?? false { try await schedules.reconsider(of: key, at: now) }
        if configuration?.namesRoutes ?? false { signal.conditionsChanged() }
        signal.changed()
        if configuration != nil { launches?.look(at: key) }
        return session
    }

    /// Checks the configuration, and the files and the folder that it names, as if a task named them.
    private func check(_ configuration: SessionConfiguration, of owner: UserID) async throws {
        try SpecRules(path: "configuration").check(configuration)
        let certificate = configuration.clientCertificate
        let named = [
            ("caFile", configuration.caFile), ("clientCertificate.certificate", certificate?.certificate),
            ("clientCertificate.key", certificate?.key),
        ]
        try await files.checkReadable(
            named.compactMap { field, path in path.map { ("configuration.\(field)", $0) } }, owner: owner)
        if let launch = configuration.launch {
            // First checks whether such a launch is allowed at all. A user who may not launch must learn nothing about
            // the file.
            var named = SessionConfiguration()
            named.launch = launch
            try launches?.check(named)
            if let program = launch.argv?.first {
                try await files.checkExecutable(program, field: "configuration.launch.argv")
            }
        }
        var folders = configuration.directory.map { [(field: "directory", path: $0)] } ?? []
        for (index, rule) in (configuration.directories ?? []).enumerated() {
            folders.append(("directories[\(index)].directory", rule.directory))
        }
        for folder in folders {
            let plan = try DestinationPlan(Destination(directory: folder.path))
            _ = try await files.admit(plan, owner: owner, field: "configuration.\(folder.field)")
        }
    }

    func finish(_ key: SessionKey) async throws -> SessionRecord {
        try await end(key).session
    }

    func invalidate(_ key: SessionKey) async throws -> SessionRecord {
        // Once its last task has ended, the session may be opened again. What is added then belongs to another session.
        let (ending, last) = try await end(key, endsLaunches: true)
        if ending.state != .invalidated, let last {
            var target = ControlTarget(scope: .session(key.identifier), owner: .user(key.owner))
            target.range = TaskID(1)...last
            _ = try await tasks.control(.cancel(keepPartial: false), target)
        }
        let (keepers, cache, place) = (keepers, cache, place(of: key))
        let isInMemory = store.isInMemory
        return try await store.write { transaction in
            guard let session = try transaction.session(key) else { throw TransferError.noSession(key.identifier) }
            guard session.state == .invalidated else { return session }
            // Its last task may have ended it.
            keepers.forget(place)
            // Durable sessions have no cache of their own.
            if isInMemory { cache?.forget(key) } else { try transaction.removeCookiesOfEndedSessions() }
            return session
        }
    }

    /// The session's own storage. A session of the other store may have the same name.
    private func place(of key: SessionKey) -> OwnedPlace { store.isInMemory ? .volatile(key) : .session(key) }

    /// Refuses new tasks from now on. A session without unfinished tasks ends at once.
    /// - Parameter endsLaunches: ends launches until `session.open` asks for them again. Otherwise tasks that end later
    ///   still start the program.
    /// - Returns: the session, and the newest task that may be its own.
    private func end(
        _ key: SessionKey, endsLaunches: Bool = false
    ) async throws -> (session: SessionRecord, lastTask: TaskID?) {
        guard key.identifier != SessionKey.sharedIdentifier else {
            throw TransferError.bad("id", "the session \"shared\" always exists; cancel its tasks instead.")
        }
        let (transitions, credentials, place) = (transitions, keepers.credentials, place(of: key))
        let now = time.reading().wall
        return try await store.write { transaction in
            guard var session = try transaction.session(key) else { throw TransferError.noSession(key.identifier) }
            let wasActive = session.state == .active
            let stored = session
            if endsLaunches { session.configuration.sendsLaunchEvents = nil }
            if wasActive { session.state = .finishing }
            if session != stored { try transaction.updateSession(session) }
            let last = try transaction.lastTask()
            guard wasActive, try !transaction.hasUnfinishedTasks(key) else { return (session, last) }
            try transitions.endSession(session, at: now, in: transaction)
            credentials.kept.forget(place)
            session.state = .invalidated
            return (session, last)
        }
    }
}

extension SessionConfiguration {
    /// Tells whether a change sets or unsets the time windows.
    fileprivate var namesSchedule: Bool { schedule != nil || cleared.contains("schedule") }

    /// Tells whether a change sets or unsets the device, or what the machine's network and power forbid.
    fileprivate var namesRoutes: Bool { namedMembers.contains { $0 == "interface" || Self.conditions.contains($0) } }
}

// MARK: - Pause

/// Pauses sessions. A mark on the session prevents claims of its tasks, however many there are. Tasks keep their
/// states: a task that was paused by itself stays paused when the session is resumed.
extension SessionController {
    func pause(_ key: SessionKey) async throws -> SessionRecord {
        let now = time.reading()
        let session = try await change(key, .sessionPaused, at: now) { $0.begin(at: now) }
        // Repeated even if the session was paused before, because that request may have met a disk that did not answer.
        try await stopRuns(of: key)
        return session
    }

    func resume(_ key: SessionKey) async throws -> SessionRecord {
        let now = time.reading()
        let session = try await change(key, .sessionResumed, at: now) { $0.end(at: now) }
        signal.changed()
        return session
    }

    private func change(
        _ key: SessionKey, _ event: EventType, at now: ClockReading,
        _ change: @escaping @Sendable (inout SessionPause) -> Bool
    ) async throws -> SessionRecord {
        try await notingClock(of: key) { transaction in
            guard var session = try transaction.session(key) else { throw TransferError.noSession(key.identifier) }
            guard session.state != .invalidated else {
                throw TransferError(
                    .sessionInvalidated, "The session \"\(key.identifier)\" has ended; open it again.",
                    details: ["session": .string(key.identifier)])
            }
            guard change(&session.pause) else { return session }
            try transaction.updateSession(session)
            _ = try transaction.append(EventRecord(time: now.wall, type: event, session: key))
            return session
        }
    }

    /// Stores a change of a session and notes its clock within the transaction. One thread runs all transactions, so
    /// the noted clock is that of the last commit, even if many clients change the session at once.
    func notingClock(
        of key: SessionKey, _ change: @escaping @Sendable (StoreTransaction) throws -> SessionRecord
    ) async throws -> SessionRecord {
        let clocks = transitions.clocks
        do {
            return try await store.write { transaction in
                let session = try change(transaction)
                clocks.note(session)
                return session
            }
        } catch {
            // The commit may have failed after the note. Noting again in a write is safe, because every commit in
            // between notes its own clock.
            _ = try? await store.write { try $0.session(key).map(clocks.note) }
            throw error
        }
    }

    /// Queues again the tasks that were claimed before the session was paused.
    private func stopRuns(of key: SessionKey) async throws {
        let running = TaskQuery(owner: key.owner, session: key.identifier, states: [.running])
        try await store.forEachPage {
            try $0.select(running, after: $1, limit: 256)
        } do: { ids in
            for run in ids.compactMap({ runs[$0] }) where run.losesByStop {
                logger.warning(
                    "stops with its session, and begins again from 0 later", metadata: ["task": "\(run.task)"])
            }
            try await stops.stopping(ids) { [transitions] in
                try await store.write { transaction in
                    for id in ids {
                        guard let record = try transaction.task(id), record.status.state == .running else { continue }
                        // The session may have been resumed meanwhile. Then the task is claimed again.
                        _ = try transitions.apply(.preempted(.sessionPaused), to: record, in: transaction)
                    }
                }
            }
        }
    }

    /// Must be called before any task counts its time.
    /// - Parameter boot: the kernel's boot id; nil if unknown.
    func recallPauses(in boot: String? = BootName.current) async throws {
        let (now, clocks) = (time.reading(), transitions.clocks)
        try await store.write { transaction in
            let known = try transaction.pausesBoot()
            for var session in try transaction.sessions(owner: nil) where session.pause != SessionPause() {
                if session.pause.recalled(at: now, isSameBoot: known == nil || known == boot) {
                    try transaction.updateSession(session)
                }
                clocks.note(session)
            }
            if known != boot { try transaction.setPausesBoot(boot) }
        }
    }
}
