import DaemonSetup
import FoundationEssentials
import Glibc
import Logging
import Threading
import TransferModel
import UnixSignals

/// Carries out what `NodeMachine` decides: one loop hears of the database, of dld and of the manager, and passes on what
/// is to be done.
final class NodeService: Sendable {
    private enum News: Sendable {
        case input(Input)
        case database(generation: Int)
        case dld([LocalTask], LocalDaemon.Connection)
        case failed(Failure)
    }

    private let settings: FleetSettings
    private let node: Guarded<NodeSettings>
    private let log: LogDestination
    private let logger: Logger
    private let notifier: Notifier
    private let watchdog: Watchdog?
    private let news = ConditionLock<[News]>([])
    /// What the manager was told last; nil before the node is registered.
    private let status = Guarded<String?>(nil)

    /// The boot clock.
    static var now: Duration { .milliseconds(SystemTime().reading().boot) }

    /// Works until SIGTERM or SIGINT; SIGHUP reads the settings again.
    /// - Throws: `Failure`: 4 if another works in the state folder or under the name, 76 if schema and program do not fit.
    static func run(_ settings: FleetSettings, reload: @escaping @Sendable () throws -> FleetSettings) async throws {
        let folder = try NodeFolder(settings.stateDirectory)
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
        let service = NodeService(settings)
        let database: DatabaseThreads
        do throws(DatabaseError) {
            database = try DatabaseThreads(
                settings, service.node, instance: folder.instance, version: Product.version, logger: service.logger
            ) { [service] news in
                switch news {
                case .input(let input): service.tell(.input(input))
                case .came(let generation): service.tell(.database(generation: generation))
                case .failed(let failure): service.tell(.failed(failure))
                }
            }
        } catch {
            throw Failure(error)
        }
        let dld = LocalDaemon(settings.sockets, service.node, logger: service.logger) { [service] news in
            switch news {
            case .input(let input): service.tell(.input(input))
            case .came(let tasks, let connection): service.tell(.dld(tasks, connection))
            }
        }
        let following = Task { await dld.follow() }
        let hearing = Task { for await signal in signals { service.heard(signal, reload) } }
        let failure = await withCheckedContinuation { continuation in
            let isStarted =
                database.start()
                && NamedThread.start("fleet-node") { continuation.resume(returning: service.work(database)) }
            if !isStarted {
                continuation.resume(returning: Failure(.failed, "node.threads", "The system supplies no thread."))
            }
        }
        service.notifier.stopping(status: "Ending")
        database.stop()
        following.cancel()
        hearing.cancel()
        service.log.sink.flush()
        _ = consume folder
        if let failure { throw failure }
    }

    private init(_ settings: FleetSettings) {
        let environment = ProcessInfo.processInfo.environment
        self.settings = settings
        node = Guarded(settings.node)
        // Each end of a job has its line.
        log = LogDestination.standardError(
            environment: environment, level: settings.logLevel, program: "dld-fleet", countsRepeats: false)
        logger = log.logger(label: "dld-fleet")
        notifier = Notifier(environment: environment)
        watchdog = Watchdog(environment: environment)
    }

    private func tell(_ item: News) {
        news.withLock { $0.append(item) }
        news.broadcast()
    }

    private func heard(_ signal: UnixSignal, _ reload: () throws -> FleetSettings) {
        guard signal == .sighup else { return tell(.input(.terminate)) }
        let status = status.withLock { $0 }
        if status != nil { notifier.reloading() }
        do {
            let new = try reload()
            var changed = new.node
            changed.name = node.withLock { $0.name }
            node.withLock { [changed] in $0 = changed }
            var logger = logger
            logger.logLevel = new.logLevel
            tell(.input(.settings(changed)))
            logger.notice("The settings were read again.")
        } catch {
            logger.error(
                "The settings have mistakes, so the old ones stay.",
                metadata: ["error": "\((error as? Failure)?.message ?? "\(error)")"])
        }
        if let status { notifier.ready(status: status) }
    }

    /// The loop, on a thread of its own.
    /// - Returns: why the node ends, unless somebody asked for it.
    private func work(_ database: DatabaseThreads) -> Failure? {
        var machine = NodeMachine(settings: settings.node, at: Self.now)
        var generation = 0
        var connection: LocalDaemon.Connection?
        let sign = watchdog.map { Duration.seconds($0.interval.rawValue) } ?? .seconds(60)
        var signedAt = Self.now
        while true {
            let sleep = signedAt + sign - Self.now
            let pause = min(machine.wakesAt.map { $0 - Self.now } ?? sleep, sleep)
            var items =
                news.wait(milliseconds: max(1, Int(pause / .milliseconds(1)))) { items -> [News]? in
                    defer { items = [] }
                    return items.isEmpty ? nil : items
                } ?? []
            if items.isEmpty { items = [.input(.tick)] }
            if Self.now - signedAt >= sign {
                signedAt = Self.now
                if watchdog != nil { notifier.watchdog() }
            }
            for item in items {
                let input: Input
                switch item {
                case .failed(let failure): return failure
                case .input(let known): input = known
                case .database(let number): (generation, input) = (number, .databaseCame)
                case .dld(let tasks, let made): (connection, input) = (made, .dldCame(tasks))
                }
                for effect in machine.handle(input, at: Self.now, random: .random(in: 0..<1)) {
                    if case .exit = effect { return nil }
                    perform(effect, database, generation, connection)
                }
            }
        }
    }

    private func perform(
        _ effect: Effect, _ database: DatabaseThreads, _ generation: Int, _ connection: LocalDaemon.Connection?
    ) {
        switch effect {
        case .claim, .leases, .renew, .finish, .release, .register:
            database.perform(effect, generation: generation)
        case .add, .stop, .collect, .inspect, .pause, .resume, .discard, .follow, .list, .openSession, .acknowledge:
            connection?.send(effect)
        case .ready:
            status.withLock { $0 = "Works" }
            notifier.ready(status: "Works")
        case .status(let text):
            status.withLock { if $0 != nil { $0 = text } }
            notifier.status(text)
        case .log(let line): write(line)
        case .exit: break
        }
    }

    private func write(_ line: Effect.LogLine) {
        var fields: Logger.Metadata = ["FLEET_NODE": "\(settings.node.name)"]
        if let job = line.job { (fields["FLEET_JOB"], fields["FLEET_EPOCH"]) = ("\(job.id)", "\(job.epoch)") }
        if let task = line.task { fields["task"] = "\(task)" }
        if let code = line.code { fields["code"] = "\(code)" }
        logger.log(level: line.isWarning ? .warning : .info, "\(line.text)", metadata: fields)
    }
}
