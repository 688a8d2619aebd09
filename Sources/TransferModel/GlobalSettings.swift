/// The settings that `settings.get` and `settings.set` handle, with the values in force.
///
/// `SettingName` lists them; the configuration in DaemonSetup knows where each value comes from.
public struct GlobalSettings: Hashable, Sendable {
    public var maximumConcurrentTasks = 32
    public var maximumConcurrentTasksPerHost = 6
    /// nil = no limit.
    public var maximumConcurrentTasksPerUser: Int?
    /// Of a user's tasks that have not ended; nil = no limit.
    public var maximumQueuedTasksPerUser: Int?
    public var downloadRateLimit: ByteRate = 0
    public var uploadRateLimit: ByteRate = 0
    public var minimumFreeSpace: ByteCount = 0
    public var historyRetention = Seconds(30 * 86400)
    public var eventRetention = Seconds(30 * 86400)
    public var eventRetentionCount = 1_000_000
    public var progressInterval: Seconds = 0.5
    public var diskPollInterval: Seconds = 2
    public var lowDataMode = false
    public var keepsAwake = false

    public init() {}
}

public enum SettingName: String, Word {
    case maximumConcurrentTasks, maximumConcurrentTasksPerHost, maximumConcurrentTasksPerUser,
        maximumQueuedTasksPerUser, downloadRateLimit, uploadRateLimit, minimumFreeSpace, historyRetention,
        eventRetention, eventRetentionCount, progressInterval, diskPollInterval, credentialHelper,
        lowDataMode, keepsAwake
}

/// Where a setting's value comes from, weakest first.
public enum SettingOrigin: String, Word {
    case `default`, systemFile, userFile, runtime, environment, flag
}
