import TransferModel

/// Everything a task inherits, resolved once: the task's own value, else its session's, else the daemon's.
package struct EffectivePolicy: Sendable {
    @Boxed package var network: NetworkOptions
    /// From the first queueing, paused time excluded.
    package var resourceTimeout: Seconds
    package var retry: RetryPolicy
    package var conflictPolicy: ConflictPolicy
    package var durability: Durability
    /// Folder of downloads without a destination; nil = the daemon's default.
    package var directory: String?
    package var preserveTime: Bool
    /// The task's own limit; session and global limits are held beside it.
    package var rateLimit: ByteRate
    package var sessionRateLimit: ByteRate
    package var sessionHeaders: [HeaderField]
    package var schedule: ScheduleWindows?
    package var earliestBeginAt: Timestamp?
    package var deadlineAt: Timestamp?
    package var priority: TaskPriority
    package var connections: ConnectionPolicy

    /// Slots of the session; nil = no limit of its own.
    package var maximumConcurrentTasks: Int?
    package var maximumTasksPerHost: Int

    package static let defaultRequestTimeout: Seconds = 60
    package static let defaultResourceTimeout = Seconds(7 * 86_400)

    /// A schedule that cannot be read restricts nothing; it is refused where the session is configured.
    package init(spec: TaskSpec, session: SessionConfiguration, settings: GlobalSettings) {
        network = Self.network(spec, session)
        resourceTimeout =
            spec.timeoutIntervalForResource ?? session.timeoutIntervalForResource ?? Self.defaultResourceTimeout
        retry = RetryPolicy(spec.retry, inherited: session.retry)
        conflictPolicy = spec.conflictPolicy ?? session.conflictPolicy ?? .rename
        durability = spec.durability ?? session.durability ?? .full
        directory = session.directory
        preserveTime = spec.preserveTime ?? false
        rateLimit = spec.rateLimit ?? .unlimited
        sessionRateLimit = session.downloadRateLimit ?? .unlimited
        sessionHeaders = session.httpAdditionalHeaders ?? []
        schedule = session.schedule.flatMap { $0.isEmpty ? nil : try? ScheduleWindows($0) }
        earliestBeginAt = spec.earliestBeginAt
        deadlineAt = spec.deadlineAt
        priority = spec.priority ?? .normal
        connections = (spec.connections ?? session.connectionsPerDownload).map { .fixed($0) } ?? .automatic
        maximumConcurrentTasks = session.maximumConcurrentTasks
        maximumTasksPerHost = min(
            session.httpMaximumConnectionsPerHost ?? .max, settings.maximumConcurrentTasksPerHost)
    }

    private static func network(_ spec: TaskSpec, _ session: SessionConfiguration) -> NetworkOptions {
        var network = NetworkOptions()
        // The wire says `none` where the engine says "".
        network.proxy = (spec.proxy ?? session.proxy).map { $0 == "none" ? "" : $0 }
        network.username = spec.username
        network.password = spec.password
        network.bearer = spec.bearer
        network.netrcPath = spec.netrc
        network.caFile = spec.caFile ?? session.caFile
        network.clientCertificate = spec.clientCertificate ?? session.clientCertificate
        network.tlsMinimumVersion = spec.tlsMinimumVersion ?? session.tlsMinimumVersion
        network.httpVersion = spec.httpVersion
        network.stallTimeout =
            spec.timeoutIntervalForRequest ?? session.timeoutIntervalForRequest ?? defaultRequestTimeout
        network.connectTimeout = min(network.connectTimeout, network.stallTimeout)
        network.allowsPlaintext = spec.allowsArbitraryLoads ?? session.allowsArbitraryLoads ?? true
        return network
    }
}
