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
            logger.warning("cannot look at waiting tasks", metadata: ["error": "\(error)"])
        }
    }

    /// How an attempt ended, as the monitor sees it: it would release a task that waits for a disk which looks well at once,
    /// and again with each look.
    func adjusted(_ ending: AttemptEnding, of id: TaskID) async -> AttemptEnding {
        guard ending.waitsForDisk, let record = try? await store.read({ try $0.task(id) }), let need = need(of: record),
            await conditions.disk.check(need, minimumFree: configuration().global.minimumFreeSpace) == .ready
        else { return ending }
        return ending.withReadyDisk
    }

    private func need(of record: TaskRecord) -> DiskNeed? {
        guard let plan = try? DestinationPlan(record.spec.destination, directory: nil) else { return nil }
        return DiskNeed(
            plan: plan, owner: record.session.owner, device: record.destinationDevice,
            remaining: record.checkpoint.flatMap { held in held.total.map { $0 - held.held } },
            partName: record.checkpoint.map { TransferFiles.lastComponent($0.partPath) })
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
                logger.warning("cannot wake tasks that wait for the network", metadata: ["error": "\(error)"])
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
