import JSONRPC
import Logging
import TransferModel

/// Every setting of the daemon as a typed value. The initial values are the documented defaults.
///
/// `SettingsTable` names, documents and checks each of them.
package struct DaemonSettings: Hashable, Sendable {
    /// Path of the listening socket; nil = where protocol.md's rules put it.
    package var socket: String?
    /// Folder of the database, the journal and, in system mode, the users' files; nil = the rules of `Paths`.
    package var stateDirectory: String?
    package var logLevel: Logger.Level = .info
    /// In system mode, the group whose members see and control all users' tasks.
    package var adminGroup = "dld-admin"
    /// Full names of the units that sessions may start in system mode.
    package var allowedUnits: [String] = []
    /// The most connections to the socket at a time.
    package var maximumConnections = RPCLimits().connections
    /// The most connections of one user at a time. root has no such limit.
    package var maximumConnectionsPerUser = RPCLimits().connectionsPerUser
    package var userAgent: String?
    /// OpenSSH known_hosts file for sftp; nil = the rules of `Paths`.
    package var knownHosts: String?
    package var credentialHelper: String?
    /// The settings of `settings.get` and `settings.set`.
    package var global = GlobalSettings()
    /// The defaults of sessions.
    package var session = SessionDefaults()

    package init() {}
}

/// Defaults for members of a session's configuration, network options included.
package struct SessionDefaults: Hashable, Sendable {
    /// Folder of downloads without a destination; nil = the rules of `Paths`.
    package var directory: String?
    package var conflictPolicy: ConflictPolicy = .rename
    package var timeoutIntervalForRequest: Seconds = 60
    package var timeoutIntervalForResource = Seconds(7 * 86400)
    package var retryAttempts = 0
    package var retryFirstDelay: Seconds = 1
    package var retryLongestDelay: Seconds = 600
    package var httpMaximumConnectionsPerHost: Int?
    package var maximumConcurrentTasks: Int?
    package var connectionsPerDownload: Int?
    package var durability: Durability = .full
    package var allowsArbitraryLoads = true
    package var launchInterval: Seconds = 60
    package var proxy: String?
    package var caFile: String?
    package var tlsMinimumVersion: TLSVersion = .v12
    /// Whether a session can only lower the maximums, because its users are not those who configure this daemon.
    package var maximumsAreCeilings = false

    package init() {}

    /// `configuration` with its unset members taken from these defaults.
    package func filling(_ configuration: SessionConfiguration) -> SessionConfiguration {
        var filled = configuration
        filled.directory = filled.directory ?? directory
        filled.conflictPolicy = filled.conflictPolicy ?? conflictPolicy
        filled.timeoutIntervalForRequest = filled.timeoutIntervalForRequest ?? timeoutIntervalForRequest
        filled.timeoutIntervalForResource = filled.timeoutIntervalForResource ?? timeoutIntervalForResource
        var retry = filled.retry ?? RetryPolicySpec()
        retry.attempts = retry.attempts ?? retryAttempts
        retry.firstDelay = retry.firstDelay ?? retryFirstDelay
        retry.longestDelay = retry.longestDelay ?? retryLongestDelay
        filled.retry = retry
        filled.httpMaximumConnectionsPerHost = maximum(
            filled.httpMaximumConnectionsPerHost, httpMaximumConnectionsPerHost)
        filled.maximumConcurrentTasks = maximum(filled.maximumConcurrentTasks, maximumConcurrentTasks)
        filled.connectionsPerDownload = filled.connectionsPerDownload ?? connectionsPerDownload
        filled.durability = filled.durability ?? durability
        filled.allowsArbitraryLoads = filled.allowsArbitraryLoads ?? allowsArbitraryLoads
        filled.launchInterval = filled.launchInterval ?? launchInterval
        filled.proxy = filled.proxy ?? proxy
        filled.caFile = filled.caFile ?? caFile
        filled.tlsMinimumVersion = filled.tlsMinimumVersion ?? tlsMinimumVersion
        return filled
    }

    /// A session's own maximum, or the configured one.
    private func maximum(_ own: Int?, _ configured: Int?) -> Int? {
        guard let own, let configured else { return own ?? configured }
        return maximumsAreCeilings ? min(own, configured) : own
    }
}
