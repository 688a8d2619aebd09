import CurlEngine
import DaemonSetup
import Glibc
import Threading
import TransferModel
import TransferRPC
import TransferStore

/// daemon.info, daemon.stats, daemon.metrics and rpc.discover.
enum DaemonHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.daemonInfo) { _, context in await Self.info(services, context.peer) }
        table.add(Methods.daemonStats) { _, context in try await Self.stats(services, context) }
        table.add(Methods.daemonMetrics) { _, context in try await Self.metrics(services, context) }
        table.add(fixed: Methods.discover) { ProtocolReference.openRPC(version: services.facts.version) }
    }

    /// What this machine has.
    private static let features = RPCCatalog.features.filter {
        $0 != RPCCatalog.kerberosFeature || Kerberos.isInstalled
    }

    private static func info(_ services: Services, _ asking: Peer) async -> DaemonInfo {
        let facts = services.facts
        let sockets = facts.sockets()
        return DaemonInfo(
            name: "dld", version: facts.version, protocol: RPCCatalog.protocolVersion, pid: getpid(),
            uid: UserID(getuid()), mode: facts.mode,
            administrator: facts.mode == .system ? asking.isAdmin : nil, socket: sockets.first ?? "", sockets: sockets,
            stateDirectory: facts.stateDirectory, userDirectory: await services.userFolder(asking.uid),
            startedAt: facts.startedAt.wall, libcurl: facts.libcurl, sqlite: facts.sqlite,
            schemes: await facts.schemes(), features: features,
            damage: services.durable.store.damage?.message)
    }

    private static func stats(_ services: Services, _ context: RequestContext) async throws -> DaemonStats {
        let owner = context.peer.isAdmin ? nil : context.peer.uid
        let (durable, head) = try await services.durable.store.read {
            (try $0.counts(owner: owner), try $0.eventHead())
        }
        var counts = durable
        let own = services.volatile.own(context, in: .user(context.peer.uid)).map {
            SessionKey(owner: context.peer.uid, identifier: $0)
        }
        if !own.isEmpty {
            let volatile = try await services.volatile.services.store.read { snapshot in
                try own.map { try snapshot.counts(session: $0) }
            }
            for ofSession in volatile { counts.merge(ofSession, uniquingKeysWith: +) }
        }
        let readers = [services.durable.reader, services.volatile.services.reader]
        let throughput = readers.map { $0.throughput() }.reduce(Throughput(), +)
        let active = readers.flatMap { $0.progressSnapshot() }.count { owner == nil || $0.session.owner == owner }
        var stats = DaemonStats(
            tasks: [TaskState: Int].byName(counts), activeTransfers: active,
            downloadRate: ByteRate(throughput.downloadRate), uploadRate: ByteRate(throughput.uploadRate),
            bytesReceived: ByteCount(throughput.bytesReceived), bytesSent: ByteCount(throughput.bytesSent),
            memory: ProcessFigures.residentMemory ?? 0, connections: context.connections, head: head,
            uptime: Seconds(Double(SystemTime().reading().boot - services.facts.startedAt.boot) / 1000),
            damage: services.durable.store.damage?.message)
        let machine = services.facts.conditions()
        (stats.isMetered, stats.isCellular) = (machine.isMetered, machine.isCellular)
        (stats.isBehindPortal, stats.isOnBattery) = (machine.isBehindPortal, machine.isOnBattery)
        return stats
    }

    private static func metrics(_ services: Services, _ context: RequestContext) async throws -> DaemonMetrics {
        let owner = context.peer.isAdmin ? nil : context.peer.uid
        var (census, waiting) = try await services.durable.store.read {
            (try $0.census(owner: owner), try $0.waiting(owner: owner))
        }
        let own = services.volatile.own(context, in: .user(context.peer.uid))
        if !own.isEmpty {
            let uid = context.peer.uid
            let volatile = try await services.volatile.services.store.read {
                (try $0.census(owner: uid, sessions: own), try $0.waiting(owner: uid, sessions: own))
            }
            census.merge(volatile.0) { $0.merging($1, uniquingKeysWith: +) }
            waiting.merge(volatile.1, uniquingKeysWith: +)
        }
        var metrics = DaemonMetrics()
        metrics.tasks = TaskState.allCases.flatMap { state in
            TaskKind.allCases.map { DaemonMetrics.Group(state: state, kind: $0, count: census[$0]?[state] ?? 0) }
        }
        metrics.waiting = [WaitReason: Int].byName(waiting)
        metrics.finished = services.ends.current.map { end, count in
            DaemonMetrics.End(kind: end.kind, outcome: end.outcome, code: end.code, count: count)
        }.sorted {
            ($0.kind.rawValue, $0.outcome.rawValue, $0.code ?? "") < (
                $1.kind.rawValue, $1.outcome.rawValue, $1.code ?? ""
            )
        }
        metrics.responses = Dictionary(
            uniqueKeysWithValues: services.facts.answers.current.enumerated().map { ("\($0 + 1)xx", $1) })
        metrics.storeCommits = DaemonMetrics.Histogram(services.durable.store.commitDurations)
        metrics.fileSyncs = DaemonMetrics.Histogram(Durations.fileSyncs.current)
        metrics.subscriberLag = services.feed.furthestLag
        (metrics.cpuTime, metrics.openDescriptors) = (ProcessFigures.processorTime, ProcessFigures.openDescriptors)
        return metrics
    }
}

extension DaemonMetrics.Histogram {
    init(_ counts: Durations.Counts) {
        var sum = 0
        let buckets = zip(Durations.bounds, counts.calls).map { bound, count in
            sum += count
            return Bucket(le: bound, count: sum)
        }
        self.init(
            buckets: buckets, sum: Seconds(Double(counts.nanoseconds) / 1e9), count: counts.calls.reduce(0, +))
    }
}
