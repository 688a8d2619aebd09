import DaemonSetup
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Starts a session's program if its subscriber has unseen final events or open questions and no connection
/// (`sendsLaunchEvents`), and looks again as long as that holds.
///
/// The start time and the process are stored before the process becomes the program. Therefore another daemon does not
/// start the program earlier than this one would, nor a second time while it runs. docs/services.md has the rules.
package actor LaunchService {
    private let store: TransferStore
    private let programs: any ProgramStarting
    private let time: any TimeSource
    private let logger: Logger
    private let isConnected: @Sendable (_ subscriber: String, _ owner: UserID) -> Bool
    private let defaults: @Sendable () -> SessionDefaults
    private let unseen: @Sendable (SessionKey, _ subscriber: String) async throws -> Int
    private let sleep: @Sendable (Seconds) async -> Void
    /// Sessions with a look that has been requested but has not begun. Many tasks may end before it begins.
    private let asked = Guarded<Set<SessionKey>>([])
    /// Sessions with a look in progress. The value is true if something ended meanwhile that the look may have missed.
    private var looks: [SessionKey: Bool] = [:]
    /// One timer for each session that must be looked at later, however many of its tasks end.
    /// `due` is in milliseconds of the boot clock.
    private var timers: [SessionKey: (due: Int64, task: Task<Void, Never>)] = [:]

    /// Programs that this daemon started, with their sessions' owners, until their end is stored.
    private var begun: [ProgramIdentity: UserID] = [:]

    /// How long to wait before checking whether a program still runs. Only the end of a program that this daemon
    /// started is reported at once.
    private static let longestRest: Seconds = 60

    /// - Parameters:
    ///   - defaults: the `launchInterval` of sessions that set none.
    ///   - unseen: returns how many final events or open questions the subscriber has not acknowledged; nil to read
    ///   that from the store.
    package init(
        store: TransferStore, programs: any ProgramStarting, time: any TimeSource, logger: Logger,
        isConnected: @escaping @Sendable (_ subscriber: String, _ owner: UserID) -> Bool,
        defaults: @escaping @Sendable () -> SessionDefaults,
        unseen: (@Sendable (SessionKey, _ subscriber: String) async throws -> Int)? = nil,
        sleep: @escaping @Sendable (Seconds) async -> Void = { try? await Task.sleep(for: $0.duration) }
    ) {
        self.store = store
        self.programs = programs
        self.time = time
        self.logger = logger
        self.isConnected = isConnected
        self.defaults = defaults
        if let unseen {
            self.unseen = unseen
        } else {
            self.unseen = { key, subscriber in
                try await store.read { snapshot in
                    let ended = try snapshot.unacknowledgedFinalEvents(key, subscriber: subscriber)
                    return try ended > 0 ? ended : snapshot.unacknowledgedQuestions(key, subscriber: subscriber)
                }
            }
        }
        self.sleep = sleep
    }

    /// - Throws: `request.bad_field`, `permission.denied`.
    nonisolated func check(_ configuration: SessionConfiguration) throws(TransferError) {
        if let launch = configuration.launch { try programs.validate(launch) }
        guard configuration.sendsLaunchEvents == true else { return }
        guard configuration.subscriber?.isEmpty == false else {
            throw TransferError.bad(
                "configuration.subscriber", "missing; name the subscriber whose events are to be seen.")
        }
        guard configuration.launch != nil else {
            throw TransferError.bad("configuration.launch", "missing; say a unit or an argv.")
        }
    }

    /// Starts the session's program if necessary: a task of the session has ended or asks a question, or the session has
    /// changed. Returns at once.
    nonisolated func look(at session: SessionKey) {
        if asked.withLock({ $0.insert(session).inserted }) { Task { await consider(session) } }
    }

    /// Looks at every session once, because the last daemon may have left unseen events.
    package func start() async {
        let sessions = (try? await store.read { try $0.sessions(owner: nil) }) ?? []
        for session in sessions where session.configuration.sendsLaunchEvents == true {
            await consider(session.key)
        }
    }

    /// Tells whether a look is in progress.
    var isLooking: Bool { !looks.isEmpty }

    /// Tells whether no look is in progress and the end of every started program is stored.
    var isIdle: Bool { looks.isEmpty && begun.isEmpty }

    func consider(_ key: SessionKey) async {
        asked.withLock { _ = $0.remove(key) }
        guard looks[key] == nil else {
            looks[key] = true
            return
        }
        var next: Seconds?
        repeat {
            looks[key] = false
            next = await attempt(key)
        } while looks[key] == true
        looks[key] = nil
        if let next { lookAgain(at: key, after: next) }
    }

    /// An earlier look replaces a later one.
    private func lookAgain(at key: SessionKey, after interval: Seconds) {
        let due = time.reading().boot + interval.milliseconds
        if let timer = timers[key] {
            guard due < timer.due else { return }
            timer.task.cancel()
        }
        let task = Task { [weak self, sleep] in
            await sleep(interval)
            if !Task.isCancelled { await self?.wake(key) }
        }
        timers[key] = (due, task)
    }

    private func wake(_ key: SessionKey) async {
        timers[key] = nil
        await consider(key)
    }

    /// Starts the program if necessary. Returns when to look again.
    private func attempt(_ key: SessionKey) async -> Seconds? {
        do {
            let (found, last) = try await store.read { snapshot -> (SessionRecord?, LaunchRecord?) in
                let session = try snapshot.session(key)
                guard session?.configuration.sendsLaunchEvents == true else { return (nil, nil) }
                return (session, try snapshot.launch(key))
            }
            guard let session = found, let launch = session.configuration.launch,
                let subscriber = session.configuration.subscriber
            else { return nil }
            guard try await unseen(key, subscriber) > 0 else { return nil }
            let interval = max(session.configuration.launchInterval ?? defaults().launchInterval, 1)
            if let program = last?.program, begun[program] != nil || programs.isRunning(program) {
                return min(interval, Self.longestRest)
            }
            let now = time.reading().wall
            if let last {
                let wait = LaunchPace.wait(
                    startedAt: last.startedAt, interval: interval, failures: last.failures, now: now)
                guard wait <= 0 else { return wait }
            }
            guard !isConnected(subscriber, key.owner), hasRoom(for: key.owner) else { return interval }
            let failures = last?.failures ?? 0
            let hasStarted = try await start(launch, for: key, subscriber, at: now, failures: failures)
            return LaunchPace.delay(interval: interval, failures: hasStarted ? failures : failures + 1)
        } catch {
            logger.retried("cannot decide on a launch", error, ["session": "\(key)"])
            return 60
        }
    }

    /// Each running program takes one or two processes and a thread.
    private func hasRoom(for owner: UserID) -> Bool {
        begun.count < Bounds.launches && begun.values.count { $0 == owner } < Bounds.launchesOfUser
    }

    /// - Returns: whether there is a process.
    /// - Throws: if the start cannot be stored. Then the program does not start.
    private func start(
        _ launch: LaunchSpec, for key: SessionKey, _ subscriber: String, at now: Timestamp, failures: Int
    ) async throws -> Bool {
        var record = LaunchRecord(startedAt: now, failures: failures)
        let process: any PreparedProgram
        do {
            process = try programs.prepare(launch, for: key, subscriber: subscriber)
        } catch {
            record.failures += 1
            let failed = record
            try await store.write { try $0.setLaunch(failed, of: key) }
            logger.warning(
                "cannot launch",
                metadata: ["session": "\(key)", "failures": "\(failed.failures)", "error": "\(error.message)"])
            return false
        }
        let program = process.identity
        record.program = program
        begun[program] = key.owner
        do {
            let started = record
            try await store.write { try $0.setLaunch(started, of: key) }
        } catch {
            begun[program] = nil
            process.abandon()
            throw error
        }
        process.begin { [weak self] status in
            Task { await self?.ended(program, status, of: key) }
        }
        logger.info(
            "launched",
            metadata: [
                "session": "\(key)", "command": "\(launch.unit ?? launch.argv?.first ?? "")", "pid": "\(program.pid)",
            ])
        return true
    }

    private func ended(_ program: ProgramIdentity, _ status: Int32, of key: SessionKey) async {
        do {
            let failures: Int? = try await store.write { transaction in
                guard var record = try transaction.launch(key), record.program == program else { return nil }
                record.program = nil
                record.failures = status == 0 ? 0 : record.failures + 1
                try transaction.setLaunch(record, of: key)
                return record.failures
            }
            var note: Logger.Metadata = ["session": "\(key)", "pid": "\(program.pid)", "status": "\(status)"]
            if status == 0 {
                logger.debug("launched program ended", metadata: note)
            } else {
                note["failures"] = failures.map { "\($0)" }
                logger.warning("launched program failed", metadata: note)
            }
        } catch {
            // The next look finds that the process is gone.
            logger.debug("cannot note the end of a program", metadata: ["session": "\(key)", "error": "\(error)"])
        }
        begun[program] = nil
        await consider(key)
    }
}
