import TransferModel

/// What an attempt needs of everything that its task inherits, resolved once: the task's own value, else its session's,
/// else the daemon's.
package struct EffectivePolicy: Sendable {
    @Boxed package var network: NetworkOptions
    /// Counted from the first queueing, excluding paused time.
    package var resourceTimeout: Seconds
    package var retry: RetryPolicy
    package var conflictPolicy: ConflictPolicy
    package var durability: Durability
    package var preserveTime: Bool
    /// The task's own limit; the limits of session and daemon also apply.
    package var rateLimit: ByteRate
    package var sessionHeaders: [HeaderField]
    /// For downloads that name no folder.
    package var directories: [DirectoryRule]
    package var connections: ConnectionPolicy
    /// Every final HTTP answer completes the task.
    package var acceptsAnyStatus: Bool
    /// Parts without the validator are taken for the rest of the held version.
    package var resumesUnproven: Bool
    package var cookies: CookiePolicy
    /// nil in sessions without a cache. Downloads and uploads only invalidate what is stored.
    package var cache: CachePolicy?
    /// Decisions that clients are asked for.
    package var asks: Set<DecisionKind>
    /// What the owner's tasks share may be used: credentials, and hosts known for HSTS.
    package var usesOwnersStores: Bool
    /// Credentials may be available without asking a client.
    package var mayHaveCredentials = false
    /// Kerberos may have a token: with its tickets, or for the user whom the task names.
    package var mayHaveTickets = false
    package var redirects = RedirectRule.follow
    /// The request that replaces the task's own.
    @BoxedOptional package var request: StandingRequest?

    package static let defaultRequestTimeout: Seconds = 60
    package static let defaultResourceTimeout = Seconds(7 * 86_400)

    /// - Parameter kind: kind of the session.
    package init(spec: TaskSpec, session: SessionConfiguration, kind: SessionKind = .background) {
        self.init(session: session, kind: kind)
        apply(Boxed(wrappedValue: spec), in: kind, retrying: session.retry)
    }

    /// What a session passes on to its tasks.
    package init(session: SessionConfiguration, kind: SessionKind = .background) {
        network = Self.network(session, kind)
        resourceTimeout = session.timeoutIntervalForResource ?? Self.defaultResourceTimeout
        retry = RetryPolicy(session.retry)
        retry.waitsForConnectivity = kind.waitsForConnectivity(session.waitsForConnectivity)
        conflictPolicy = session.conflictPolicy ?? .rename
        durability = session.durability ?? .full
        preserveTime = false
        rateLimit = .unlimited
        sessionHeaders = session.httpAdditionalHeaders ?? []
        directories = session.directories ?? []
        acceptsAnyStatus = session.acceptsAnyStatus ?? false
        resumesUnproven = session.resumesUnproven ?? false
        cookies = CookiePolicy(session, kind)
        cache = CachePolicy(session, kind)
        asks = Set(session.asks ?? [])
        usesOwnersStores = kind != .ephemeral
        if asks.contains(.redirect) { redirects = .ask }
        connections = session.connectionsPerDownload.map { .fixed($0) } ?? .automatic
    }

    /// A 401 or 407 is not the task's answer: credentials for it may be available.
    package var answersChallenges: Bool { asksChallenges != .none }

    /// Which challenges are not the task's answer.
    package var asksChallenges: AskedChallenges {
        if asks.contains(.challenge) || mayHaveCredentials { return .all }
        return mayHaveTickets ? .negotiate : .none
    }

    /// Which answers wait for a decision of this kind; nil for none.
    package func hold(for kind: DecisionKind) -> ResponseHold? {
        guard asks.contains(kind) else { return nil }
        return ResponseHold(acceptsAnyStatus: acceptsAnyStatus, asksChallenges: asksChallenges)
    }

    private static func network(_ session: SessionConfiguration, _ kind: SessionKind) -> NetworkOptions {
        var network = NetworkOptions()
        network.proxy = session.proxy.map(proxy)
        network.interface = session.interface
        network.caFile = session.caFile
        network.clientCertificate = session.clientCertificate
        network.tlsMinimumVersion = session.tlsMinimumVersion
        if session.asks?.contains(.challenge) == true { network.tls = TLSDecisions(isAsked: true) }
        network.setTimeout(session.timeoutIntervalForRequest ?? defaultRequestTimeout)
        network.allowsPlaintext = session.allowsArbitraryLoads ?? true
        network.obeysHSTS = session.hsts ?? (kind != .background)
        if let domains = session.exceptionDomains { network.exceptions = TransportExceptions(domains) }
        return network
    }

    /// "No proxy" is `none` on the wire and "" in the engine.
    private static func proxy(_ named: String) -> String { named == "none" ? "" : named }

    /// The task's own values replace its session's. Tasks without values of their own share what the session passes on.
    /// - Parameter inherited: the session's retry settings.
    package mutating func apply(
        _ spec: Boxed<TaskSpec>, in kind: SessionKind, retrying inherited: RetryPolicySpec?
    ) {
        if let policy = spec.wrappedValue.requestCachePolicy { cache?.request = policy }
        if let timeout = spec.wrappedValue.timeoutIntervalForResource { resourceTimeout = timeout }
        if let own = spec.wrappedValue.retry {
            let waits = retry.waitsForConnectivity
            retry = RetryPolicy(own, inherited: inherited)
            retry.waitsForConnectivity = waits
        }
        if let waits = spec.wrappedValue.waitsForConnectivity {
            retry.waitsForConnectivity = kind.waitsForConnectivity(waits)
        }
        if let policy = spec.wrappedValue.conflictPolicy { conflictPolicy = policy }
        if let own = spec.wrappedValue.durability { durability = own }
        if let preserves = spec.wrappedValue.preserveTime { preserveTime = preserves }
        if let limit = spec.wrappedValue.rateLimit { rateLimit = limit }
        if let accepts = spec.wrappedValue.acceptsAnyStatus { acceptsAnyStatus = accepts }
        if let resumes = spec.wrappedValue.resumesUnproven { resumesUnproven = resumes }
        if let count = spec.wrappedValue.connections { connections = .fixed(count) }
        // Cookies that a caller gives for one task are not meant for others.
        if spec.wrappedValue.cookies != nil { cookies.storage = .task }
        applyNetwork(spec)
    }

    private mutating func applyNetwork(_ spec: Boxed<TaskSpec>) {
        if let named = spec.wrappedValue.proxy { network.proxy = Self.proxy(named) }
        if let named = spec.wrappedValue.interface { network.interface = named }
        if let username = spec.wrappedValue.username { network.username = username }
        if let password = spec.wrappedValue.password { network.password = password }
        if let bearer = spec.wrappedValue.bearer { network.bearer = bearer }
        if let path = spec.wrappedValue.netrc { network.netrcPath = path }
        if let path = spec.wrappedValue.caFile {
            network.caFile = path
            network.caFileIsTheDaemons = false
        }
        if let certificate = spec.wrappedValue.clientCertificate { network.clientCertificate = certificate }
        if let version = spec.wrappedValue.tlsMinimumVersion {
            network.tlsMinimumVersion = version
            network.exceptions.yieldsTLS = true
        }
        if let version = spec.wrappedValue.httpVersion { network.httpVersion = version }
        if let timeout = spec.wrappedValue.timeoutIntervalForRequest { network.setTimeout(timeout) }
        if let allows = spec.wrappedValue.allowsArbitraryLoads {
            network.allowsPlaintext = allows
            network.exceptions.yieldsPlaintext = true
        }
    }
}

extension NetworkOptions {
    /// Making a connection must not take longer than a transfer may stall.
    fileprivate mutating func setTimeout(_ timeout: Seconds) {
        stallTimeout = timeout
        connectTimeout = min(Self.longestConnect, timeout)
    }
}

extension SessionKind {
    /// - Parameter wanted: what the task or its session says.
    func waitsForConnectivity(_ wanted: Bool?) -> Bool { self == .background || wanted ?? false }
}
