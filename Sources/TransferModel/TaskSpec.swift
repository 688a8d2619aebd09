/// What a client asks for: one task as `task.add` takes it. For absent members, the session's configuration applies.
public struct TaskSpec: Hashable, Sendable {
    public var kind: TaskKind = .download
    /// Absent only if `resumeData` contains it.
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
    /// Digest of the delivered file.
    public var checksum: Checksum?
    /// Length of the delivered file.
    public var size: ByteCount?
    /// Digests of the delivered file's pieces: they tell which part of it is wrong.
    public var pieces: PieceDigests?
    public var priority: TaskPriority?
    public var startPaused: Bool?
    public var earliestBeginAt: Timestamp?
    /// The task fails if it has not ended by then.
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
    /// The initial content of the task's own jar.
    public var cookies: [Cookie]?
    public var httpVersion: HTTPVersion?
    /// The delivered file gets the server's modification time.
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
    /// Has no effect in a `background` session.
    public var waitsForConnectivity: Bool?
    /// Every final HTTP answer completes the task.
    public var acceptsAnyStatus: Bool?
    /// Parts that do not repeat their validator are taken for the rest of the held version.
    public var resumesUnproven: Bool?
    /// The body goes to the client as it arrives.
    public var stream: Bool?
    /// Only for data tasks of volatile sessions.
    public var requestCachePolicy: RequestCachePolicy?

    public init() {}
}

extension TaskSpec: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, url, mirrors, method, headers, body, destination, conflictPolicy, source, uploadProtocol,
            formField, formFields, fileName, contentType, uploadMetadata, interopVersion, uploadCreation,
            uploadChecksum, s3, checksum, size, pieces, priority, startPaused, earliestBeginAt, deadlineAt, rateLimit,
            connections, proxy, username, password, bearer, netrc, cookies, httpVersion, preserveTime, description,
            tags, clientToken, resumeData, caFile, clientCertificate, tlsMinimumVersion,
            timeoutIntervalForRequest, timeoutIntervalForResource, retry, durability, allowsArbitraryLoads,
            waitsForConnectivity, acceptsAnyStatus, resumesUnproven, stream, requestCachePolicy
    }

    public init(from decoder: any Decoder) throws {
        try StrictFields.each(of: decoder, named: Self.names) { key, field in
            switch key {
            case .kind: kind = try field.value() ?? .download
            case .url: url = try field.value()
            case .mirrors: mirrors = try field.value()
            case .method: method = try field.value()
            case .headers: headers = try field.value()
            case .body: body = try field.value()
            case .destination: destination = try field.value()
            case .conflictPolicy: conflictPolicy = try field.value()
            case .source: source = try field.value()
            case .uploadProtocol: uploadProtocol = try field.value()
            case .formField: formField = try field.value()
            case .formFields: formFields = try field.value()
            case .fileName: fileName = try field.value()
            case .contentType: contentType = try field.value()
            case .uploadMetadata: uploadMetadata = try field.value()
            case .interopVersion: interopVersion = try field.value()
            case .uploadCreation: uploadCreation = try field.value()
            case .uploadChecksum: uploadChecksum = try field.value()
            case .s3: s3 = try field.value()
            case .checksum: checksum = try field.value()
            case .size: size = try field.value()
            case .pieces: pieces = try field.value()
            case .priority: priority = try field.value()
            case .startPaused: startPaused = try field.value()
            case .earliestBeginAt: earliestBeginAt = try field.value()
            case .deadlineAt: deadlineAt = try field.value()
            case .rateLimit: rateLimit = try field.value()
            case .connections: connections = try field.value()
            case .proxy: proxy = try field.value()
            case .username: username = try field.value()
            case .password: password = try field.value()
            case .bearer: bearer = try field.value()
            case .netrc: netrc = try field.value()
            case .cookies: cookies = try field.value()
            case .httpVersion: httpVersion = try field.value()
            case .preserveTime: preserveTime = try field.value()
            case .description: description = try field.value()
            case .tags: tags = try field.value()
            case .clientToken: clientToken = try field.value()
            case .resumeData: resumeData = try field.value()
            case .caFile: caFile = try field.value()
            case .clientCertificate: clientCertificate = try field.value()
            case .tlsMinimumVersion: tlsMinimumVersion = try field.value()
            case .timeoutIntervalForRequest: timeoutIntervalForRequest = try field.value()
            case .timeoutIntervalForResource: timeoutIntervalForResource = try field.value()
            case .retry: retry = try field.value()
            case .durability: durability = try field.value()
            case .allowsArbitraryLoads: allowsArbitraryLoads = try field.value()
            case .waitsForConnectivity: waitsForConnectivity = try field.value()
            case .acceptsAnyStatus: acceptsAnyStatus = try field.value()
            case .resumesUnproven: resumesUnproven = try field.value()
            case .stream: stream = try field.value()
            case .requestCachePolicy: requestCachePolicy = try field.value()
            }
        }
    }

    private static let names = JSONNames(CodingKeys.self)

    public func encode(to encoder: any Encoder) throws {
        var fields = FieldWriter(encoder, CodingKeys.self)
        try fields.write(kind, .kind)
        try fields.write(url, .url)
        try fields.write(mirrors, .mirrors)
        try fields.write(method, .method)
        try fields.write(headers, .headers)
        try fields.write(body, .body)
        try fields.write(destination, .destination)
        try fields.write(conflictPolicy, .conflictPolicy)
        try fields.write(source, .source)
        try fields.write(uploadProtocol, .uploadProtocol)
        try fields.write(formField, .formField)
        try fields.write(formFields, .formFields)
        try fields.write(fileName, .fileName)
        try fields.write(contentType, .contentType)
        try fields.write(uploadMetadata, .uploadMetadata)
        try fields.write(interopVersion, .interopVersion)
        try fields.write(uploadCreation, .uploadCreation)
        try fields.write(uploadChecksum, .uploadChecksum)
        try fields.write(s3, .s3)
        try fields.write(checksum, .checksum)
        try fields.write(size, .size)
        try fields.write(pieces, .pieces)
        try fields.write(priority, .priority)
        try fields.write(startPaused, .startPaused)
        try fields.write(earliestBeginAt, .earliestBeginAt)
        try fields.write(deadlineAt, .deadlineAt)
        try fields.write(rateLimit, .rateLimit)
        try fields.write(connections, .connections)
        try fields.write(proxy, .proxy)
        try fields.write(username, .username)
        try fields.write(password, .password)
        try fields.write(bearer, .bearer)
        try fields.write(netrc, .netrc)
        try fields.write(cookies, .cookies)
        try fields.write(httpVersion, .httpVersion)
        try fields.write(preserveTime, .preserveTime)
        try fields.write(description, .description)
        try fields.write(tags, .tags)
        try fields.write(clientToken, .clientToken)
        try fields.write(resumeData, .resumeData)
        try fields.write(caFile, .caFile)
        try fields.write(clientCertificate, .clientCertificate)
        try fields.write(tlsMinimumVersion, .tlsMinimumVersion)
        try fields.write(timeoutIntervalForRequest, .timeoutIntervalForRequest)
        try fields.write(timeoutIntervalForResource, .timeoutIntervalForResource)
        try fields.write(retry, .retry)
        try fields.write(durability, .durability)
        try fields.write(allowsArbitraryLoads, .allowsArbitraryLoads)
        try fields.write(waitsForConnectivity, .waitsForConnectivity)
        try fields.write(acceptsAnyStatus, .acceptsAnyStatus)
        try fields.write(resumesUnproven, .resumesUnproven)
        try fields.write(stream, .stream)
        try fields.write(requestCachePolicy, .requestCachePolicy)
    }
}
