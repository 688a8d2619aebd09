import DaemonSetup
import TransferCore
import TransferModel

/// What is in force for a task: its own wishes, its session's and the configuration's.
struct TaskPolicies: Sendable {
    let configuration: @Sendable () -> Configuration

    /// What a session leaves to its tasks, as it is now.
    struct OfSession: Sendable {
        /// With the settings where the session says nothing. The folder is none of them: it was decided when the task was added.
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

    /// As `EffectivePolicy.resourceTimeout`, for tasks without a time of their own or their session's.
    func resourceTimeout() -> Seconds { configuration().settings.session.timeoutIntervalForResource }

    /// Host that a task connects to; nil if it has none, or if the task, its session or the settings name a proxy.
    func directHost(of record: TaskRecord, in session: SessionRecord) -> String? {
        Self.directHost(of: record, proxy: policy(of: record, in: session).network.proxy)
    }

    /// - Parameter proxy: as in `NetworkOptions`. If it is nil, libcurl alone knows whether it takes one from the
    ///   environment, and the task counts as without.
    static func directHost(of record: TaskRecord, proxy: String?) -> String? {
        if let proxy, !proxy.isEmpty { return nil }
        // Where a helper connects to, it alone knows.
        guard let url = try? URLRules.parse(record.spec.url ?? ""), !url.host.isEmpty, url.scheme != .helper else {
            return nil
        }
        return url.host
    }
}
