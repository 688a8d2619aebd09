import CurlEngine
import DaemonKit
import DaemonSetup
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferStore

/// One life of the daemon: the real store and the real supervision with the scripted network.
final class SimulatedDaemon: @unchecked Sendable {
    let store: TransferStore
    let supervision: Supervision
    /// The store of sessions that end with their connections.
    let volatileStore: TransferStore
    let volatileSessions: VolatileSessions
    private let volatileSupervision: Supervision
    private let slots: SharedSlots
    /// How many tasks may run beyond `mostRunning`.
    var withoutSlot: Int { slots.withoutSlot }
    let network: ScriptedNetwork
    let log: SimulatedLog
    private let launches: LaunchService
    let feed: EventFeed
    private(set) var hasStarted = false
    /// The disk failed during the start, so the daemon must be started again.
    private(set) var hasFailed = false

    static let mostRunning = 4

    /// The configuration of every life of the daemon in `world`.
    static func configuration(of world: World) throws -> Configuration {
        var arguments = DaemonArguments()
        arguments.settings["maximumConcurrentTasks"] = "\(mostRunning)"
        if let count = world.ledger.retention { arguments.settings["eventRetentionCount"] = "\(count)" }
        return try ConfigurationLoader(
            arguments: arguments, environment: ["HOME": world.folder], systemFile: world.folder + "/none"
        ).load()
    }

    private static func scheduling(_ plant: Plant?) -> SchedulingPolicy {
        var policy = SchedulingPolicy()
        if plant == .sick { (policy.firstProbe, policy.longestProbe) = (36_000, 36_000) }
        if plant == .greed { (policy.shortestTurn, policy.turn) = (86_400, 86_400) }
        return policy
    }

    init(_ world: World) throws {
        store = try TransferStore(folder: world.folder + "/state", inPlace: true)
        network = try ScriptedNetwork(world)
        let (access, pool) = (FileAccess(mode: .user), BlockingPool(width: 0))
        let configuration = try world.configuration.get()
        let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        launches = LaunchService(
            store: store, programs: world.programs, time: SystemTime(), logger: logger, isConnected: { _, _ in false },
            defaults: { configuration.settings.session })
        slots = SharedSlots(
            time: world.plant == .count ? CountingTime(network: network) : SystemTime(),
            scheduling: Self.scheduling(world.plant))
        let conditions = Conditions(
            network: NetworkMonitor(watches: false), disk: DiskMonitor(access: access, pool: pool))
        // The cache's thread and its disk are not part of this world.
        let cache = CacheKeeper(disk: nil)
        supervision = Supervision(
            store: store, engine: network, access: access, pool: pool, conditions: conditions, launches: launches,
            slots: slots, cache: cache, configuration: { configuration }, logger: logger)
        volatileStore = try TransferStore.inMemory(inPlace: true, isVolatile: true)
        let bindings = SessionBindings()
        let streams = BodyStreams(bindings: bindings)
        volatileSupervision = Supervision(
            store: volatileStore, engine: network, access: access, pool: pool, conditions: conditions,
            launches: nil, streams: streams, slots: slots, keepers: supervision.keepers, cache: cache,
            configuration: { configuration }, logger: logger)
        volatileSessions = VolatileSessions(
            services: volatileSupervision.services, streams: streams, bindings: bindings, logger: logger)
        log = SimulatedLog(store, world)
        feed = EventFeed(
            log: log, limits: world.subscribers.limits, progress: supervision.services.reader.progressSnapshot,
            progressInterval: { configuration.global.progressInterval }, bindings: bindings, logger: logger)
        store.onCommit { [unowned world, feed] in
            world.checker.committed($0)
            feed.committed($0)
        }
        volatileStore.onCommit { [unowned world, feed] in
            world.volatiles.committed($0)
            feed.committedVolatile($0)
            streams.committed($0)
        }
    }

    func apply(_ conditions: MachineConditions) {
        supervision.apply(conditions)
        volatileSupervision.apply(conditions)
    }

    func prepareForSleep() async {
        async let other: Void = volatileSupervision.prepareForSleep()
        await supervision.prepareForSleep()
        await other
    }

    func wake() {
        supervision.wake()
        volatileSupervision.wake()
    }

    func start(_ world: World) {
        Task {
            do {
                try await feed.start()
                try await supervision.recover()
                try await volatileSupervision.recover()
                apply(world.machine.conditions)
                try await supervision.start(with: [volatileSupervision])
                await launches.start()
                hasStarted = true
            } catch {
                hasFailed = world.hasDiskTrouble
                if !hasFailed { world.violate("the daemon does not start: \(error)") }
            }
        }
    }
}

/// A planted defect: for the gates of hosts, each running task makes it a minute later.
private struct CountingTime: TimeSource {
    let network: ScriptedNetwork

    func reading() -> ClockReading {
        var now = SystemTime().reading()
        now.boot += Int64(network.activeCount) * 60_000
        return now
    }
}
