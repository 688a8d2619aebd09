/// A header field as the caller wrote it; on the wire `[name, value]`. Order and repeats are kept.
public struct HeaderField: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
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

extension HeaderField: WireValue {
    public static let wireType = WireType.list(.string)

    public init(json node: JSONNode) throws(TransferError) {
        let pair = try [String](json: node)
        guard pair.count == 2 else { throw node.refusal("a header is [name, value].") }
        self.init(pair[0], pair[1])
    }

    public func write(to text: inout JSONWriter) { [name, value].write(to: &text) }
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

extension Checksum: WireObject {
    public static let shape = Shape("Checksum", Self(algorithm: .sha256, value: "")) { row in
        row("algorithm", \.algorithm, "The digest.")
        row("value", \.value, "Hexadecimal.")
    }
}

/// Where a download is delivered: a path, or a folder and optionally a file name.
public struct Destination: Hashable, Sendable {
    public var path: String?
    public var directory: String?
    public var filename: String?
    public var isDefault: Bool?

    public init(path: String? = nil, directory: String? = nil, filename: String? = nil) {
        self.path = path
        self.directory = directory
        self.filename = filename
    }
}

extension Destination: WireObject {
    public static let shape = Shape("Destination", Self()) { row in
        row("path", \.path, "Absolute path of the file; excludes the others.")
        row("directory", \.directory, "Absolute path of the folder.")
        row("filename", \.filename, "Name in `directory`; default: taken from the server's answer or the URL.")
        row(
            "isDefault", \.isDefault,
            "True: `directories` of the session may replace `directory` when the file is complete. The daemon says so of tasks that name no folder."
        )
    }
}

/// The local file an upload reads.
public struct SourceFile: Hashable, Sendable {
    public var path: String

    public init(path: String) {
        self.path = path
    }
}

extension SourceFile: WireObject {
    public static let shape = Shape("Source", Self(path: "")) { row in
        row("path", \.path, "Absolute path of the file.")
    }
}

/// Presigned URLs of a multipart upload to S3 (`uploadProtocol` `s3Multipart`).
public struct S3Upload: Hashable, Sendable {
    public var partURLs: [String]
    public var partSize: ByteCount
    public var completeURL: String
    public var abortURL: String?

    public init(partURLs: [String], partSize: ByteCount, completeURL: String, abortURL: String? = nil) {
        self.partURLs = partURLs
        self.partSize = partSize
        self.completeURL = completeURL
        self.abortURL = abortURL
    }
}

extension S3Upload: WireObject {
    public static let shape = Shape("S3", Self(partURLs: [], partSize: 0, completeURL: "")) { row in
        row("partURLs", \.partURLs, "Presigned URLs of UploadPart, in order.")
        row("partSize", \.partSize, "Bytes of every part but the last.")
        row("completeURL", \.completeURL, "Presigned URL of CompleteMultipartUpload.")
        row(
            "abortURL", \.abortURL,
            "Presigned URL of AbortMultipartUpload, requested when the task is cancelled or removed unfinished. Without it, "
                + "the parts stay until the store's own rules remove them.")
    }
}

/// A request body: exactly one of text, base64 or a file's path.
public struct RequestBody: Hashable, Sendable {
    public var text: String?
    public var base64: String?
    public var file: String?
    public var size: ByteCount?

    public init() {}
}

extension RequestBody: WireObject {
    public static let shape = Shape("RequestBody", Self()) { row in
        row("text", \.text, "UTF-8 text; exactly one of the three.")
        row("base64", \.base64, "Any bytes, in base64.")
        row("file", \.file, "Absolute path of a file: copied at once up to 1 MiB, otherwise read when it is sent.")
        row("size", \.size, "Only in `task.get` with `secrets`: length of a body of more than 1 MiB.")
    }
}

/// How often and after what delay a transient failure is tried again.
public struct RetryPolicySpec: Hashable, Sendable {
    public var attempts: Int?
    public var firstDelay: Seconds?
    public var longestDelay: Seconds?

    public init() {}
}

extension RetryPolicySpec: WireObject {
    public static let shape = Shape("RetryPolicy", Self()) { row in
        row(
            "attempts", \.attempts,
            "Failures in a row, without progress in between, after which the task fails; 0 (default) = unlimited.")
        row("firstDelay", \.firstDelay, "The longest delay after the first failure; default: 1.")
        row("longestDelay", \.longestDelay, "The longest delay after any failure; default: 600.")
    }
}

/// Files of a TLS client certificate.
public struct ClientCertificate: Hashable, Sendable {
    public var certificate: String
    public var key: String?
    public var password: String?

    public init(certificate: String) {
        self.certificate = certificate
    }
}

extension ClientCertificate: WireObject {
    public static let shape = Shape("ClientCertificate", Self(certificate: "")) { row in
        row("certificate", \.certificate, "Absolute path of a PEM certificate or chain.")
        row("key", \.key, "Absolute path of the PEM key, if it is in another file.")
        row(
            "password", \.password, "Pass phrase of the key. Of a task: \(Secrecy.shown). Of a session: never shown."
        )
    }
}

/// A task's place in the queue: a name (`low`, `normal`, `high`) or a number from 0 to 1, higher first.
public struct TaskPriority: Hashable, Sendable, Comparable {
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
}

extension TaskPriority: WireValue {
    public static let wireType = WireType.either([.choice(["low", "normal", "high"]), .number])

    public init(json node: JSONNode) throws(TransferError) {
        let parsed = node.stringIfAny.map { TaskPriority(name: $0) } ?? node.doubleIfAny.map { TaskPriority($0) }
        guard let parsed, (0...1).contains(parsed.value) else {
            throw node.refusal("say low, normal, high or a number from 0 to 1.")
        }
        self = parsed
    }

    public func write(to text: inout JSONWriter) { text.double(value) }
}

extension HeaderField {
    /// Whether the field has this name, ignoring case (RFC 9110 section 5.1); copies neither name.
    package func isNamed(_ other: String) -> Bool {
        guard name.utf8.count == other.utf8.count else { return false }
        return name.bytes { mine in
            other.bytes { theirs in
                // Most names of the same length differ in their last letter.
                var index = mine.count - 1
                while index >= 0 {
                    if mine[index] != theirs[index], Self.small(mine[index]) != Self.small(theirs[index]) {
                        return false
                    }
                    index -= 1
                }
                return true
            }
        }
    }

    /// Field names are tokens: ASCII.
    private static func small(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}

extension [HeaderField] {
    /// Values of the fields of this name, in order. The fields are examined in place: a loop would count references to
    /// the texts of each.
    package func values(named name: String) -> [String] {
        let fields = span
        var values: [String] = []
        for index in fields.indices where fields[index].isNamed(name) { values.append(fields[index].value) }
        return values
    }

    /// Index of the first field of this name; nil if there is none.
    package func firstIndex(named name: String) -> Int? {
        let fields = span
        for index in fields.indices where fields[index].isNamed(name) { return index }
        return nil
    }
}
