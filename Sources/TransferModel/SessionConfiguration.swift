/// What the daemon starts if a session's subscriber has unseen final events: a systemd unit or, in user mode, a
/// program.
public struct LaunchSpec: Hashable, Sendable {
    public var unit: String?
    public var argv: [String]?

    public init() {}
}

extension LaunchSpec: WireObject {
    public static let shape = Shape("Launch", Self()) { row in
        row("unit", \.unit, "A systemd unit; exactly one of the two.")
        row("argv", \.argv, "Program (absolute path) and arguments; user mode only.")
    }
}

/// A daily window in local time: `begin` and `end` as HH:MM (past midnight if `end` ≤ `begin`), on `days` (0 = Sunday;
/// nil = every day).
public struct ScheduleWindow: Hashable, Sendable {
    public var begin: String
    public var end: String
    public var days: [Int]?
    public var downloadRateLimit: ByteRate?
    public var uploadRateLimit: ByteRate?

    public init(begin: String, end: String) {
        self.begin = begin
        self.end = end
    }
}

extension ScheduleWindow: WireObject {
    public static let shape = Shape("ScheduleWindow", Self(begin: "", end: "")) { row in
        row("begin", \.begin, "HH:MM, local time.", was: "from")
        row("end", \.end, "HH:MM; past midnight if it is not later than `begin`.", was: "to")
        row("days", \.days, "Days on which it begins, 0 = Sunday; default: all.")
        row(
            "downloadRateLimit", \.downloadRateLimit,
            "While it is open: rate limit of all downloads of the session together; default: none.")
        row("uploadRateLimit", \.uploadRateLimit, "The same for uploads.")
    }
}

extension ScheduleWindow {
    package var limitsRates: Bool { ByteRate.lowest(of: [downloadRateLimit, uploadRateLimit]) > .unlimited }
}

/// Chooses the directory of files of these types and names, if the task names none.
public struct DirectoryRule: Hashable, Sendable {
    public var types: [String]?
    public var names: [String]?
    public var directory: String

    public init(directory: String) { self.directory = directory }
}

extension DirectoryRule: WireObject {
    public static let shape = Shape("DirectoryRule", Self(directory: "")) { row in
        row("types", \.types, "Media types of the answer, such as `application/zip` or `video/*`; default: all.")
        row(
            "names", \.names,
            "Patterns of the file's name, such as `*.iso`: `*` is any text, `?` one character, in upper or lower case; default: all."
        )
        row("directory", \.directory, "Absolute path.")
    }
}

/// What a session sets for its tasks; names follow URLSessionConfiguration where it has one.
public struct SessionConfiguration: Hashable, Sendable {
    public var timeoutIntervalForRequest: Seconds?
    public var timeoutIntervalForResource: Seconds?
    public var httpMaximumConnectionsPerHost: Int?
    public var httpAdditionalHeaders: [HeaderField]?
    public var requestCachePolicy: RequestCachePolicy?
    public var urlCache: CacheCapacities?
    public var httpCookieStorage: CookieStorageKind?
    public var httpCookieAcceptPolicy: CookieAcceptPolicy?
    public var httpShouldSetCookies: Bool?
    public var proxy: String?
    public var interface: String?
    public var tlsMinimumVersion: TLSVersion?
    public var caFile: String?
    public var clientCertificate: ClientCertificate?
    public var allowsArbitraryLoads: Bool?
    public var exceptionDomains: [String: DomainException]?
    public var hsts: Bool?
    public var acceptsAnyStatus: Bool?
    public var resumesUnproven: Bool?
    public var waitsForConnectivity: Bool?
    public var allowsExpensiveNetworkAccess: Bool?
    public var allowsCellularAccess: Bool?
    public var allowsConstrainedNetworkAccess: Bool?
    public var isDiscretionary: Bool?
    public var sendsLaunchEvents: Bool?
    public var asks: [DecisionKind]?
    public var subscriber: String?
    public var launch: LaunchSpec?
    public var launchInterval: Seconds?
    public var directory: String?
    public var directories: [DirectoryRule]?
    public var conflictPolicy: ConflictPolicy?
    public var maximumConcurrentTasks: Int?
    public var downloadRateLimit: ByteRate?
    public var uploadRateLimit: ByteRate?
    public var schedule: [ScheduleWindow]?
    public var retry: RetryPolicySpec?
    public var connectionsPerDownload: Int?
    public var durability: Durability?

    /// Members that a message sets to null: a change unsets them.
    public private(set) var cleared: Set<String> = []

    public init() {}
}

extension SessionConfiguration: WireObject {
    public static let shape = Shape("SessionConfiguration", Self()) { row in
        row("timeoutIntervalForRequest", \.timeoutIntervalForRequest, "Longest time without a byte; default: 60.")
        row(
            "timeoutIntervalForResource", \.timeoutIntervalForResource,
            "Longest time for the whole task, without paused time; default: 7 days.")
        row(
            "httpMaximumConnectionsPerHost", \.httpMaximumConnectionsPerHost,
            "Tasks on one host; the smaller of this and the global setting applies.")
        row(
            "httpAdditionalHeaders", \.httpAdditionalHeaders,
            "Header fields that are sent with each request that does not set them.")
        row(
            "requestCachePolicy", \.requestCachePolicy,
            """
            What data tasks do with stored answers ([cache](cache.md)); default: `useProtocolCachePolicy`. Without effect in \
            a `background` session, which has no cache.
            """)
        row(
            "urlCache", \.urlCache,
            "A cache of the session's own; default: its owner's. `ephemeral` sessions always have their own, in memory."
        )
        row(
            "httpCookieStorage", \.httpCookieStorage,
            """
            Cookies that servers set (RFC 6265bis) and tasks send. `shared`: the owner's, on the disk; `session`: the \
            session's own, in memory if it is volatile; `task`: of one task, through its redirects and retries; `none`: \
            neither taken nor sent. Default: `task` for `background`, `shared` for `default`, `session` for `ephemeral`, \
            which cannot have `shared`.
            """)
        row(
            "httpCookieAcceptPolicy", \.httpCookieAcceptPolicy,
            """
            Which cookies are taken: `always` (default), `never`, or `onlyFromMainDocumentDomain`: only from the site \
            of the task's own URL, wherever redirects lead.
            """)
        row(
            "httpShouldSetCookies", \.httpShouldSetCookies,
            "False: requests carry no stored cookies, only those of a `Cookie` header; default: true.")
        row("proxy", \.proxy, "URL with scheme http, https, socks5 or socks5h, or `none`.")
        row(
            "interface", \.interface,
            """
            A network device (`eth0`, `if!eth0`), or an IP address that one has. Every connection leaves by that device, also \
            to a proxy, a mirror or the target of a redirect, and with an address it comes from that. While no such device is \
            up, tasks wait (`network`). Not bound are name resolution and requests for Kerberos tickets, which the system's libraries \
            make. Tasks of helpers are refused.
            """)
        row("tlsMinimumVersion", \.tlsMinimumVersion, "Oldest TLS version to accept.")
        row("caFile", \.caFile, "Path of a PEM file with the authorities to trust, instead of the system's.")
        row(
            "clientCertificate", \.clientCertificate,
            "For servers that ask for one; shown only at the scheme, host and port of the task's own URL.")
        row(
            "allowsArbitraryLoads", \.allowsArbitraryLoads,
            "False: unencrypted transfers fail with `policy.plaintext_refused`; default: true. A task's value wins.")
        row(
            "exceptionDomains", \.exceptionDomains,
            """
            Rules of their own for domains, by name or address, at most \(Bounds.exceptionDomains). The exception of the host's \
            name counts, else that of the longest domain above it with `includesSubdomains`. Names beyond ASCII are \
            compared as A-labels. They hold at each redirect too. What a task says itself goes before.
            """)
        row(
            "hsts", \.hsts,
            """
            True: hosts that ask for it in their answers over https (Strict-Transport-Security, RFC 6797) are reached over https \
            alone, first requests and redirects alike. The owner's sessions share what they learn; an `ephemeral` one learns \
            for itself, in memory. Default: true, but false for `background`.
            """)
        row(
            "acceptsAnyStatus", \.acceptsAnyStatus,
            "True: every final HTTP response completes the task, whatever its status, and is not retried; default: false. Its body is delivered or kept like any other, and compared with `checksum` and `size`. Such a download uses one connection. A task's value wins."
        )
        row(
            "resumesUnproven", \.resumesUnproven,
            "True: when a download resumes, a part (206) that does not repeat the ETag or Last-Modified is taken for the rest of the bytes held; default: false, so the download restarts from 0. Only for servers that never repeat it. A part of another version then goes unnoticed unless `checksum` is given. A task's value wins."
        )
        row(
            "waitsForConnectivity", \.waitsForConnectivity,
            "False: a task fails at once (`network.*`) if there is no network, no address for the name, or no connection. `background` sessions always wait, regardless of this; others do so if this is true. A task's value wins."
        )
        row(
            "allowsExpensiveNetworkAccess", \.allowsExpensiveNetworkAccess,
            "False: a task waits (`metered`) while the network is metered; default: true. A task's value wins.")
        row(
            "allowsCellularAccess", \.allowsCellularAccess,
            "False: a task waits (`metered`) while the network is cellular; default: true. A task's value wins.")
        row(
            "allowsConstrainedNetworkAccess", \.allowsConstrainedNetworkAccess,
            "False: a task waits (`metered`) while `lowDataMode` is set; default: true. A task's value wins.")
        row(
            "isDiscretionary", \.isDiscretionary,
            "True: a task waits (`power`) while the network is metered or the machine runs on battery; default: false. A task's value wins."
        )
        row(
            "sendsLaunchEvents", \.sendsLaunchEvents,
            "True: `launch` is started for final events, and for open questions, that `subscriber` has not acknowledged. See [services.md](services.md)."
        )
        row(
            "asks", \.asks,
            "Decisions that are put to a client (`task.decision`, `decision.answer`); others follow their defaults. `cache` concerns data tasks of `default` and `ephemeral` sessions. See `daemon.info.features`: `decisions.*`."
        )
        row(
            "subscriber", \.subscriber,
            "Durable name that acknowledges for this session; a new one starts at the head when the session is opened.")
        row("launch", \.launch, "The program or unit to start.")
        row(
            "launchInterval", \.launchInterval,
            "Shortest time between two starts, \(Bounds.words(Bounds.launchInterval)); default: 60. See [services.md](services.md)."
        )
        row("directory", \.directory, "Absolute path: folder of downloads without a destination.")
        row(
            "directories", \.directories,
            """
            Folders by media type and name, for downloads that name no folder. The first rule that matches both counts. Until \
            the file is complete, its bytes are in `directory`; without a match it stays there.
            """)
        row("conflictPolicy", \.conflictPolicy, "What delivery does if a file already has the name; default: `rename`.")
        row("maximumConcurrentTasks", \.maximumConcurrentTasks, "Tasks of this session that run at the same time.")
        row("downloadRateLimit", \.downloadRateLimit, "Rate limit of all downloads of this session together.")
        row("uploadRateLimit", \.uploadRateLimit, "Rate limit of all uploads of this session together.")
        row(
            "schedule", \.schedule,
            """
            Tasks run only inside one of these windows. Of all rate limits that apply at a time (open windows, session, task \
            and settings), the lowest counts, also for running transfers.
            """)
        row("retry", \.retry, "When the task is tried again after a transient failure.")
        row(
            "connectionsPerDownload", \.connectionsPerDownload,
            "`connections` of its tasks; default: one, and up to 4 while each makes a download faster.")
        row(
            "durability", \.durability,
            """
            `full` (default): a file and its folder are synced before its task counts as complete. `relaxed`: they are \
            not; a power loss may remove or truncate files of the last seconds, a killed daemon does not.
            """)
    }

    public init(json node: JSONNode) throws(TransferError) {
        self = try Self.shape.read(node)
        cleared = Set(Self.shape.rows.map(\.name).filter(node.isNull))
    }

    public func write(to text: inout JSONWriter) {
        text.object { text in
            Self.shape.write(self, to: &text)
            for name in cleared.sorted() {
                text.name(name)
                text.null()
            }
        }
    }
}

extension SessionConfiguration {
    /// Unsets a member, as null does in a message.
    public mutating func clear<Value>(_ member: WritableKeyPath<Self, Value?>) {
        self[keyPath: member] = nil
        if let row = Self.shape.rows.first(where: { $0.path as AnyKeyPath? == member }) { cleared.insert(row.name) }
    }

    /// The members that say which network and power tasks wait for; tasks have them too.
    package static let conditions: Set = [
        "allowsExpensiveNetworkAccess", "allowsCellularAccess", "allowsConstrainedNetworkAccess", "isDiscretionary",
    ]

    /// The members that a change sets or unsets.
    package var namedMembers: [String] { (Self.shape.present(in: self).map(\.name) + cleared).sorted() }

    /// This configuration with the members that `change` sets, and without those that it sets to null.
    public func changed(by change: SessionConfiguration) -> SessionConfiguration {
        var result = self
        for row in Self.shape.rows {
            if change.cleared.contains(row.name) { row.clear(&result) }
            row.copy(change, &result)
        }
        result.cleared = []
        return result
    }
}
