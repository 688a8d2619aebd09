import CurlEngine
import DaemonSetup
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Tells servers that an unfinished upload is not wanted any more. Each such DELETE is stored together with the change
/// that made the upload unwanted. It is tried for a day with back-off, also by the next daemon.
struct UploadEndings: Sendable {
    /// How long a server is tried. Servers eventually drop unfinished uploads themselves.
    static let longestTry: Seconds = 86_400
    /// Requests at a time, so that servers that do not answer do not delay the others for long.
    static let width = 8

    private struct State {
        var runs = EndingRuns(width: UploadEndings.width)
        var tasks: [Int64: Task<Void, Never>] = [:]
        var isStopped = false
    }

    let patience: StorePatience
    let engine: any ExchangePerforming
    let files: TransferFiles
    let credentials: CredentialKeeper
    let hsts: HSTSKeeper
    let trust: TrustKeeper
    let policy: @Sendable (TaskSpec, SessionConfiguration, SessionKind) -> EffectivePolicy
    let time: any TimeSource
    let logger: Logger
    /// Called when there may be room for another request, or another time to wake up.
    let onEnd: @Sendable () -> Void
    private let state = Guarded(State())

    /// Starts the requests that are due and have room. Returns at once.
    /// - Returns: when the next one is due; nil if there is none, or if a running one must end first.
    func begin() async throws -> Timestamp? {
        state.withLock { $0.runs.willRead() }
        let pending: [UploadEnding]
        do {
            pending = try await patience.store.read { try $0.uploadEndings(limit: 2 * Self.width) }
        } catch {
            state.withLock { _ = $0.runs.didRead([], at: time.reading().wall) }
            throw error
        }
        let now = time.reading().wall
        return state.withLock { state in
            guard !state.isStopped else { return nil }
            let turn = state.runs.didRead(pending, at: now)
            for ending in turn.begun { state.tasks[ending.id] = Task { await perform(ending) } }
            return turn.next
        }
    }

    /// Stops what runs. The next daemon continues with it.
    func stop() {
        let tasks = state.withLock { state in
            state.isStopped = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
    }

    private func perform(_ ending: UploadEnding) async {
        do {
            let (session, trusted) = try await patience.store.read {
                (try $0.session(ending.session), try $0.trustedKeys(ending.session))
            }
            // If a volatile session is gone, nobody knows whether it could use its owner's credentials.
            let kind = session?.kind ?? (ending.task.isVolatile ? .ephemeral : .background)
            var policy = policy(ending.spec, session?.configuration ?? SessionConfiguration(), kind)
            policy.network.tls?.isAsked = false
            var settled = SettledDecisions().adding(trusted + trust.keys(for: ending.session, policy))
            policy.apply(settled)
            let isOver = session.map { $0.state == .invalidated } ?? true
            let hosts = hsts.hosts(of: ending.session, policy, isOver: isOver)
            var outcome = try await request(ending, policy, hosts)
            let user = CredentialKeeper.User(ending.session, isVolatile: ending.task.isVolatile, policy)
            let refusal = outcome.flatMap { $0.head ?? $0.connectHead }
            // The client would have been asked about the owner's credentials, and no client is asked any more.
            let places = policy.asks.contains(.challenge) ? [user.own] : user.places
            let demands = refusal.map { ProtectionSpace.demands($0, proxy: policy.network.proxy) } ?? []
            // The way that needs nobody else goes first.
            for demand in demands.filter({ $0.method != .negotiate }) + demands.filter({ $0.method == .negotiate }) {
                let username = CredentialKeeper.username(in: ending.spec, for: demand)
                guard let found = credentials.found(for: demand, in: places, of: username) else { continue }
                settled.use(found, for: demand)
                policy.apply(settled.lookingUp { _ in found })
                outcome = try await request(ending, policy, hosts)
                break
            }
            try await record(ending, outcome, policy)
        } catch {
            logger.warning(
                "cannot end an upload at its server", metadata: ["task": "\(ending.task)", "error": "\(error)"])
            try? await postpone(ending, RetryPolicy(), after: nil)
        }
        state.withLock { state in
            state.runs.didEnd(ending.id)
            state.tasks[ending.id] = nil
        }
        onEnd()
    }

    /// nil if the upload's protocol has no such request.
    private func request(
        _ ending: UploadEnding, _ policy: EffectivePolicy, _ hosts: TaskHSTS?
    ) async throws -> ExchangeOutcome? {
        let pinned = try await files.pinned(policy.$network, ending.spec.url ?? "", owner: ending.session.owner)
        defer { withExtendedLifetime(pinned) {} }
        let request = StrategyRequest(
            spec: ending.spec.namingKeptBody, network: pinned.network, sessionHeaders: policy.sessionHeaders,
            now: time.reading().wall, upload: ending.progress)
        guard let exchange = StrategyRegistry.cancellation(for: request) else { return nil }
        let context = TransferContext(
            task: ending.task, session: ending.session, counters: TransferCounters(), observer: SilentObserver(),
            hsts: hosts)
        return await engine.perform(exchange, into: nil, sending: nil, context: context)
    }

    private func record(_ ending: UploadEnding, _ outcome: ExchangeOutcome?, _ policy: EffectivePolicy) async throws {
        let termination = outcome.map { UploadTermination($0, now: time.reading().wall) } ?? .done
        switch termination {
        case .aborted: return
        case .done: try await patience.persistently { try $0.remove(ending) }
        case .again(let delay): try await postpone(ending, policy.retry, after: delay)
        }
        logger.info(
            "ending an upload at its server",
            metadata: [
                "task": "\(ending.task)", "status": "\(outcome?.head?.status.map(String.init) ?? "none")",
                "done": "\(termination == .done)",
            ])
    }

    /// Postpones the ending by the task's back-off, and gives it up after a day.
    private func postpone(_ ending: UploadEnding, _ policy: RetryPolicy, after delay: Seconds?) async throws {
        let now = time.reading().wall
        let failures = ending.failures + 1
        let backOff = policy.delay(failuresInRow: failures, jitter: Double.random(in: 0.5..<1))
        let next = now.advanced(by: max(backOff, delay ?? 0))
        let isOver = next.since(ending.recordedAt) > Self.longestTry
        try await patience.persistently { transaction in
            if isOver {
                try transaction.remove(ending)
            } else {
                try transaction.postpone(ending, failures: failures, until: next)
            }
        }
    }
}

/// For exchanges that no task waits for.
private struct SilentObserver: TransferObserver {
    func transferRedirected(to url: String, status: Int) {}
    func transferResponded(_ head: ResponseHead, verdict: Verdict) {}
    func transferCheckpointed(_ checkpoint: Checkpoint) {}
}
