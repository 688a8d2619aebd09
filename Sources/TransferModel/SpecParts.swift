/// A header field as the caller wrote it; on the wire `[name, value]`. Order and repeats are kept.
public struct HeaderField: Hashable, Sendable, Codable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    public init(from decoder: any Decoder) throws {
        let pair = try decoder.singleValueContainer().decode([String].self)
        guard pair.count == 2 else {
            let path = fieldPath(decoder.codingPath)
            throw TransferError.bad(path, "a header is [name, value].")
        }
        self.init(pair[0], pair[1])
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode([name, value])
    }

    /// Whether `text` is a token (RFC 9110 section 5.6.2), which names of fields and methods must be.
    public static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Whether a token may hold it.
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

/// The digest that the delivered file must have; `value` in hexadecimal.
public struct Checksum: Hashable, Sendable {
    public var algorithm: DigestAlgorithm
    public var value: String

    public init(algorithm: DigestAlgorithm, value: String) {
        self.algorithm = algorithm
        self.value = value
    }
}

extension Checksum: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case algorithm, value
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        algorithm = try fields.required(.algorithm)
        value = try fields.required(.value)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = FieldWriter(encoder, CodingKeys.self)
        try fields.write(algorithm, .algorithm)
        try fields.write(value, .value)
    }
}

/// Where a download is delivered: a path, or a folder and optionally a file name.
public struct Destination: Hashable, Sendable {
    /// Absolute path of the file.
    public var path: String?
    /// Absolute path of the folder.
    public var directory: String?
    /// Name in `directory`; if nil, the server's answer or the URL names the file.
    public var filename: String?

    public init(path: String? = nil, directory: String? = nil, filename: String? = nil) {
        self.path = path
        self.directory = directory
        self.filename = filename
    }
}

extension Destination: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case path, directory, filename
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        path = try fields.value(.path)
        directory = try fields.value(.directory)
        filename = try fields.value(.filename)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = FieldWriter(encoder, CodingKeys.self)
        try fields.write(path, .path)
        try fields.write(directory, .directory)
        try fields.write(filename, .filename)
    }
}

/// The local file an upload reads.
public struct SourceFile: Hashable, Sendable {
    public var path: String

    public init(path: String) {
        self.path = path
    }
}

extension SourceFile: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case path
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        path = try fields.required(.path)
    }
}

/// Presigned URLs of a multipart upload to S3 (`uploadProtocol` `s3Multipart`).
public struct S3Upload: Hashable, Sendable {
    /// One URL per part, in the order of the parts.
    public var partURLs: [String]
    /// Bytes of every part but the last.
    public var partSize: ByteCount
    /// CompleteMultipartUpload.
    public var completeURL: String
    /// AbortMultipartUpload.
    public var abortURL: String?

    public init(partURLs: [String], partSize: ByteCount, completeURL: String, abortURL: String? = nil) {
        self.partURLs = partURLs
        self.partSize = partSize
        self.completeURL = completeURL
        self.abortURL = abortURL
    }
}

extension S3Upload: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case partURLs, partSize, completeURL, abortURL
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        partURLs = try fields.required(.partURLs)
        partSize = try fields.required(.partSize)
        completeURL = try fields.required(.completeURL)
        abortURL = try fields.value(.abortURL)
    }
}

/// A request body: exactly one of text, base64 or a file's path.
public struct RequestBody: Hashable, Sendable {
    public var text: String?
    public var base64: String?
    public var file: String?
    /// Set only in answers: bytes of a body that is not shown.
    public var size: ByteCount?

    public init() {}
}

extension RequestBody: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case text, base64, file, size
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        text = try fields.value(.text)
        base64 = try fields.value(.base64)
        file = try fields.value(.file)
        size = try fields.value(.size)
    }
}

/// How often and after what delay a transient failure is tried again.
public struct RetryPolicySpec: Hashable, Sendable {
    /// Failures in a row, without progress between them, after which the task fails; 0 = unlimited.
    public var attempts: Int?
    public var firstDelay: Seconds?
    public var longestDelay: Seconds?

    public init() {}
}

extension RetryPolicySpec: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case attempts, firstDelay, longestDelay
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        attempts = try fields.value(.attempts)
        firstDelay = try fields.value(.firstDelay)
        longestDelay = try fields.value(.longestDelay)
    }
}

/// Files of a TLS client certificate.
public struct ClientCertificate: Hashable, Sendable {
    /// Path of a PEM certificate (chain).
    public var certificate: String
    /// Path of the PEM key if it is not in `certificate`.
    public var key: String?
    /// Pass phrase of the key.
    public var password: String?

    public init(certificate: String) {
        self.certificate = certificate
    }
}

extension ClientCertificate: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case certificate, key, password
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        certificate = try fields.required(.certificate)
        key = try fields.value(.key)
        password = try fields.value(.password)
    }
}

/// A task's place in the queue: a name (`low`, `normal`, `high`) or a number from 0 to 1, higher first.
public struct TaskPriority: Hashable, Sendable, Codable, Comparable {
    public var value: Double
    public static let low = TaskPriority(0.25)
    public static let normal = TaskPriority(0.5)
    public static let high = TaskPriority(0.75)

    public init(_ value: Double) { self.value = value }

    public init?(name: String) {
        switch name {
        case "low": self = .low
        case "normal": self = .normal
        case "high": self = .high
        default: return nil
        }
    }

    public static func < (a: Self, b: Self) -> Bool { a.value < b.value }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let parsed: TaskPriority? =
            if let name = try? container.decode(String.self) {
                TaskPriority(name: name)
            } else {
                (try? container.decode(Double.self)).map { TaskPriority($0) }
            }
        guard let parsed, (0...1).contains(parsed.value) else {
            let path = fieldPath(decoder.codingPath)
            throw TransferError.bad(path, "say low, normal, high or a number from 0 to 1.")
        }
        self = parsed
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
