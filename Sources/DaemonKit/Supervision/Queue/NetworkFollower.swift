import CurlEngine
import DaemonSetup
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Follows the network, the files that configure name resolution, and what the machine's network and power forbid. Tasks
/// that wait for them resume, and tasks that have lost their route, or are forbidden, wait.
struct NetworkFollower: Sendable {
    let store: TransferStore
    let network: NetworkMonitor
    let runs: RunTable
    let gates: Gatekeeper
    let policies: TaskPolicies
    let machine: MachineState
    let waiting: WaitingTasks
    let rounds: Turnstile
    let time: any TimeSource
    let signal: SupervisionSignal
    let logger: Logger

    /// Follows the network until it is cancelled.
    /// - Parameter all: everyone to be told, because the monitor has only one consumer.
    func followNetwork(with all: [NetworkFollower]) async {
        for await state in network.changes {
            logger.notice(state.isUp ? "the network is up" : "there is no network")
            let devices = DeviceLookups()
            for follower in all { follower.stopLost(state, devices) }
            for follower in all { await follower.clearWaits(state, devices) }
        }
    }

    private func stopLost(_ state: NetworkState, _ devices: DeviceLookups) {
        // They stop anyway, and the network may come back before the machine is awake.
        if machine.isAsleep { return }
        for run in runs.all {
            if let name = run.interface {
                let device = devices[name]
                if device == nil {
                    run.requestAbort(.transition(lost(run, .noInterface(name))))
                } else if device != run.device {
                    // Another device has its name or its address now.
                    run.requestAbort(.transition(.preempted()))
                }
                continue
            }
            guard let host = run.directHost, !state.isReachable(host: host) else { continue }
            run.requestAbort(
                .transition(lost(run, TransferError(.networkLost, "No network leads to \(host) now."))))
        }
    }

    private func clearWaits(_ state: NetworkState, _ devices: DeviceLookups) async {
        do {
            let (sessions, now) = (try await sessions(), time.reading().wall)
            try await waiting.clear(.network) { [policies] record in
                let session = sessions[record.session] ?? SessionRecord(key: record.session, createdAt: now)
                if let name = policies.policy(of: record, in: session).network.interface {
                    return devices[name] != nil
                }
                guard let host = policies.directHost(of: record, in: session) else { return state.isUp }
                return state.isReachable(host: host)
            }
        } catch {
            logger.retried("cannot wake tasks that wait for the network", error)
        }
    }

    /// Returns what happens to a run whose network has gone.
    private func lost(_ run: TransferRun, _ error: TransferError) -> TaskEvent {
        guard run.waitsForConnectivity else {
            return .attemptFailed(AttemptFailure(error: error, disposition: .permanent), RetryPolicy(), jitter: 0)
        }
        let next = time.reading().wall.advanced(by: TaskMachine.recheckDelay)
        return .blocked(.network, error, nextAttemptAt: next)
    }

    /// Follows what the machine's network and power forbid, until the signal is stopped.
    func followConditions() async {
        // Waits are many. Running tasks do not wait for them.
        async let stops: Void = onNews { [self] in try await stopForbidden() }
        await onNews { [self] in try await clearAllowed() }
        await stops
    }

    private func onNews(_ body: @Sendable () async throws -> Void) async {
        let news = signal.listen(to: .conditions)
        // A wait of the last daemon may be over.
        repeat {
            while !signal.isStopped {
                do {
                    try await body()
                    break
                } catch {
                    logger.retried("cannot reconsider tasks after a change of the machine's network or power", error)
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        } while await news.next() != nil
    }

    private func sessions() async throws -> [SessionKey: SessionRecord] {
        let known = try await store.read { try $0.sessions(owner: nil) }
        return Dictionary(known.map { ($0.key, $0) }) { first, _ in first }
    }

    private func stopForbidden() async throws {
        // What the present round claims, by the settings that it knew, has its runs when the round is over.
        await rounds.pass()
        let ids = runs.all.map(\.task)
        let (sessions, running) = (try await sessions(), try await store.read { try $0.tasks(ids) })
        for record in running {
            guard let run = runs[record.id] else { continue }
            if let event = machine.event(for: record, in: sessions[record.session]) {
                run.requestAbort(.transition(event))
            } else if let session = sessions[record.session], URLRules.usesNetwork(record.spec.url ?? ""),
                policies.policy(of: record, in: session).network.interface != run.interface
            {
                // The session has another device now.
                run.requestAbort(.transition(.preempted()))
            }
        }
    }

    private func clearAllowed() async throws {
        let hasWoken = machine.takeWoken()
        do {
            let sessions = try await sessions()
            // What was decided before the change is stored when this write is over, and found below.
            try await store.write { _ in }
            if hasWoken { try await waiting.clear(.retry) { _ in true } }
            for reason in WaitReason.ofMachine {
                // A task that another condition forbids is queued too, and then waits for that one.
                try await waiting.clear(reason) { [machine] record in
                    guard case .blocked(_, let error, _)? = machine.event(for: record, in: sessions[record.session])
                    else { return true }
                    return error != record.status.error
                }
            }
        } catch {
            if hasWoken { machine.noteWoken() }
            throw error
        }
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

/// Which devices the members `interface` mean after one change of the network. Each is looked up once.
private final class DeviceLookups: Sendable {
    private let known = Guarded<[String: NetworkInterface?]>([:])

    subscript(name: String) -> NetworkInterface? {
        known.withLock { known in
            if let device = known[name] { return device }
            let device = NetworkInterface(name)
            known[name] = .some(device)
            return device
        }
    }
}
