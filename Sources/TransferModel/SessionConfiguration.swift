/// What the daemon starts if a session's subscriber has unseen final events: a systemd unit or, in user mode, a
/// program.
public struct LaunchSpec: Hashable, Sendable {
    public var unit: String?
    public var argv: [String]?

    public init() {}
}

extension LaunchSpec: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case unit, argv
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        unit = try fields.value(.unit)
        argv = try fields.value(.argv)
    }
}

/// A daily window in local time: `from` and `to` as HH:MM (past midnight if `to` ≤ `from`), on `days` (0 = Sunday; nil
/// = every day).
public struct ScheduleWindow: Hashable, Sendable {
    public var from: String
    public var to: String
    public var days: [Int]?

    public init(from: String, to: String) {
        self.from = from
        self.to = to
    }
}

extension ScheduleWindow: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case from, to, days
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        from = try fields.required(.from)
        to = try fields.required(.to)
        days = try fields.value(.days)
    }
}

/// What a session sets for its tasks; names follow URLSessionConfiguration where it has one.
public struct SessionConfiguration: Hashable, Sendable {
    /// How long a transfer may go without a byte; 60 s unless set.
    public var timeoutIntervalForRequest: Seconds?
    /// Time from the first queueing, excluding paused time; 7 days unless set.
    public var timeoutIntervalForResource: Seconds?
    public var httpMaximumConnectionsPerHost: Int?
    public var httpAdditionalHeaders: [HeaderField]?
    /// Has no effect in a `background` session, which has no cache.
    public var requestCachePolicy: RequestCachePolicy?
    /// The session's own cache; nil = its owner's.
    public var urlCache: CacheCapacities?
    /// Which cookies a task uses; if unset, `SessionKind` decides.
    public var httpCookieStorage: CookieStorageKind?
    public var httpCookieAcceptPolicy: CookieAcceptPolicy?
    /// If false, requests carry no stored cookies.
    public var httpShouldSetCookies: Bool?
    public var proxy: String?
    public var tlsMinimumVersion: TLSVersion?
    public var caFile: String?
    public var clientCertificate: ClientCertificate?
    /// If false, unencrypted transfers are refused.
    public var allowsArbitraryLoads: Bool?
    /// Domains with rules of their own, by name.
    public var exceptionDomains: [String: DomainException]?
    /// Hosts that ask for it are reached over https alone (RFC 6797); unset, `SessionKind` decides.
    public var hsts: Bool?
    /// Every final HTTP answer completes a task.
    public var acceptsAnyStatus: Bool?
    /// Parts that do not repeat their validator are taken for the rest of the held version.
    public var resumesUnproven: Bool?
    /// Has no effect in a `background` session.
    public var waitsForConnectivity: Bool?
    public var isDiscretionary: Bool?
    public var allowsExpensiveNetworkAccess: Bool?
    public var allowsConstrainedNetworkAccess: Bool?
    public var sendsLaunchEvents: Bool?
    /// Decisions that clients are asked for; the others follow their defaults.
    public var asks: [DecisionKind]?
    /// The durable subscriber that acknowledges events for this session.
    public var subscriber: String?
    public var launch: LaunchSpec?
    /// At most one launch in this time, within `Bounds.launchInterval`; 60 s unless set.
    public var launchInterval: Seconds?
    /// Folder for downloads that name no destination.
    public var directory: String?
    public var conflictPolicy: ConflictPolicy?
    public var maximumConcurrentTasks: Int?
    public var downloadRateLimit: ByteRate?
    public var uploadRateLimit: ByteRate?
    /// Tasks run only inside one of these windows.
    public var schedule: [ScheduleWindow]?
    public var retry: RetryPolicySpec?
    public var connectionsPerDownload: Int?
    public var durability: Durability?

    /// Members that a message sets to null: a change unsets them.
    public private(set) var cleared: Set<CodingKeys> = []

    public init() {}
}

extension SessionConfiguration: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case timeoutIntervalForRequest, timeoutIntervalForResource, httpMaximumConnectionsPerHost,
            httpAdditionalHeaders, requestCachePolicy, urlCache, httpCookieStorage, httpCookieAcceptPolicy,
            httpShouldSetCookies,
            proxy,
            tlsMinimumVersion, caFile, clientCertificate, allowsArbitraryLoads, exceptionDomains, hsts,
            acceptsAnyStatus, resumesUnproven,
            waitsForConnectivity, isDiscretionary, allowsExpensiveNetworkAccess, allowsConstrainedNetworkAccess,
            sendsLaunchEvents, asks,
            subscriber, launch, launchInterval, directory, conflictPolicy, maximumConcurrentTasks,
            downloadRateLimit, uploadRateLimit, schedule, retry, connectionsPerDownload, durability
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        timeoutIntervalForRequest = try fields.value(.timeoutIntervalForRequest)
        timeoutIntervalForResource = try fields.value(.timeoutIntervalForResource)
        httpMaximumConnectionsPerHost = try fields.value(.httpMaximumConnectionsPerHost)
        httpAdditionalHeaders = try fields.value(.httpAdditionalHeaders)
        requestCachePolicy = try fields.value(.requestCachePolicy)
        urlCache = try fields.value(.urlCache)
        httpCookieStorage = try fields.value(.httpCookieStorage)
        httpCookieAcceptPolicy = try fields.value(.httpCookieAcceptPolicy)
        httpShouldSetCookies = try fields.value(.httpShouldSetCookies)
        proxy = try fields.value(.proxy)
        tlsMinimumVersion = try fields.value(.tlsMinimumVersion)
        caFile = try fields.value(.caFile)
        clientCertificate = try fields.value(.clientCertificate)
        allowsArbitraryLoads = try fields.value(.allowsArbitraryLoads)
        exceptionDomains = try fields.value(.exceptionDomains)
        hsts = try fields.value(.hsts)
        acceptsAnyStatus = try fields.value(.acceptsAnyStatus)
        resumesUnproven = try fields.value(.resumesUnproven)
        waitsForConnectivity = try fields.value(.waitsForConnectivity)
        isDiscretionary = try fields.value(.isDiscretionary)
        allowsExpensiveNetworkAccess = try fields.value(.allowsExpensiveNetworkAccess)
        allowsConstrainedNetworkAccess = try fields.value(.allowsConstrainedNetworkAccess)
        sendsLaunchEvents = try fields.value(.sendsLaunchEvents)
        asks = try fields.value(.asks)
        subscriber = try fields.value(.subscriber)
        launch = try fields.value(.launch)
        launchInterval = try fields.value(.launchInterval)
        directory = try fields.value(.directory)
        conflictPolicy = try fields.value(.conflictPolicy)
        maximumConcurrentTasks = try fields.value(.maximumConcurrentTasks)
        downloadRateLimit = try fields.value(.downloadRateLimit)
        uploadRateLimit = try fields.value(.uploadRateLimit)
        schedule = try fields.value(.schedule)
        retry = try fields.value(.retry)
        connectionsPerDownload = try fields.value(.connectionsPerDownload)
        durability = try fields.value(.durability)
        cleared = Set(CodingKeys.allCases.filter(fields.isNull))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(timeoutIntervalForRequest, forKey: .timeoutIntervalForRequest)
        try container.encodeIfPresent(timeoutIntervalForResource, forKey: .timeoutIntervalForResource)
        try container.encodeIfPresent(httpMaximumConnectionsPerHost, forKey: .httpMaximumConnectionsPerHost)
        try container.encodeIfPresent(httpAdditionalHeaders, forKey: .httpAdditionalHeaders)
        try container.encodeIfPresent(requestCachePolicy, forKey: .requestCachePolicy)
        try container.encodeIfPresent(urlCache, forKey: .urlCache)
        try container.encodeIfPresent(httpCookieStorage, forKey: .httpCookieStorage)
        try container.encodeIfPresent(httpCookieAcceptPolicy, forKey: .httpCookieAcceptPolicy)
        try container.encodeIfPresent(httpShouldSetCookies, forKey: .httpShouldSetCookies)
        try container.encodeIfPresent(proxy, forKey: .proxy)
        try container.encodeIfPresent(tlsMinimumVersion, forKey: .tlsMinimumVersion)
        try container.encodeIfPresent(caFile, forKey: .caFile)
        try container.encodeIfPresent(clientCertificate, forKey: .clientCertificate)
        try container.encodeIfPresent(allowsArbitraryLoads, forKey: .allowsArbitraryLoads)
        try container.encodeIfPresent(exceptionDomains, forKey: .exceptionDomains)
        try container.encodeIfPresent(hsts, forKey: .hsts)
        try container.encodeIfPresent(acceptsAnyStatus, forKey: .acceptsAnyStatus)
        try container.encodeIfPresent(resumesUnproven, forKey: .resumesUnproven)
        try container.encodeIfPresent(waitsForConnectivity, forKey: .waitsForConnectivity)
        try container.encodeIfPresent(isDiscretionary, forKey: .isDiscretionary)
        try container.encodeIfPresent(allowsExpensiveNetworkAccess, forKey: .allowsExpensiveNetworkAccess)
        try container.encodeIfPresent(allowsConstrainedNetworkAccess, forKey: .allowsConstrainedNetworkAccess)
        try container.encodeIfPresent(sendsLaunchEvents, forKey: .sendsLaunchEvents)
        try container.encodeIfPresent(asks, forKey: .asks)
        try container.encodeIfPresent(subscriber, forKey: .subscriber)
        try container.encodeIfPresent(launch, forKey: .launch)
        try container.encodeIfPresent(launchInterval, forKey: .launchInterval)
        try container.encodeIfPresent(directory, forKey: .directory)
        try container.encodeIfPresent(conflictPolicy, forKey: .conflictPolicy)
        try container.encodeIfPresent(maximumConcurrentTasks, forKey: .maximumConcurrentTasks)
        try container.encodeIfPresent(downloadRateLimit, forKey: .downloadRateLimit)
        try container.encodeIfPresent(uploadRateLimit, forKey: .uploadRateLimit)
        try container.encodeIfPresent(schedule, forKey: .schedule)
        try container.encodeIfPresent(retry, forKey: .retry)
        try container.encodeIfPresent(connectionsPerDownload, forKey: .connectionsPerDownload)
        try container.encodeIfPresent(durability, forKey: .durability)
        for key in cleared { try container.encodeNil(forKey: key) }
    }
}

extension SessionConfiguration {
    /// Unsets a member, as null does in a message.
    public mutating func clear(_ key: CodingKeys) {
        var change = SessionConfiguration()
        change.cleared = [key]
        self = changed(by: change)
        cleared.insert(key)
    }

    /// This configuration with the members that `change` sets, and without those that it sets to null.
    public func changed(by change: SessionConfiguration) -> SessionConfiguration {
        var result = self
        func take<Value>(_ key: CodingKeys, _ path: WritableKeyPath<Self, Value?>) {
            if change.cleared.contains(key) { result[keyPath: path] = nil }
            if let value = change[keyPath: path] { result[keyPath: path] = value }
        }
        for key in CodingKeys.allCases {
            switch key {
            case .timeoutIntervalForRequest: take(key, \.timeoutIntervalForRequest)
            case .timeoutIntervalForResource: take(key, \.timeoutIntervalForResource)
            case .httpMaximumConnectionsPerHost: take(key, \.httpMaximumConnectionsPerHost)
            case .httpAdditionalHeaders: take(key, \.httpAdditionalHeaders)
            case .requestCachePolicy: take(key, \.requestCachePolicy)
            case .urlCache: take(key, \.urlCache)
            case .httpCookieStorage: take(key, \.httpCookieStorage)
            case .httpCookieAcceptPolicy: take(key, \.httpCookieAcceptPolicy)
            case .httpShouldSetCookies: take(key, \.httpShouldSetCookies)
            case .proxy: take(key, \.proxy)
            case .tlsMinimumVersion: take(key, \.tlsMinimumVersion)
            case .caFile: take(key, \.caFile)
            case .clientCertificate: take(key, \.clientCertificate)
            case .allowsArbitraryLoads: take(key, \.allowsArbitraryLoads)
            case .exceptionDomains: take(key, \.exceptionDomains)
            case .hsts: take(key, \.hsts)
            case .acceptsAnyStatus: take(key, \.acceptsAnyStatus)
            case .resumesUnproven: take(key, \.resumesUnproven)
            case .waitsForConnectivity: take(key, \.waitsForConnectivity)
            case .isDiscretionary: take(key, \.isDiscretionary)
            case .allowsExpensiveNetworkAccess: take(key, \.allowsExpensiveNetworkAccess)
            case .allowsConstrainedNetworkAccess: take(key, \.allowsConstrainedNetworkAccess)
            case .sendsLaunchEvents: take(key, \.sendsLaunchEvents)
            case .asks: take(key, \.asks)
            case .subscriber: take(key, \.subscriber)
            case .launch: take(key, \.launch)
            case .launchInterval: take(key, \.launchInterval)
            case .directory: take(key, \.directory)
            case .conflictPolicy: take(key, \.conflictPolicy)
            case .maximumConcurrentTasks: take(key, \.maximumConcurrentTasks)
            case .downloadRateLimit: take(key, \.downloadRateLimit)
            case .uploadRateLimit: take(key, \.uploadRateLimit)
            case .schedule: take(key, \.schedule)
            case .retry: take(key, \.retry)
            case .connectionsPerDownload: take(key, \.connectionsPerDownload)
            case .durability: take(key, \.durability)
            }
        }
        result.cleared = []
        return result
    }
}
