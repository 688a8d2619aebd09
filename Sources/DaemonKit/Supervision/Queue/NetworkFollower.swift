import DaemonSetup
import Logging
import TransferCore
import TransferModel
import TransferStore

/// Follows the network and the files that configure name resolution. Tasks that wait for them resume, and tasks that
/// have lost their route wait.
struct NetworkFollower: Sendable {
    let store: TransferStore
    let network: NetworkMonitor
    let runs: RunTable
    let gates: Gatekeeper
    let policies: TaskPolicies
    let waiting: WaitingTasks
    let time: any TimeSource
    let signal: SupervisionSignal
    let logger: Logger

    /// Follows the network until it is cancelled.
    /// - Parameter all: everyone to be told, because the monitor has only one consumer.
    func followNetwork(with all: [NetworkFollower]) async {
        for await state in network.changes {
            logger.notice(state.isUp ? "the network is up" : "there is no network")
            for follower in all { await follower.follow(state) }
        }
    }

    private func follow(_ state: NetworkState) async {
        for run in runs.all {
            guard let host = run.directHost, !state.isReachable(host: host) else { continue }
            run.requestAbort(.transition(lost(run, host)))
        }
        do {
            let known = try await store.read { try $0.sessions(owner: nil) }
            let sessions = Dictionary(known.map { ($0.key, $0) }) { first, _ in first }
            let now = time.reading().wall
            try await waiting.clear(.network) { [policies] record in
                let session = sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now)
                guard let host = policies.directHost(of: record, in: session) else { return state.isUp }
                return state.isReachable(host: host)
            }
        } catch {
            logger.retried("cannot wake tasks that wait for the network", error)
        }
    }

    /// Returns what happens to a run if no network leads to its host.
    private func lost(_ run: TransferRun, _ host: String) -> TaskEvent {
        let error = TransferError(.networkLost, "No network leads to \(host) now.")
        guard run.waitsForConnectivity else {
            return .attemptFailed(AttemptFailure(error: error, disposition: .permanent), RetryPolicy(), jitter: 0)
        }
        let next = time.reading().wall.advanced(by: TaskMachine.recheckDelay)
        return .blocked(.network, error, nextAttemptAt: next)
    }

    /// Follows the files that configure name resolution. Tasks whose host had no address are tried at once.
    /// - Parameter all: everyone to be told, because the monitor has only one consumer.
    func followResolver(with all: [NetworkFollower]) async {
        for await _ in network.resolverChanges {
            for follower in all { await follower.tryNames() }
        }
    }

    private func tryNames() async {
        do {
            var count = 0
            // The first task of each host tries it.
            var tried: Set<HostGates.Scope> = []
            try await store.forEachPage {
                try $0.waiting(error: .networkDNS, after: $1?.id, limit: 500)
            } do: { tasks in
                for task in tasks where tried.insert(.init(host: task.host, owner: task.owner)).inserted {
                    _ = gates.tryNow(task.id, host: task.host, owner: task.owner)
                }
                try await waiting.clear(tasks.map(\.id))
                count += tasks.count
            }
            logger.notice(
                "name resolution has changed; tasks without an address are tried", metadata: ["tried": "\(count)"])
            signal.changed()
        } catch {
            logger.retried("cannot wake tasks whose host had no address", error)
        }
    }
}
