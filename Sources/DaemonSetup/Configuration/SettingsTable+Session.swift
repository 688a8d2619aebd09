import FileKit
import TransferModel

extension SettingsTable {
    /// Defaults of all sessions. A session's own configuration and a task's own fields take precedence.
    static let session: [Setting] = [
        Setting(
            "session.directory", .path, .optionalText(\.session.directory), example: "~/Downloads/incoming",
            default:
                "the desktop's download folder, else ~/Downloads; for the system daemon files/UID in the state folder",
            "Folder for downloads without a destination."),
        Setting(
            "session.conflictPolicy", .choice(of: ConflictPolicy.self), .choice(\.session.conflictPolicy),
            example: "overwrite",
            "What delivery does if a file already has the name: take another name, replace it, or fail the task."),
        Setting(
            "session.timeoutIntervalForRequest", .duration(1...86400), .duration(\.session.timeoutIntervalForRequest),
            example: "30s",
            "Time without a byte after which an attempt ends; the task is tried again."),
        Setting(
            "session.timeoutIntervalForResource", .duration(1...(36500.0 * 86400)),
            .duration(\.session.timeoutIntervalForResource), example: "12h",
            "Time after which an unfinished task fails, counted from its first queueing without paused time."),
        Setting(
            "session.retry.attempts", .integer(0...1_000_000), .integer(\.session.retryAttempts), example: "10",
            "Failures in a row, without progress in between, after which a task fails; 0 = unlimited."),
        Setting(
            "session.retry.firstDelay", .duration(0.01...86400), .duration(\.session.retryFirstDelay), example: "5s",
            "Upper bound of the first delay before another attempt; doubles with each failure in a row."),
        Setting(
            "session.retry.longestDelay", .duration(0.01...86400), .duration(\.session.retryLongestDelay),
            example: "1h",
            "Upper bound of every delay before another attempt that dld chooses; a server's Retry-After may say up to 24 h."
        ),
        Setting(
            "session.httpMaximumConnectionsPerHost", .integer(1...10000),
            .optionalInteger(\.session.httpMaximumConnectionsPerHost), example: "2",
            default: "the global maximumConcurrentTasksPerHost",
            """
            Tasks of one session that run at the same time for one host; the smaller of this and the global value applies.
            On the system daemon it is also a ceiling for every session.
            """),
        Setting(
            "session.maximumConcurrentTasks", .integer(1...10000),
            .optionalInteger(\.session.maximumConcurrentTasks), example: "4",
            default: "the global maximumConcurrentTasks",
            """
            Tasks of one session that run at the same time; the smaller of this and the global value applies. On the system
            daemon it is also a ceiling for every session.
            """),
        Setting(
            "session.connectionsPerDownload", .integer(1...64), .optionalInteger(\.session.connectionsPerDownload),
            example: "8", default: "1, and up to 4 if more are faster",
            "Connections that each http or https download opens at once, if the server supports ranges."),
        Setting(
            "session.durability", .choice(of: Durability.self), .choice(\.session.durability), example: "relaxed",
            "full: delivery waits until file and folder are on the disk; relaxed: it does not."),
        Setting(
            "session.allowsArbitraryLoads", .boolean, .boolean(\.session.allowsArbitraryLoads), example: "false",
            "False refuses plain http and ftp, including redirects to them (policy.plaintext_refused)."),
        Setting(
            "session.launchInterval", .duration(Bounds.launchInterval), .duration(\.session.launchInterval),
            example: "10m",
            "Shortest time between two starts of a session's `launch`; longer if the program fails (services.md)."),
        Setting(
            "session.proxy", .proxy, .optionalText(\.session.proxy), example: "socks5h://127.0.0.1:1080",
            default: "the environment: https_proxy, http_proxy, all_proxy, no_proxy",
            "Proxy for all transfers; none disables proxies. If it has user:password@, keep the file private."),
        Setting(
            "session.caFile", .path, .optionalText(\.session.caFile), example: "/etc/ssl/certs/example-ca.pem",
            default: "the system's store",
            "File of trusted PEM certificates for TLS servers, instead of the system's store."),
        Setting(
            "session.tlsMinimumVersion", .choice(of: TLSVersion.self), .choice(\.session.tlsMinimumVersion),
            example: "\"1.3\"",
            "Oldest TLS version to accept."),
    ]
}
