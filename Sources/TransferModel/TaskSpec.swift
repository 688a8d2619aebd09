/// What a client asks for: one task as `task.add` takes it. Absent members fall to the session's configuration.
public struct TaskSpec: Hashable, Sendable {
    public var kind: TaskKind = .download
    /// Absent only where `resumeData` names it.
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
    /// Of the delivered file.
    public var checksum: Checksum?
    public var priority: TaskPriority?
    public var startPaused: Bool?
    public var earliestBeginAt: Timestamp?
    /// Fails any non-final state.
    public var deadlineAt: Timestamp?
    public var rateLimit: ByteRate?
    public var connections: Int?
    /// URL with scheme http, https, socks5 or socks5h, user info allowed; `none` switches proxies off.
    public var proxy: String?
    public var username: String?
    public var password: String?
    public var bearer: String?
    /// Path of a netrc file.
    public var netrc: String?
    public var httpVersion: HTTPVersion?
    /// Deliver with the server's modification time.
    public var preserveTime: Bool?
    public var description: String?
    public var tags: [String]?
    /// Makes the add idempotent for 24 h.
    public var clientToken: String?
    /// What `task.resumeData` returned.
    public var resumeData: String?
    public var caFile: String?
    public var clientCertificate: ClientCertificate?
    public var tlsMinimumVersion: TLSVersion?
    public var timeoutIntervalForRequest: Seconds?
    public var timeoutIntervalForResource: Seconds?
    public var retry: RetryPolicySpec?
    public var durability: Durability?
    public var allowsArbitraryLoads: Bool?
    public var requestCachePolicy: String?

    public init() {}
}

extension TaskSpec: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, url, mirrors, method, headers, body, destination, conflictPolicy, source, uploadProtocol,
            formField, formFields, fileName, contentType, uploadMetadata, interopVersion, uploadCreation,
            uploadChecksum, s3, checksum, priority, startPaused, earliestBeginAt, deadlineAt, rateLimit,
            connections, proxy, username, password, bearer, netrc, httpVersion, preserveTime, description,
            tags, clientToken, resumeData, caFile, clientCertificate, tlsMinimumVersion,
            timeoutIntervalForRequest, timeoutIntervalForResource, retry, durability, allowsArbitraryLoads,
            requestCachePolicy
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        kind = try fields.value(.kind) ?? .download
        url = try fields.value(.url)
        mirrors = try fields.value(.mirrors)
        method = try fields.value(.method)
        headers = try fields.value(.headers)
        body = try fields.value(.body)
        destination = try fields.value(.destination)
        conflictPolicy = try fields.value(.conflictPolicy)
        source = try fields.value(.source)
        uploadProtocol = try fields.value(.uploadProtocol)
        formField = try fields.value(.formField)
        formFields = try fields.value(.formFields)
        fileName = try fields.value(.fileName)
        contentType = try fields.value(.contentType)
        uploadMetadata = try fields.value(.uploadMetadata)
        interopVersion = try fields.value(.interopVersion)
        uploadCreation = try fields.value(.uploadCreation)
        uploadChecksum = try fields.value(.uploadChecksum)
        s3 = try fields.value(.s3)
        checksum = try fields.value(.checksum)
        priority = try fields.value(.priority)
        startPaused = try fields.value(.startPaused)
        earliestBeginAt = try fields.value(.earliestBeginAt)
        deadlineAt = try fields.value(.deadlineAt)
        rateLimit = try fields.value(.rateLimit)
        connections = try fields.value(.connections)
        proxy = try fields.value(.proxy)
        username = try fields.value(.username)
        password = try fields.value(.password)
        bearer = try fields.value(.bearer)
        netrc = try fields.value(.netrc)
        httpVersion = try fields.value(.httpVersion)
        preserveTime = try fields.value(.preserveTime)
        description = try fields.value(.description)
        tags = try fields.value(.tags)
        clientToken = try fields.value(.clientToken)
        resumeData = try fields.value(.resumeData)
        caFile = try fields.value(.caFile)
        clientCertificate = try fields.value(.clientCertificate)
        tlsMinimumVersion = try fields.value(.tlsMinimumVersion)
        timeoutIntervalForRequest = try fields.value(.timeoutIntervalForRequest)
        timeoutIntervalForResource = try fields.value(.timeoutIntervalForResource)
        retry = try fields.value(.retry)
        durability = try fields.value(.durability)
        allowsArbitraryLoads = try fields.value(.allowsArbitraryLoads)
        requestCachePolicy = try fields.value(.requestCachePolicy)
    }
}
