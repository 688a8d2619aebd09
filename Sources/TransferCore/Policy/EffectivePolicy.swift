import TransferModel

/// What an attempt of a task needs of all it inherits, resolved once: the task's own value, else its session's, else the daemon's.
package struct EffectivePolicy: Sendable {
    @Boxed package var network: NetworkOptions
    /// From the first queueing, paused time excluded.
    package var resourceTimeout: Seconds
    package var retry: RetryPolicy
    package var conflictPolicy: ConflictPolicy
    package var durability: Durability
    package var preserveTime: Bool
    /// The task's own limit; session and global limits are held beside it.
    package var rateLimit: ByteRate
    package var sessionHeaders: [HeaderField]
    package var connections: ConnectionPolicy
    /// Every final HTTP answer completes the task.
    package var acceptsAnyStatus: Bool
    package var cookies: CookiePolicy
    /// Decisions that are put to clients.
    package var asks: Set<DecisionKind>
    package var redirects = RedirectRule.follow
    /// What stands in place of the task's own request.
    @BoxedOptional package var request: StandingRequest?

    package static let defaultRequestTimeout: Seconds = 60
    package static let defaultResourceTimeout = Seconds(7 * 86_400)

    /// - Parameter kind: of the session.
    package init(spec: TaskSpec, session: SessionConfiguration, kind: SessionKind = .background) {
        network = Self.network(spec, session)
        resourceTimeout =
            spec.timeoutIntervalForResource ?? session.timeoutIntervalForResource ?? Self.defaultResourceTimeout
        retry = RetryPolicy(spec.retry, inherited: session.retry)
        retry.waitsForConnectivity = Self.waitsForConnectivity(spec, session, kind)
        conflictPolicy = spec.conflictPolicy ?? session.conflictPolicy ?? .rename
        durability = spec.durability ?? session.durability ?? .full
        preserveTime = spec.preserveTime ?? false
        rateLimit = spec.rateLimit ?? .unlimited
        sessionHeaders = session.httpAdditionalHeaders ?? []
        acceptsAnyStatus = spec.acceptsAnyStatus ?? session.acceptsAnyStatus ?? false
        cookies = CookiePolicy(session, kind)
        asks = Set(session.asks ?? [])
        if asks.contains(.redirect) { redirects = .ask }
        connections = (spec.connections ?? session.connectionsPerDownload).map { .fixed($0) } ?? .automatic
    }

    private static func waitsForConnectivity(
        _ spec: TaskSpec, _ session: SessionConfiguration, _ kind: SessionKind
    ) -> Bool {
        switch kind {
        case .background: true
        case .default, .ephemeral: spec.waitsForConnectivity ?? session.waitsForConnectivity ?? false
        }
    }

    private static func network(_ spec: TaskSpec, _ session: SessionConfiguration) -> NetworkOptions {
        var network = NetworkOptions()
        // The wire says `none`, the engine "".
        network.proxy = (spec.proxy ?? session.proxy).map { $0 == "none" ? "" : $0 }
        network.username = spec.username
        network.password = spec.password
        network.bearer = spec.bearer
        network.netrcPath = spec.netrc
        network.caFile = spec.caFile ?? session.caFile
        network.clientCertificate = spec.clientCertificate ?? session.clientCertificate
        network.tlsMinimumVersion = spec.tlsMinimumVersion ?? session.tlsMinimumVersion
        if session.asks?.contains(.challenge) == true { network.tls = TLSDecisions(isAsked: true) }
        network.httpVersion = spec.httpVersion
        network.stallTimeout =
            spec.timeoutIntervalForRequest ?? session.timeoutIntervalForRequest ?? defaultRequestTimeout
        network.connectTimeout = min(network.connectTimeout, network.stallTimeout)
        network.allowsPlaintext = spec.allowsArbitraryLoads ?? session.allowsArbitraryLoads ?? true
        return network
    }
}
