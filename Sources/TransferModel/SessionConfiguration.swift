/// What is started when a session's subscriber has unseen final events: a systemd unit, or in user mode an argv.
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

/// A daily window in local time: `from` and `to` as HH:MM (past midnight where to ≤ from), on `days` (0 = Sunday; all days without).
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
    /// Without a byte; 60 s unless set.
    public var timeoutIntervalForRequest: Seconds?
    /// From the first queueing, paused time excluded; 7 days unless set.
    public var timeoutIntervalForResource: Seconds?
    public var httpMaximumConnectionsPerHost: Int?
    public var httpAdditionalHeaders: [HeaderField]?
    public var requestCachePolicy: String?
    public var httpCookieAcceptPolicy: String?
    public var httpShouldSetCookies: Bool?
    public var proxy: String?
    public var tlsMinimumVersion: TLSVersion?
    public var caFile: String?
    public var clientCertificate: ClientCertificate?
    /// False refuses unencrypted transfers.
    public var allowsArbitraryLoads: Bool?
    public var waitsForConnectivity: Bool?
    public var isDiscretionary: Bool?
    public var allowsExpensiveNetworkAccess: Bool?
    public var allowsConstrainedNetworkAccess: Bool?
    public var sendsLaunchEvents: Bool?
    /// Durable name that acknowledges for this session.
    public var subscriber: String?
    public var launch: LaunchSpec?
    /// At most one launch in this time; 60 s unless set.
    public var launchInterval: Seconds?
    /// Folder of downloads without a destination.
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

    public init() {}
}

extension SessionConfiguration: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case timeoutIntervalForRequest, timeoutIntervalForResource, httpMaximumConnectionsPerHost,
            httpAdditionalHeaders, requestCachePolicy, httpCookieAcceptPolicy, httpShouldSetCookies, proxy,
            tlsMinimumVersion, caFile, clientCertificate, allowsArbitraryLoads, waitsForConnectivity,
            isDiscretionary, allowsExpensiveNetworkAccess, allowsConstrainedNetworkAccess, sendsLaunchEvents,
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
        httpCookieAcceptPolicy = try fields.value(.httpCookieAcceptPolicy)
        httpShouldSetCookies = try fields.value(.httpShouldSetCookies)
        proxy = try fields.value(.proxy)
        tlsMinimumVersion = try fields.value(.tlsMinimumVersion)
        caFile = try fields.value(.caFile)
        clientCertificate = try fields.value(.clientCertificate)
        allowsArbitraryLoads = try fields.value(.allowsArbitraryLoads)
        waitsForConnectivity = try fields.value(.waitsForConnectivity)
        isDiscretionary = try fields.value(.isDiscretionary)
        allowsExpensiveNetworkAccess = try fields.value(.allowsExpensiveNetworkAccess)
        allowsConstrainedNetworkAccess = try fields.value(.allowsConstrainedNetworkAccess)
        sendsLaunchEvents = try fields.value(.sendsLaunchEvents)
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
    }
}
