/// What a client asks for: one task as `task.add` takes it. For absent members, the session's configuration applies.
public struct TaskSpec: Hashable, Sendable {
    public var kind: TaskKind = .download
    public var url: String?
    public var mirrors: [String]?
    public var method: String?
    public var headers: [HeaderField]?
    public var body: RequestBody?
    public var destination: Destination?
    public var conflictPolicy: ConflictPolicy?
    public var source: SourceFile?
    public var uploadProtocol: String?
    public var formField: String?
    public var formFields: [String: String]?
    public var fileName: String?
    public var contentType: String?
    public var uploadMetadata: [String: String]?
    public var interopVersion: Int?
    public var uploadCreation: String?
    public var uploadChecksum: DigestAlgorithm?
    public var s3: S3Upload?
    public var checksum: Checksum?
    public var size: ByteCount?
    public var pieces: PieceDigests?
    public var priority: TaskPriority?
    public var startPaused: Bool?
    public var earliestBeginAt: Timestamp?
    public var deadlineAt: Timestamp?
    public var rateLimit: ByteRate?
    public var connections: Int?
    /// URL with scheme http, https, socks5 or socks5h, user info allowed; `none` switches proxies off.
    public var proxy: String?
    public var interface: String?
    public var username: String?
    public var password: String?
    public var bearer: String?
    public var netrc: String?
    public var cookies: [Cookie]?
    public var httpVersion: HTTPVersion?
    public var preserveTime: Bool?
    public var description: String?
    public var tags: [String]?
    public var attributes: [String: String]?
    /// Makes the add idempotent for 24 h.
    public var clientToken: String?
    public var resumeData: String?
    public var caFile: String?
    public var clientCertificate: ClientCertificate?
    public var tlsMinimumVersion: TLSVersion?
    public var timeoutIntervalForRequest: Seconds?
    public var timeoutIntervalForResource: Seconds?
    public var retry: RetryPolicySpec?
    public var durability: Durability?
    public var allowsArbitraryLoads: Bool?
    /// Has no effect in a `background` session.
    public var waitsForConnectivity: Bool?
    public var allowsExpensiveNetworkAccess: Bool?
    public var allowsCellularAccess: Bool?
    public var allowsConstrainedNetworkAccess: Bool?
    public var isDiscretionary: Bool?
    /// Every final HTTP answer completes the task.
    public var acceptsAnyStatus: Bool?
    /// Parts that do not repeat their validator are taken for the rest of the held version.
    public var resumesUnproven: Bool?
    public var stream: Bool?
    public var requestCachePolicy: RequestCachePolicy?

    public init() {}
}

extension TaskSpec: WireObject {
    public static let shape = Shape("TaskSpec", Self()) { row in
        row(
            "kind", \.kind,
            "`download` to a file (default), `upload` of a file, `data`: a request whose response is kept, or sent to the client as it arrives (`stream`).",
            isRequired: false)
        row("url", \.url, "The URL; required unless `resumeData` is given.", secrecy: .userInfo, option: "URL")
        row(
            "mirrors", \.mirrors,
            "Downloads: other URLs of the same file (http, https, ftp, ftps, sftp), tried in order after a failure. With "
                + "`checksum`, or a SHA-2 digest from the server, parts come from several at once over http and https.",
            secrecy: .userInfo, option: "--mirror")
        row("method", \.method, "HTTP method; default: that of the kind and protocol.", option: "-X")
        row(
            "headers", \.headers,
            "HTTP header fields as [name, value], in order. A data task that sets its own Accept-Encoding gets the body as it was sent. Other data tasks ask for the content codings that dld supports, and keep the decoded body.",
            secrecy: .whole, option: "-H")
        row("body", \.body, "HTTP request body; for uploads, instead of `source`.", secrecy: .whole, option: "-d")
        row(
            "destination", \.destination,
            "Downloads: where the file goes; default: the session's `directory`. A coded body (gzip, deflate, br, zstd) is decoded at delivery, unless the name or the media type is that of the format.",
            of: .downloads, option: "-d")
        row(
            "conflictPolicy", \.conflictPolicy, "What delivery does if a file already has the name.", of: .downloads,
            option: "--on-conflict")
        row("source", \.source, "The file to send; do not change it until it is sent.", of: .uploads, option: "FILE")
        row(
            "uploadProtocol", \.uploadProtocol,
            "How the file is sent. `auto` asks the server, and uses PUT if it has no upload protocol: to the URL or, if the "
                + "URL ends in a slash, to the file's name below it. ftp, ftps and sftp have their own protocol and treat "
                + "a slash in the same way.",
            as: .choice(["auto", "put", "post", "multipart", "tus", "resumable", "contentRange", "s3Multipart"]),
            of: .uploads, option: "--protocol")
        row(
            "formField", \.formField, "`multipart`: name of the file's field; default: `file`.",
            of: .uploadsBy([.multipart]), option: "--form")
        row(
            "formFields", \.formFields, "`multipart`: other fields; \(Secrecy.shown).", secrecy: .whole,
            of: .uploadsBy([.multipart]), option: "--field")
        row(
            "fileName", \.fileName, "Name sent to the server or given to the file; default: the source's.",
            of: .uploads, option: "--file-name")
        row("contentType", \.contentType, "Media type of the file.", option: "--content-type")
        row(
            "uploadMetadata", \.uploadMetadata, "`tus`: the field Upload-Metadata.", of: .uploadsBy([.tus]),
            option: "--metadata")
        row(
            "interopVersion", \.interopVersion, "`resumable`: 3, 5, 6 or 8 (default).", of: .uploadsBy([.resumable]),
            option: "--interop-version")
        row(
            "uploadCreation", \.uploadCreation,
            "`resumable`: create an empty upload first (default), or send data with the creation and rely on 104.",
            as: .choice(["careful", "optimistic"]), of: .uploadsBy([.resumable]))
        row(
            "uploadChecksum", \.uploadChecksum, "The digest to send, if the protocol supports one.", of: .uploads,
            option: "--send-checksum")
        row(
            "s3", \.s3, "`s3Multipart`: presigned URLs; \(Secrecy.shown).", secrecy: .whole,
            of: .uploadsBy([.s3Multipart]), option: "--s3")
        row("checksum", \.checksum, "Digest of the delivered file.", of: .downloads, option: "--checksum")
        row(
            "size", \.size,
            "Downloads: length of the file. Mirrors with another length are not used; if there is no other, the task "
                + "fails (`integrity.length`).", of: .downloads)
        row(
            "pieces", \.pieces,
            "Downloads: digests of its pieces. Only wrong pieces are fetched again, from another mirror first.",
            secrecy: .whole, of: .downloads)
        row("priority", \.priority, "`low` (0.25), `normal` (0.5), `high` (0.75), or 0 to 1.", option: "--priority")
        row("startPaused", \.startPaused, "True: the task is added in the state `paused`.", option: "--paused")
        row("earliestBeginAt", \.earliestBeginAt, "The task does not start before this time.", option: "--at")
        row(
            "deadlineAt", \.deadlineAt,
            "The task fails at this time unless it has ended; with a time in the past it fails at once.",
            option: "--deadline")
        row("rateLimit", \.rateLimit, "Rate limit of this task.", option: "--limit")
        row(
            "connections", \.connections,
            "Downloads over http and https: connections opened at once, 1 to 64, if the server supports ranges and has a strong validator; default: the session's `connectionsPerDownload`.",
            of: .downloads, option: "-x")
        row(
            "proxy", \.proxy, "URL with scheme http, https, socks5 or socks5h, or `none`.", secrecy: .userInfo,
            option: "--proxy")
        row(inherited: "interface", \.interface, option: "--interface")
        row("username", \.username, "User name for Basic, Digest, NTLM, Negotiate, FTP and SFTP.", option: "--user")
        row("password", \.password, "Of `username`; \(Secrecy.shown).", secrecy: .whole, option: "--user")
        row(
            "bearer", \.bearer, "Token for `Authorization: Bearer`; \(Secrecy.shown).", secrecy: .whole,
            option: "--bearer-file")
        row(
            "netrc", \.netrc,
            "Path of a netrc file; it is used for the scheme, host and port of the task's own URL only.",
            option: "the netrc file")
        row(
            "cookies", \.cookies,
            "Up to \(Bounds.cookiesOfTask), as in `cookies.set`; \(Secrecy.shown). The task then has a jar of its own, whatever its session's `httpCookieStorage`, and each attempt after a restart of the daemon begins with them anew.",
            secrecy: .whole, option: "--cookies")
        row("httpVersion", \.httpVersion, "Newest version to use.", option: "--http-version")
        row(
            "preserveTime", \.preserveTime, "True: the file gets the server's modification time.", of: .downloads,
            option: "--preserve-time")
        row("description", \.description, "Free text.", option: "--description")
        row("tags", \.tags, "Free words.", option: "--tag")
        row(
            "attributes", \.attributes,
            "Names and values that clients keep with the task; they mean nothing to the daemon and are shown as they are.",
            option: "--attribute")
        row(
            "clientToken", \.clientToken,
            "1 to 255 bytes, shown in the task and in its events. If an owner repeats a token within 24 h, the answer is "
                + "the task it added (`existing`), even if that was removed. With another specification or session it "
                + "is refused (`request.token_reused`).", option: "--client-token")
        row("resumeData", \.resumeData, "The result of task.resumeData.", secrecy: .whole, option: "--resume-data")
        row(inherited: "caFile", \.caFile, option: "--ca-file")
        row(inherited: "clientCertificate", \.clientCertificate, secrecy: .whole, option: "--cert")
        row(inherited: "tlsMinimumVersion", \.tlsMinimumVersion, option: "--tls-min")
        row(inherited: "timeoutIntervalForRequest", \.timeoutIntervalForRequest, option: "--timeout")
        row(inherited: "timeoutIntervalForResource", \.timeoutIntervalForResource, option: "--max-time")
        row(inherited: "retry", \.retry, option: "--retry")
        row(inherited: "durability", \.durability, of: .downloads)
        row(inherited: "allowsArbitraryLoads", \.allowsArbitraryLoads)
        row(inherited: "waitsForConnectivity", \.waitsForConnectivity)
        row(
            inherited: "allowsExpensiveNetworkAccess", \.allowsExpensiveNetworkAccess, option: "--not-metered")
        row(inherited: "allowsCellularAccess", \.allowsCellularAccess, option: "--not-cellular")
        row(
            inherited: "allowsConstrainedNetworkAccess", \.allowsConstrainedNetworkAccess, option: "--not-low-data")
        row(inherited: "isDiscretionary", \.isDiscretionary, option: "--discretionary")
        row(inherited: "acceptsAnyStatus", \.acceptsAnyStatus, option: "--accept-any-status")
        row(inherited: "resumesUnproven", \.resumesUnproven, of: .downloads, option: "--resume-unproven")
        row(
            "stream", \.stream,
            "Data tasks of volatile sessions. True: the body is not kept but sent as it arrives ([Streams](#streams)); default: false.",
            of: .dataTasks)
        row(
            "requestCachePolicy", \.requestCachePolicy,
            "Data tasks of volatile sessions: what is done with stored answers ([cache](cache.md)); default: the session's.",
            of: .dataTasks)
    }
}

extension Rows<TaskSpec> {
    /// A setting of the session that a task may override is documented once, there.
    fileprivate mutating func callAsFunction<Value: WireValue>(
        inherited name: String, _ path: WritableKeyPath<TaskSpec, Value?> & Sendable, secrecy: Secrecy = .none,
        of tasks: TaskUse? = nil, option: String? = nil
    ) {
        self(name, path, SessionConfiguration.text(name), secrecy: secrecy, of: tasks, option: option)
    }
}

extension Secrecy {
    /// What members say about secrets.
    package static let shown = "shown only by `task.get` with `secrets`"
}
