import TransferCore
import TransferModel

/// What is in force for a task: its own wishes, its session's and the configuration's.
struct TaskPolicies: Sendable {
    let configuration: @Sendable () -> Configuration

    /// What a session leaves to its tasks, as it is now.
    struct OfSession: Sendable {
        /// Open members are filled from the settings. The folder is none of them: it was decided when the task was added.
        fileprivate let filled: SessionConfiguration
        fileprivate let namesCAFile: Bool
        fileprivate let kind: SessionKind
        fileprivate let knownHosts: String

        func policy(of spec: TaskSpec) -> EffectivePolicy {
            var policy = EffectivePolicy(spec: spec, session: filled, kind: kind)
            policy.network.caFileIsTheDaemons = spec.caFile == nil && !namesCAFile
            policy.network.knownHostsPath = knownHosts
            return policy
        }
    }

    func policies(in session: SessionConfiguration, kind: SessionKind = .background) -> OfSession {
        let configuration = configuration()
        return OfSession(
            filled: configuration.filled(session, findsDirectory: false), namesCAFile: session.caFile != nil,
            kind: kind, knownHosts: configuration.knownHosts)
    }

    func policy(of record: TaskRecord, in session: SessionRecord) -> EffectivePolicy {
        policies(in: session.configuration, kind: session.kind).policy(of: record.spec)
    }

    /// As `EffectivePolicy.resourceTimeout`: each step of a task asks for it, and for nothing else.
    func resourceTimeout(of spec: TaskSpec, _ session: SessionConfiguration) -> Seconds {
        spec.timeoutIntervalForResource ?? session.timeoutIntervalForResource
            ?? configuration().settings.session.timeoutIntervalForResource
    }

    /// Host that a task connects to; nil if it has none, or if the task, its session or the settings name a proxy.
    func directHost(of record: TaskRecord, in session: SessionRecord) -> String? {
        Self.directHost(of: record, proxy: policy(of: record, in: session).network.proxy)
    }

    /// - Parameter proxy: as in `NetworkOptions`. If it is nil, libcurl alone knows whether it takes one from the
    ///   environment, and the task counts as without.
    static func directHost(of record: TaskRecord, proxy: String?) -> String? {
        if let proxy, !proxy.isEmpty { return nil }
        guard let url = try? URLRules.parse(record.spec.url ?? ""), !url.host.isEmpty else { return nil }
        return url.host
    }
}
