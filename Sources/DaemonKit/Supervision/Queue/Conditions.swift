import FileKit
import Synchronization
import TransferCore
import TransferModel

/// What waiting tasks wait for outside the daemon: the network and the disk, as the monitors see them.
package final class Conditions: Sendable {
    let network: NetworkMonitor
    let disk: DiskMonitor
    private let mayHaveDiskWaiters = Atomic<Bool>(true)

    package init(network: NetworkMonitor, disk: DiskMonitor) {
        self.network = network
        self.disk = disk
    }

    /// Whether some task may wait for the disk, which nothing but asking tells about.
    var needsPolling: Bool { mayHaveDiskWaiters.load(ordering: .relaxed) }
    func set(needsPolling: Bool) { mayHaveDiskWaiters.store(needsPolling, ordering: .relaxed) }

    /// A connection that failed while no network leads to the host waits for the network, not for a back-off.
    /// - Parameter host: name or address the connection goes to; nil where a proxy stands between.
    func adjusted(_ failure: AttemptFailure, for host: String?) -> AttemptFailure {
        let adjusted = failure.withoutNetwork
        guard let host, adjusted != failure, !network.isReachable(host: host) else { return failure }
        return adjusted
    }
}

extension Supervisor {
    /// Takes the store's reserve back where there is room for it.
    func restoreReserve() {
        if store.isStorageLow, store.restoreReserve() { kick() }
    }

    /// Queues the tasks whose disk is back or has room again.
    func pollDisks() async {
        guard conditions.needsPolling else { return }
        conditions.set(needsPolling: false)
        do {
            var last: TaskID?
            while true {
                let after = last
                let records = try await store.read { try $0.waiting(reason: .disk, after: after, limit: 500) }
                guard let end = records.last else { break }
                conditions.set(needsPolling: true)
                let waiting = records.compactMap { record in need(of: record).map { (id: record.id, need: $0) } }
                let ready = await conditions.disk.ready(
                    among: waiting, minimumFree: configuration().global.minimumFreeSpace)
                try await clear(ready)
                if !ready.isEmpty { kick() }
                last = end.id
            }
        } catch {
            conditions.set(needsPolling: true)
            logger.retried("cannot look at waiting tasks", error)
        }
    }

    /// How an attempt ended, as the monitor sees it: it would release a task that waits for a disk which looks well at once,
    /// and again with each look.
    func adjusted(_ ending: AttemptEnding, of id: TaskID) async -> AttemptEnding {
        guard ending.waitsForDisk, let record = try? await store.read({ try $0.task(id) }),
            let need = need(of: record, ending.diskError)
        else { return ending }
        switch await conditions.disk.check(need, minimumFree: configuration().global.minimumFreeSpace) {
        case .ready: return ending.withReadyDisk
        case .notYet(let cause): return ending.explained(by: cause)
        }
    }

    /// - Parameter error: what the task waits for; its own where nil.
    func need(of record: TaskRecord, _ error: TransferError? = nil) -> DiskNeed? {
        guard let plan = try? DestinationPlan(record.spec.destination, directory: nil) else { return nil }
        return DiskNeed(
            plan: plan, owner: record.session.owner, device: record.destinationDevice,
            remaining: unfolded(error ?? record.status.error)
                ?? record.checkpoint.flatMap { held in held.total.map { $0 - held.held } } ?? announced(record),
            partName: record.checkpoint.map { TransferFiles.lastComponent($0.partPath) })
    }

    /// What a coded file takes that is here already.
    private func unfolded(_ error: TransferError?) -> ByteCount? {
        error?.details[ContentDecoding.neededMember]?.integerValue.map { ByteCount($0) }
    }

    /// What the server said of a file of which nothing is held.
    private func announced(_ record: TaskRecord) -> ByteCount? {
        guard record.checkpoint == nil, let length = record.response?.expectedLength, length > 0 else { return nil }
        return ByteCount(length)
    }

    /// Follows the network until it is cancelled: what waits for it goes on, what lost it waits.
    func followNetwork() async {
        for await state in conditions.network.changes {
            logger.notice("network", metadata: ["state": "\(state.isUp ? "up" : "changed")"])
            for run in runs.all {
                guard let host = run.directHost, !state.isReachable(host: host) else { continue }
                let next = time.reading().wall.advanced(by: TaskMachine.recheckDelay)
                let error = TransferError(.networkLost, "No network leads to \(host) now.")
                run.requestAbort(.transition(.blocked(.network, error, nextAttemptAt: next)))
            }
            do {
                let known = try await store.read { try $0.sessions(owner: nil) }
                let sessions = Dictionary(known.map { ($0.key, $0) }) { first, _ in first }
                let now = time.reading().wall
                try await clear(.network) { [self] record in
                    let session = sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now)
                    guard let host = directHost(of: record, in: session) else { return state.isUp }
                    return state.isReachable(host: host)
                }
            } catch {
                logger.retried("cannot wake tasks that wait for the network", error)
            }
        }
    }

    /// Follows the files that say how names are resolved: tasks whose host had no address are tried at once.
    func followResolver(_ dispatcher: Dispatcher) async {
        for await _ in conditions.network.resolverChanges {
            do {
                var last: TaskID?
                var count = 0
                // The first task of each host is the one that tries it.
                var tried: Set<HostGates.Scope> = []
                while true {
                    let after = last
                    let waiting = try await store.read { try $0.waiting(error: .networkDNS, after: after, limit: 500) }
                    guard let end = waiting.last else { break }
                    for task in waiting where tried.insert(.init(host: task.host, owner: task.owner)).inserted {
                        _ = dispatcher.tryNow(task.id, host: task.host, owner: task.owner)
                    }
                    try await clear(waiting.map(\.id))
                    count += waiting.count
                    last = end.id
                }
                logger.notice(
                    "name resolution has changed; tasks without an address are tried", metadata: ["tried": "\(count)"])
                kick()
            } catch {
                logger.retried("cannot wake tasks whose host had no address", error)
            }
        }
    }

    /// Host that a task connects to; nil where it has none, or a proxy is named by the task, its session or the settings.
    func directHost(of record: TaskRecord, in session: SessionRecord) -> String? {
        Self.directHost(of: record, proxy: policy(of: record, in: session).network.proxy)
    }

    /// - Parameter proxy: as in `NetworkOptions`. Where it is nil, libcurl alone knows whether it takes one from the
    ///   environment, and the task counts as without.
    static func directHost(of record: TaskRecord, proxy: String?) -> String? {
        if let proxy, !proxy.isEmpty { return nil }
        guard let url = try? URLRules.parse(record.spec.url ?? ""), !url.host.isEmpty else { return nil }
        return url.host
    }
}
