import FileKit
import Logging
import TransferModel

/// The list of all settings. Configuration files, environment and `settings.get` are read and written by it, and
/// config/dld.yaml and docs/configuration.md are generated from it.
package enum SettingsTable {
    package static let all: [Setting] = places + access + limits + retention + pace + session

    static let manual = "docs/configuration.md"

    package static func setting(named name: String) -> Setting? { byName[name] }

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

    private static let century = 36500.0 * 86400
    private static let counts: ClosedRange<Int64> = 1...10000

    private static let places: [Setting] = [
        Setting(
            "socket", .path, .optionalText(\.socket), example: "/run/user/1000/dld/dld.sock", effect: .restart,
            default: "dld/dld.sock in $XDG_RUNTIME_DIR; /run/dld/dld.sock for the system daemon",
            sharedFileHoldsForUsers: false,
            """
            Path of the Unix socket for clients, at most 107 bytes. The daemon also always listens on dld.sock in the state
            folder; without XDG_RUNTIME_DIR that is the only one. A socket passed by systemd replaces this one.
            """),
        Setting(
            "stateDirectory", .path, .optionalText(\.stateDirectory), example: "~/.local/state/dld", effect: .restart,
            default: "$STATE_DIRECTORY, else dld in $XDG_STATE_HOME; /var/lib/dld for the system daemon",
            sharedFileHoldsForUsers: false,
            """
            Folder of the database and the offset journal; only one daemon can use it at a time. Keep it on a local
            disk.
            """),
        Setting(
            "logLevel", .choice(of: Logger.Level.self), .choice(\.logLevel), example: "debug",
            "The lowest level of messages that are logged to standard error."),
        Setting(
            "knownHosts", .path, .optionalText(\.knownHosts), example: "/etc/ssh/ssh_known_hosts",
            default: "~/.ssh/known_hosts; /etc/ssh/ssh_known_hosts for the system daemon",
            """
            OpenSSH known_hosts file that sftp servers are checked against. A server whose key is not in it is
            refused (tls.untrusted).
            """),
        Setting(
            "credentialHelper", .text, .optionalText(\.credentialHelper), example: "git credential-libsecret",
            default: "none", runtime: .credentialHelper,
            """
            Program, with arguments between spaces, that speaks git's credential protocol (git-credential(1)). It is asked for
            the credentials of servers and proxies that tasks and store have none for, and told which worked. A
            user's daemon runs it as that user; the system daemon ignores it.
            """),
        Setting(
            "userAgent", .text, .optionalText(\.userAgent), example: "dld (ops@example.org)", effect: .restart,
            default: "dld/VERSION",
            "User-Agent of HTTP requests that do not set their own."),
    ]

    private static let access: [Setting] = [
        Setting(
            "adminGroup", .text, .text(\.adminGroup), example: "adm", effect: .restart,
            """
            Group whose members, like root, see and control the tasks of all users on the system daemon. A
            user's daemon ignores it.
            """),
        Setting(
            "allowedUnits", .list, .list(\.allowedUnits), example: "[import.service, index.service]",
            effect: .restart,
            """
            Full names of the units that sessions of the system daemon may name in `launch`. Every user who may connect
            can then have these units started, so list only units that are harmless to start. polkit must also allow
            user dld to start them. A user's daemon uses that user's own systemd and ignores this setting.
            """),
    ]

    private static let limits: [Setting] = [
        Setting(
            "maximumConnections", .integer(8...15000), .integer(\.maximumConnections), example: "4096",
            effect: .restart,
            "Client connections at the same time; further ones are refused."),
        Setting(
            "maximumConnectionsPerUser", .integer(1...15000), .integer(\.maximumConnectionsPerUser), example: "64",
            effect: .restart,
            "The same for one user; root is exempt."),
        Setting(
            "maximumConcurrentTasks", .integer(counts), .integer(\.global.maximumConcurrentTasks), example: "8",
            runtime: .maximumConcurrentTasks,
            "Tasks that run at the same time, all sessions together."),
        Setting(
            "maximumConcurrentTasksPerHost", .integer(counts), .integer(\.global.maximumConcurrentTasksPerHost),
            example: "2", runtime: .maximumConcurrentTasksPerHost,
            "Tasks that run at the same time for one host (scheme, name and port), all sessions together."),
        Setting(
            "maximumConcurrentTasksPerUser", .integer(0...counts.upperBound),
            .limit(\.global.maximumConcurrentTasksPerUser), example: "8", sharedFileBindsUsers: true,
            runtime: .maximumConcurrentTasksPerUser,
            """
            Tasks of one user that run at the same time, all sessions together; 0 = no limit. In /etc it also binds every
            user's daemon, whatever that user sets.
            """),
        Setting(
            "maximumQueuedTasksPerUser", .integer(0...100_000_000), .limit(\.global.maximumQueuedTasksPerUser),
            example: "10000", sharedFileBindsUsers: true, runtime: .maximumQueuedTasksPerUser,
            """
            Tasks of one user that have not ended (queued, running, waiting or paused); 0 = no limit. Adding more, or
            retrying tasks that have ended, is refused (limit.reached). In /etc it also binds every user's daemon,
            whatever that user sets.
            """),
        Setting(
            "downloadRateLimit", .rate, .rate(\.global.downloadRateLimit), example: "2M",
            runtime: .downloadRateLimit,
            "Bytes received per second, all tasks together; 0 = unlimited."),
        Setting(
            "uploadRateLimit", .rate, .rate(\.global.uploadRateLimit), example: "500k",
            runtime: .uploadRateLimit,
            "Bytes sent per second, all uploads together; 0 = unlimited."),
        Setting(
            "minimumFreeSpace", .size(0...(1 << 50)), .size(\.global.minimumFreeSpace), example: "1G",
            runtime: .minimumFreeSpace,
            "A download waits (disk) if less than this plus 1 MiB is free on its file system when it begins. Running downloads may use the space."
        ),
    ]

    private static let retention: [Setting] = [
        Setting(
            "historyRetention", .duration(0...century), .duration(\.global.historyRetention), example: "7d",
            runtime: .historyRetention,
            "How long completed, failed and cancelled tasks are kept in the list; 0 = for ever. Delivered files stay."),
        Setting(
            "eventRetention", .duration(0...century), .duration(\.global.eventRetention), example: "90d",
            runtime: .eventRetention,
            "How long events are kept; 0 = until `eventRetentionCount` removes them."),
        Setting(
            "eventRetentionCount", .integer(0...100_000_000), .integer(\.global.eventRetentionCount),
            example: "100000", runtime: .eventRetentionCount,
            """
            Maximum number of events kept, of all users together; 0 = no limit. The oldest events of the user with the most
            are removed first; a user with less than an equal share loses none. The log is checked once a minute.
            """),
    ]

    private static let pace: [Setting] = [
        Setting(
            "progressInterval", .duration(Bounds.progressInterval), .duration(\.global.progressInterval), example: "2s",
            runtime: .progressInterval,
            "Shortest time between two progress events of one task."),
        Setting(
            "diskPollInterval", .duration(0.1...3600), .duration(\.global.diskPollInterval), example: "30s",
            runtime: .diskPollInterval,
            "How often free space and mounts are checked while tasks wait for a disk."),
        Setting(
            "lowDataMode", .boolean, .boolean(\.global.lowDataMode), example: "true", runtime: .lowDataMode,
            "True: tasks whose allowsConstrainedNetworkAccess is false wait until it is false again."),
        Setting(
            "keepsAwake", .boolean, .boolean(\.global.keepsAwake), example: "true", runtime: .keepsAwake,
            "True: the machine does not fall asleep by itself while transfers run, if the system permits that."),
    ]
}

// MARK: - Session

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
