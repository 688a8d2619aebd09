import CurlEngine
import DaemonSetup
import Glibc
import TransferModel
import TransferRPC
import TransferStore

/// daemon.info, daemon.stats and rpc.discover.
enum DaemonHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.daemonInfo) { _, context in await Self.info(services, context.peer) }
        table.add(Methods.daemonStats) { _, context in try await Self.stats(services, context) }
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
            memory: residentMemory(), connections: context.connections, head: head,
            uptime: Seconds(Double(SystemTime().reading().boot - services.facts.startedAt.boot) / 1000),
            damage: services.durable.store.damage?.message)
        let machine = services.facts.conditions()
        (stats.isMetered, stats.isCellular) = (machine.isMetered, machine.isCellular)
        (stats.isBehindPortal, stats.isOnBattery) = (machine.isBehindPortal, machine.isOnBattery)
        return stats
    }

    /// The memory that this process holds: the second number of /proc/self/statm, which counts pages (proc(5)); 0 if it
    /// cannot be read.
    private static func residentMemory() -> ByteCount {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &buffer, buffer.count)
        let fields = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int64(fields[1]) else { return 0 }
        return ByteCount(pages * Int64(sysconf(Int32(_SC_PAGESIZE))))
    }
}
