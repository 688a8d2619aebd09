import CLinux
import CurlEngine
import DaemonSetup
import FileKit
import FoundationEssentials
import Glibc
import JSONRPC
import Logging
import SystemBus
import Threading
import TransferModel
import TransferRPC
import TransferStore
import UnixSignals

/// Assembles the parts, runs until a signal ends the daemon, and stops the parts in order.
package final class Daemon: Sendable {
    package static let version = Product.version

    /// The statuses that a process supervisor can distinguish; 78 is EX_CONFIG of sysexits.h: a new start would fail
    /// too, because the configuration has mistakes or a newer dld wrote the state folder.
    private enum Exit {
        static let done: Int32 = 0
        static let failed: Int32 = 1
        static let configuration: Int32 = 78
    }

    // MARK: Entry points

    /// `--check-config`: prints every mistake with its location, including mistakes in files that the configuration
    /// names. Returns 0 if there is none.
    package static func checkConfiguration(_ arguments: DaemonArguments) -> Int32 {
        do {
            let configuration = try ConfigurationLoader(
                arguments: arguments, environment: ProcessInfo.processInfo.environment
            ).tried()
            for warning in configuration.warnings { printError("warning: \(warning)") }
            let files = configuration.files
            print(
                files.isEmpty
                    ? "Good; no configuration file was found." : "\(files.joined(separator: ", ")): good.")
            return Exit.done
        } catch {
            printError("\(error)")
            return Exit.configuration
        }
    }

    /// Runs in the foreground until SIGTERM or SIGINT; returns the exit status.
    package static func run(_ arguments: DaemonArguments) async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        // Makes a write beyond the file-size limit fail instead of ending the daemon (setrlimit(2)).
        signal(SIGXFSZ, SIG_IGN)
        dld_forbid_core_dumps()
        dld_end_at_crashes()
        Footprint.prepare()
        let environment = ProcessInfo.processInfo.environment
        ListenSockets.clearEnvironment()
        let loader = ConfigurationLoader(arguments: arguments, environment: environment)
        let first: Configuration
        do {
            first = try loader.load()
        } catch {
            printError("\(error)")
            FailedStart.tell(environment, FailedStart.refusal(isSystem: arguments.system, cause: "\(error)"))
            return Exit.configuration
        }
        let log = LogDestination.standardError(
            environment: environment, level: first.settings.logLevel)
        let logger = log.logger()
        do {
            // Installed before anything is opened: from now on, a signal stops the daemon in order.
            let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
            let daemon = try await Daemon(loader, first, environment, log, logger)
            let status = try await daemon.serve(until: signals)
            log.sink.flush()
            return status
        } catch let error as ConfigurationErrors {
            printError("\(error)")
            FailedStart.tell(environment, FailedStart.refusal(isSystem: arguments.system, cause: "\(error)"))
            return Exit.configuration
        } catch {
            logger.critical("cannot run", metadata: ["error": "\(error)"])
            log.sink.flush()
            // Its sentence says what to do, and has nothing that only an administrator may see.
            let newer = (error as? TransferError).flatMap { $0.code == .stateNewer ? $0 : nil }
            FailedStart.tell(environment, newer ?? FailedStart.refusal(isSystem: arguments.system, cause: "\(error)"))
            return newer == nil ? Exit.failed : Exit.configuration
        }
    }

    private static func printError(_ text: String) {
        LogSink.standardError.write("dld: \(text)\n")
        LogSink.standardError.flush()
    }

    // MARK: Parts

    private let settings: SettingsRegistry
    private let store: TransferStore
    private let engine: CurlEngine
    private let supervision: Supervision
    /// For the tasks of volatile sessions; it works on a store in memory.
    private let volatileSupervision: Supervision
    private let volatile: VolatileSessions
    private let cache: CacheKeeper
    private let launches: LaunchService
    private let bus: SystemBus
    private let feed: EventFeed
    private let server: RPCServer
    private let listeners: Listeners
    private let notifier: Notifier
    private let watchdog: Watchdog?
    private let log: LogDestination
    private let logger: Logger

    private init(
        _ loader: ConfigurationLoader, _ first: Configuration, _ environment: [String: String],
        _ log: LogDestination, _ logger: Logger
    ) async throws {
        self.log = log
        self.logger = logger
        let isSystem = first.paths.system
        let time = SystemTime()
        notifier = Notifier(environment: environment)
        watchdog = Watchdog(environment: environment)
        let sockets = try ListenSockets(environment: environment)

        let pool = BlockingPool()
        let store: TransferStore
        do {
            try await Listeners.requireFree(first, adopted: sockets.sockets.first, pool)
            store = try TransferStore(folder: first.stateDirectory)
        } catch let error as TransferError {
            throw FailedStart.advising(
                error, stateFolder: first.stateDirectory, isSystem: isSystem, environment: environment)
        }
        self.store = store
        Self.report(store, to: logger)
        let settings = try SettingsRegistry(loader: loader, runtime: try await store.read { try $0.settings() })
        self.settings = settings
        for warning in settings.current.warnings { logger.warning("\(warning)") }
        // Ephemeral sessions are logged at debug level only.
        let quiet = log.logger(ceiling: .debug)
        let helperFolders = HelperFolders(isSystem: isSystem, home: first.paths.home)
        // A user's daemon has that user's tickets; those of the system daemon would be nobody's.
        let kerberos = Kerberos(hasTickets: !isSystem)
        engine = try CurlEngine(
            CurlEngine.Configuration(
                journalPath: first.stateDirectory + "/offsets.journal",
                userAgent: first.userAgent,
                trace: EngineTrace(isWanted: { log.level <= .trace }) { task, kind, line in
                    logger.trace("\(TraceLine.masked(kind, line))", metadata: ["task": "\(task)", "curl": "\(kind)"])
                },
                helpers: HelperPool(folders: helperFolders, environment: environment, logger: logger, quiet: quiet),
                kerberos: kerberos))

        let access = FileAccess(
            mode: isSystem ? .system(root: first.stateDirectory + "/files") : .user, stateFolder: first.stateDirectory)
        if isSystem {
            Self.report(PathsBeneath.available, to: logger)
            if geteuid() == 0 {
                logger.warning("the system daemon runs as root: give it a user of its own, as dld.service does")
            }
        }
        let runner = LaunchRunner(
            mode: isSystem ? .system(allowedUnits: Set(first.settings.allowedUnits)) : .user,
            environment: environment, socket: sockets.sockets.first?.path ?? first.socket)
        // Launches begin before the feed exists.
        let connected = Guarded<EventFeed?>(nil)
        launches = LaunchService(
            store: store, programs: runner, time: time, logger: logger,
            isConnected: { name, owner in connected.withLock { $0 }?.isConnected(name, owner: owner) ?? false },
            defaults: { settings.current.settings.session })
        let bus = SystemBus(logger: logger)
        self.bus = bus
        let slots = SharedSlots(time: time) { bus.keepAwake($0 && settings.current.global.keepsAwake) }
        let exchanges = engine
        let (network, disk) = (NetworkMonitor(), DiskMonitor(access: access, pool: pool))
        let cache = CacheKeeper(
            disk: CacheStore(
                path: first.stateDirectory + "/cache", ownersMost: Bounds.cacheDiskOfOwner, boot: BootName.current
            ) {
                logger.warning("the cache begins empty", metadata: ["cause": "\($0)"])
            }, userAgent: first.userAgent)
        self.cache = cache
        let helper =
            isSystem
            ? nil
            : CredentialHelper(environment: environment, logger: logger) { settings.current.settings.credentialHelper }
        let keepers = Keepers(store: store, helper: helper, kerberos: kerberos, logger: logger, time: time)
        func makeSupervision(
            of store: TransferStore, _ launches: LaunchService?, streams: BodyStreams? = nil, _ logger: Logger
        ) -> Supervision {
            Supervision(
                store: store, engine: exchanges, access: access, pool: pool,
                conditions: Conditions(network: network, disk: disk), launches: launches, streams: streams,
                slots: slots, keepers: keepers, cache: cache, helpers: helperFolders,
                configuration: { settings.current }, time: time, logger: logger)
        }
        let supervision = makeSupervision(of: store, launches, logger)
        self.supervision = supervision
        let inMemory = try TransferStore.inMemory(
            isVolatile: true, from: try await store.write { try $0.nextVolatileIDs() })
        let bindings = SessionBindings()
        let streams = BodyStreams(bindings: bindings)
        let volatileSupervision = makeSupervision(of: inMemory, nil, streams: streams, quiet)
        self.volatileSupervision = volatileSupervision
        let volatile = VolatileSessions(
            services: volatileSupervision.services, streams: streams, bindings: bindings, logger: quiet)
        self.volatile = volatile
        let feed = EventFeed(
            log: store,
            progress: {
                supervision.services.reader.progressSnapshot() + volatileSupervision.services.reader.progressSnapshot()
            },
            progressInterval: { settings.current.global.progressInterval }, bindings: bindings, logger: logger)
        self.feed = feed
        connected.withLock { $0 = feed }
        let ends = EndCounts()
        // Weak: the store keeps the closures that it calls at its commits.
        let footprint = Footprint { [weak store] in
            store?.releaseMemory()
            try? await Task.sleep(for: .milliseconds(100))
            Footprint.shrink()
        }
        store.onCommit { [weak keepers, weak rates = supervision.rates] events in
            keepers?.follow(events, isVolatile: false)
            rates?.follow(events)
            ends.follow(events)
            feed.committed(events)
            footprint.note(events: events.count)
        }
        inMemory.onCommit { [weak keepers, weak rates = volatileSupervision.rates] events in
            rates?.follow(events)
            ends.follow(events)
            keepers?.follow(events, isVolatile: true)
            feed.committedVolatile(events)
            streams.committed(events)
        }
        try await feed.start()
        try await supervision.recover()
        try await volatileSupervision.recover()

        let listening = Guarded<[String]>([])
        let services = Services(
            durable: supervision.services, volatile: volatile, keepers: keepers, cache: cache, feed: feed,
            settings: SettingsService(registry: settings, store: store, time: time, pool: pool, logger: logger) {
                supervision.settingsChanged()
                volatileSupervision.settingsChanged()
            },
            facts: DaemonFacts(
                version: Self.version, mode: isSystem ? .system : .user, sockets: { listening.withLock { $0 } },
                stateDirectory: first.stateDirectory, startedAt: time.reading(),
                libcurl: CurlEngine.versionInfo().version, sqlite: TransferStore.sqliteVersion,
                schemes: { await pool.run { helperFolders.available() } },
                conditions: { supervision.conditions }, answers: engine.answers),
            ends: ends,
            userFolder: UserFolders(access: access, pool: pool).folder)
        let peers = PeerDirectory(adminGroup: isSystem ? first.settings.adminGroup : nil, time: time)
        let descriptors = DescriptorWatch(logger: logger)
        server = RPCServer(
            limits: RPCLimits(first.settings), handler: RequestRouter(services: services, peers: peers, logger: logger)
        ) { descriptors.failed(errno: $0) }
        let adopted = sockets.sockets.first
        do {
            listeners = try await Listeners(
                try ListeningPlaces(first, adopted: adopted), adopted: adopted?.descriptor, server: server,
                store: store,
                pool: pool, logger: logger
            ) { paths in
                listening.withLock { $0 = paths }
                store.note(sockets: paths)
            }
        } catch {
            await server.stop()
            throw error
        }
    }

    private var places: String { listeners.paths.joined(separator: ", ") }

    // MARK: Life

    /// Runs until a signal or the loss of the state folder ends the daemon. Returns the exit status.
    private func serve(until signals: UnixSignalsSequence) async throws -> Int32 {
        await watchMachine()
        try await supervision.start(with: [volatileSupervision])
        await launches.start()
        logger.notice(
            "ready",
            metadata: [
                "version": "\(Self.version)", "socket": "\(places)",
                "state": "\(settings.current.stateDirectory)", "pid": "\(getpid())",
            ])
        notifier.ready(status: "Serving \(places)")
        Footprint.shrink()
        let heartbeat = Task { await beat() }
        let logging = Task { [log] in
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.logInterval)
                log.writeDue()
            }
        }
        let status = await waitForEnd(signals)
        heartbeat.cancel()
        logging.cancel()
        await stop()
        return supervision.hasGivenUp ? Exit.failed : status
    }

    /// Tells both supervisions what the services of the machine say. Returns when the first conditions are known, so
    /// that no task begins under others.
    private func watchMachine() async {
        let (durable, volatile) = (supervision, volatileSupervision)
        await bus.start(
            telling: SystemBus.Observer(
                conditions: { conditions in
                    durable.apply(conditions)
                    volatile.apply(conditions)
                },
                sleep: {
                    async let other: Void = volatile.prepareForSleep()
                    await durable.prepareForSleep()
                    await other
                },
                wake: {
                    durable.wake()
                    volatile.wake()
                }))
    }

    /// The longest delay before the log reports the end of a storm of similar lines.
    private static let logInterval = Duration.seconds(30)

    /// Keeps the sockets in place meanwhile. Returns the exit status.
    private func waitForEnd(_ signals: UnixSignalsSequence) async -> Int32 {
        let (words, continuation) = AsyncStream.makeStream(of: Result<UnixSignal, TransferError>.self)
        let hearing = Task { for await signal in signals { continuation.yield(.success(signal)) } }
        let tending = Task { if let loss = await listeners.tend() { continuation.yield(.failure(loss)) } }
        var status = Exit.done
        loop: for await word in words {
            switch word {
            case .success(.sighup): reload()
            case .success(let signal):
                logger.notice("stopping", metadata: ["signal": "\(signal)"])
                break loop
            case .failure(let loss):
                logger.critical("stopping", metadata: ["error": "\(loss.message)"])
                status = Exit.failed
                break loop
            }
        }
        hearing.cancel()
        listeners.stop()
        await tending.value
        return status
    }

    /// Gives up the sockets' names first, because a daemon that starts meanwhile needs them.
    private func stop() async {
        notifier.stopping(status: "Writing checkpoints")
        bus.stop()
        await server.stopAccepting()
        await volatile.stop(atMost: .milliseconds(500))
        await supervision.stop()
        await volatileSupervision.stop()
        await engine.shutdown()
        await cache.close()
        feed.stop()
        await server.stop()
        supervision.keepers.flush()
        store.close()
        supervision.tellOfUnstored()
        volatileSupervision.store.close()
        log.writeLast()
        logger.notice("stopped")
    }

    /// Sends the watchdog signal to the service manager. It stops if the network thread or the cooperative pool hangs.
    private func beat() async {
        guard let watchdog else { return }
        while !Task.isCancelled {
            if await engine.isResponsive(within: watchdog.interval.duration) { notifier.watchdog() }
            try? await Task.sleep(for: watchdog.interval.duration)
        }
    }

    /// SIGHUP: reads the files again, applies what can change at run time, and logs what needs a restart.
    private func reload() {
        notifier.reloading()
        do {
            let outcome = try settings.reload()
            log.level = settings.current.settings.logLevel
            supervision.settingsChanged()
            volatileSupervision.settingsChanged()
            logger.notice("reloaded", metadata: ["applied": "\(outcome.applied.joined(separator: ","))"])
            if !outcome.needsRestart.isEmpty {
                logger.warning(
                    "changed in the configuration, but in force only after a restart",
                    metadata: ["settings": "\(outcome.needsRestart.joined(separator: ","))"])
            }
            if !outcome.hidden.isEmpty {
                logger.warning(
                    "changed in the configuration, but hidden by a value set at run time; dlctl settings NAME=default drops that",
                    metadata: ["settings": "\(outcome.hidden.joined(separator: ","))"])
            }
        } catch {
            logger.error("configuration not reloaded; the old one stays in force", metadata: ["error": "\(error)"])
        }
        notifier.ready(status: "Serving \(places)")
    }
}

// MARK: - Reports

extension Daemon {
    /// Logs each problem of the state folder once.
    static func report(_ store: TransferStore, to logger: Logger) {
        let path = Logger.MetadataValue(stringLiteral: store.folderPath)
        if let mode = store.listableMode {
            logger.warning(
                "other users can list the state folder: run chmod go-r on it",
                metadata: ["state": path, "mode": "\(mode)"])
        }
        if let log = store.missingLog {
            logger.warning(
                "the last dld was killed and the database's log is gone: what was only in the log is lost",
                metadata: ["state": path, "path": "\(log)"])
        }
        store.onTrouble { news in
            switch (news.trouble, news.error) {
            case (.full, let error?):
                logger.warning(
                    "the state folder is full: adds are refused",
                    metadata: ["state": path, "error": "\(error.message)"])
            case (.unusable, let error?):
                logger.warning(
                    "the state database fails: it is tried again",
                    metadata: ["state": path, "error": "\(error.message)"])
            case (.damaged, let error?):
                logger.error(
                    "the state database is damaged", metadata: ["state": path, "error": "\(error.message)"])
            case (.damaged, nil): break
            case (.full, nil): logger.notice("the state folder has room again", metadata: ["state": path])
            case (.unusable, nil): logger.notice("the state database works again", metadata: ["state": path])
            }
        }
    }

    static func report(_ beneath: PathsBeneath, to logger: Logger) {
        switch beneath {
        case .openat2: logger.info("opens users' paths", metadata: ["by": "openat2"])
        case .walk:
            logger.notice(
                "opens users' paths component by component: this kernel or unit gives no openat2",
                metadata: ["by": "walk"])
        }
    }
}
