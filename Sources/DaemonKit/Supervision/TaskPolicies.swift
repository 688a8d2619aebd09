import DaemonSetup
import TransferCore
import TransferModel

/// Computes the policy of a task from its own wishes, its session's and the configuration's.
struct TaskPolicies: Sendable {
    let configuration: @Sendable () -> Configuration

    /// What a session specifies for its tasks, as it is now.
    struct OfSession: Sendable {
        /// Combined with the settings that the session leaves open. The folder is not included, because it was decided
        /// when the task was added.
        fileprivate let left: EffectivePolicy
        fileprivate let kind: SessionKind
        fileprivate let retry: RetryPolicySpec?

        func policy(of spec: Boxed<TaskSpec>) -> EffectivePolicy {
            var policy = left
            policy.apply(spec, in: kind, retrying: retry)
            return policy
        }
    }

    func policies(in session: SessionConfiguration, kind: SessionKind = .background) -> OfSession {
        let configuration = configuration()
        let filled = configuration.filled(session, findsDirectory: false)
        var left = EffectivePolicy(session: filled, kind: kind)
        left.network.caFileIsTheDaemons = session.caFile == nil
        left.network.knownHostsPath = configuration.knownHosts
        return OfSession(left: left, kind: kind, retry: filled.retry)
    }

    func policy(of record: TaskRecord, in session: SessionRecord) -> EffectivePolicy {
        policies(in: session.configuration, kind: session.kind).policy(of: record.$spec)
    }

    /// See `EffectivePolicy.resourceTimeout`: for tasks without a time of their own or their session's.
    func resourceTimeout() -> Seconds { configuration().settings.session.timeoutIntervalForResource }

    /// The host that a task connects to; nil if it has none, or if the task, its session or the settings name a proxy.
    func directHost(of record: TaskRecord, in session: SessionRecord) -> String? {
        Self.directHost(of: record, proxy: policy(of: record, in: session).network.proxy)
    }

    /// - Parameter proxy: as in `NetworkOptions`. If it is nil, only libcurl knows whether the environment names a
    ///   proxy, and the task counts as having none.
    static func directHost(of record: TaskRecord, proxy: String?) -> String? {
        if let proxy, !proxy.isEmpty { return nil }
        // Only the helper knows which host it connects to.
        guard let url = try? URLRules.parse(record.spec.url ?? ""), !url.host.isEmpty, url.scheme != .helper else {
            return nil
        }
        return url.host
    }
}
