import TransferModel

/// A task may override some of these settings; `TaskSpec` takes their words from here.
extension SessionConfiguration: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .timeoutIntervalForRequest: .optional(.seconds, "Longest time without a byte; default: 60.")
        case .timeoutIntervalForResource:
            .optional(.seconds, "Longest time for the whole task, without paused time; default: 7 days.")
        case .httpMaximumConnectionsPerHost:
            .optional(.integer, "Tasks on one host; the smaller of this and the global setting applies.")
        case .httpAdditionalHeaders:
            .optional(HeaderField.wireType, "Header fields that are sent with each request that does not set them.")
        case .proxy: .optional(.string, "URL with scheme http, https, socks5 or socks5h, or `none`.")
        case .tlsMinimumVersion: .optional(.oneOf(TLSVersion.self), "Oldest TLS version to accept.")
        case .caFile: .optional(.string, "Path of a PEM file with the authorities to trust, instead of the system's.")
        case .clientCertificate:
            .optional(
                .object(ClientCertificate.self),
                "For servers that ask for one; shown only at the scheme, host and port of the task's own URL.")
        case .allowsArbitraryLoads:
            .optional(
                .boolean,
                "False: unencrypted transfers fail with `policy.plaintext_refused`; default: true. A task's value wins."
            )
        case .exceptionDomains:
            .optional(
                .map(.object(DomainException.self)),
                """
                Rules of their own for domains, by name or address, at most \(Bounds.exceptionDomains). The exception of the host's \
                name counts, else that of the longest domain above it with `includesSubdomains`. Names beyond ASCII are \
                compared as A-labels. They hold at each redirect too. What a task says itself goes before.
                """)
        case .hsts:
            .optional(
                .boolean,
                """
                True: hosts that ask for it in their answers over https (Strict-Transport-Security, RFC 6797) are reached over https \
                alone, first requests and redirects alike. The owner's sessions share what they learn; an `ephemeral` one learns \
                for itself, in memory. Default: true, but false for `background`.
                """)
        case .resumesUnproven:
            .optional(
                .boolean,
                "True: when a download resumes, a part (206) that does not repeat the ETag or Last-Modified is taken for the rest of the bytes held; default: false, so the download restarts from 0. Only for servers that never repeat it. A part of another version then goes unnoticed unless `checksum` is given. A task's value wins."
            )
        case .acceptsAnyStatus:
            .optional(
                .boolean,
                "True: every final HTTP response completes the task, whatever its status, and is not retried; default: false. Its body is delivered or kept like any other, and compared with `checksum` and `size`. Such a download uses one connection. A task's value wins."
            )
        case .waitsForConnectivity:
            .optional(
                .boolean,
                "False: a task fails at once (`network.*`) if there is no network, no address for the name, or no connection. `background` sessions always wait, regardless of this; others do so if this is true. A task's value wins."
            )
        case .sendsLaunchEvents:
            .optional(
                .boolean,
                "True: `launch` is started for final events, and for open questions, that `subscriber` has not acknowledged. See [services.md](services.md)."
            )
        case .asks:
            .optional(
                .list(.oneOf(DecisionKind.self)),
                "Decisions that are put to a client (`task.decision`, `decision.answer`); others follow their defaults. `cache` concerns data tasks of `default` and `ephemeral` sessions. See `daemon.info.features`: `decisions.*`."
            )
        case .subscriber:
            .optional(
                .string,
                "Durable name that acknowledges for this session; a new one starts at the head when the session is opened."
            )
        case .launch: .optional(.object(LaunchSpec.self), "The program or unit to start.")
        case .launchInterval:
            .optional(
                .seconds,
                "Shortest time between two starts, \(Bounds.words(Bounds.launchInterval)); default: 60. See [services.md](services.md)."
            )
        case .directory: .optional(.string, "Absolute path: folder of downloads without a destination.")
        case .conflictPolicy:
            .optional(
                .oneOf(ConflictPolicy.self), "What delivery does if a file already has the name; default: `rename`.")
        case .maximumConcurrentTasks: .optional(.integer, "Tasks of this session that run at the same time.")
        case .downloadRateLimit: .optional(.byteRate, "Rate limit of all downloads of this session together.")
        case .uploadRateLimit: .optional(.byteRate, "Rate limit of all uploads of this session together.")
        case .schedule: .optional(.list(.object(ScheduleWindow.self)), "Tasks run only inside one of these windows.")
        case .retry: .optional(.object(RetryPolicySpec.self), "When the task is tried again after a transient failure.")
        case .durability:
            .optional(
                .oneOf(Durability.self),
                """
                `full` (default): a file and its folder are synced before its task counts as complete. `relaxed`: they are \
                not; a power loss may remove or truncate files of the last seconds, a killed daemon does not.
                """)
        case .connectionsPerDownload:
            .optional(
                .integer,
                "`connections` of its tasks; default: one, and up to 4 while each makes a download faster.")
        case .httpCookieStorage:
            .optional(
                .oneOf(CookieStorageKind.self),
                """
                Cookies that servers set (RFC 6265bis) and tasks send. `shared`: the owner's, on the disk; `session`: the \
                session's own, in memory if it is volatile; `task`: of one task, through its redirects and retries; `none`: \
                neither taken nor sent. Default: `task` for `background`, `shared` for `default`, `session` for `ephemeral`, \
                which cannot have `shared`.
                """)
        case .httpCookieAcceptPolicy:
            .optional(
                .oneOf(CookieAcceptPolicy.self),
                """
                Which cookies are taken: `always` (default), `never`, or `onlyFromMainDocumentDomain`: only from the site \
                of the task's own URL, wherever redirects lead.
                """)
        case .httpShouldSetCookies:
            .optional(
                .boolean, "False: requests carry no stored cookies, only those of a `Cookie` header; default: true.")
        case .requestCachePolicy:
            .optional(
                .oneOf(RequestCachePolicy.self),
                """
                What data tasks do with stored answers ([cache](cache.md)); default: `useProtocolCachePolicy`. Without effect in \
                a `background` session, which has no cache.
                """)
        case .urlCache:
            .optional(
                .object(CacheCapacities.self),
                "A cache of the session's own; default: its owner's. `ephemeral` sessions always have their own, in memory."
            )
        case .isDiscretionary, .allowsExpensiveNetworkAccess, .allowsConstrainedNetworkAccess:
            .optional(.any, "Not built yet.")
        }
    }
}

extension RetryPolicySpec: WireObject {
    public static let wireName = "RetryPolicy"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .attempts:
            .optional(
                .integer,
                "Failures in a row, without progress in between, after which the task fails; 0 (default) = unlimited.")
        case .firstDelay: .optional(.seconds, "The longest delay after the first failure; default: 1.")
        case .longestDelay: .optional(.seconds, "The longest delay after any failure; default: 600.")
        }
    }
}

extension ClientCertificate: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .certificate: .required(.string, "Absolute path of a PEM certificate or chain.")
        case .key: .optional(.string, "Absolute path of the PEM key, if it is in another file.")
        case .password:
            .optional(.string, "Pass phrase of the key. Of a task: \(SecretText.shown). Of a session: never shown.")
        }
    }
}

extension ScheduleWindow: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .from: .required(.string, "HH:MM, local time.")
        case .to: .required(.string, "HH:MM; past midnight if it is not later than `from`.")
        case .days: .optional(.list(.integer), "Days on which it begins, 0 = Sunday; default: all.")
        }
    }
}

extension LaunchSpec: WireObject {
    public static let wireName = "Launch"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .unit: .optional(.string, "A systemd unit; exactly one of the two.")
        case .argv: .optional(.list(.string), "Program (absolute path) and arguments; user mode only.")
        }
    }
}

extension CacheCapacities: WireObject {
    public static let wireName = "CacheCapacities"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .memoryCapacity:
            .optional(.byteCount, "Bytes in memory; default: 4 MiB. One answer takes a twentieth at most.")
        case .diskCapacity:
            .optional(.byteCount, "Bytes on the disk; default: 20 MiB. One answer takes a twentieth at most.")
        }
    }
}
