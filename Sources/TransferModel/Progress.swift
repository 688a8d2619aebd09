/// What proves that two answers carry the same version of a resource (RFC 9110 section 8.8).
public struct Validators: Hashable, Sendable {
    /// The entity tag with its quotes and, if weak, its `W/`.
    public var etag: String?
    /// Last-Modified, as received.
    public var lastModified: String?
    /// Date of the response that carried the two, as received.
    public var date: String?

    public init(etag: String? = nil, lastModified: String? = nil, date: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
        self.date = date
    }
}

extension Validators: WireObject {
    public static let shape = Shape("Validators", Self()) { row in
        row("etag", \.etag)
        row("lastModified", \.lastModified)
        row("date", \.date)
    }
}

/// How much of a download is certainly on disk, and of which version: the row that a download resumes from.
///
/// Written at checkpoints only, after the bytes before `offset` were synced.
public struct Checkpoint: Hashable, Sendable {
    /// Bytes before this offset are durable in the part file.
    public var offset: ByteCount
    /// Durable ranges beyond `offset`, fetched as segments: in order, and with gaps between them and after `offset`.
    public var ranges: [ByteRange]
    /// Length of the whole representation, if the server said it.
    public var total: ByteCount?
    public var validators: Validators
    /// Content-Encoding other than identity that the stored bytes are coded in.
    public var contentCoding: String?
    /// The part file and what must not have changed about it.
    public var partPath: String
    public var device: UInt64
    public var inode: UInt64
    /// Digests that the server gave for the whole representation (`sha-256` → hexadecimal).
    public var serverDigests: [String: String]
    /// The mirror that the validators come from, without user info; nil = the task's own URL.
    public var mirror: String?

    public init(
        offset: ByteCount, total: ByteCount? = nil, validators: Validators = Validators(),
        contentCoding: String? = nil, partPath: String, device: UInt64, inode: UInt64,
        serverDigests: [String: String] = [:], ranges: [ByteRange] = [], mirror: String? = nil
    ) {
        self.offset = offset
        self.ranges = ranges
        self.total = total
        self.validators = validators
        self.contentCoding = contentCoding
        self.partPath = partPath
        self.device = device
        self.inode = inode
        self.serverDigests = serverDigests
        self.mirror = mirror
    }

    /// Bytes that are durable, wherever they lie in the file.
    public var held: ByteCount { ranges.reduce(offset) { $0 + $1.count } }
    /// The part file is at least this long.
    public var reach: ByteCount { ranges.last?.end ?? offset }
}

extension Checkpoint: WireObject {
    public static let shape = Shape("Checkpoint", Self(offset: 0, partPath: "", device: 0, inode: 0)) { row in
        row("offset", \.offset)
        // Resume data of versions without `ranges` has none.
        row("ranges", \.ranges, isRequired: false)
        row("total", \.total)
        row("validators", \.validators)
        row("contentCoding", \.contentCoding)
        row("partPath", \.partPath)
        row("device", \.device)
        row("inode", \.inode)
        row("serverDigests", \.serverDigests)
        row("origin", \.mirror)
    }
}

/// What `task.get` says of the server's answer, and `task.response` announces.
public struct ResponseInfo: Hashable, Sendable {
    public var url: String
    public var status: Int?
    public var statusText: String?
    /// Repeated fields are joined with commas (RFC 9110 section 5.3); names keep the server's spelling and order.
    public var headers: [HeaderField]
    public var headersTruncated: Bool?
    public var mimeType: String?
    public var textEncoding: String?
    /// -1 if unknown.
    public var expectedLength: Int64
    public var suggestedFilename: String?
    public var resumedFrom: Int64?
    public var body: ResponseBody?
    public var fromCache: Bool?
    public var age: Int64?

    public init(
        url: String, status: Int? = nil, statusText: String? = nil, headers: [HeaderField] = [],
        mimeType: String? = nil, textEncoding: String? = nil, expectedLength: Int64 = -1,
        suggestedFilename: String? = nil, resumedFrom: Int64? = nil
    ) {
        self.url = url
        self.status = status
        self.statusText = statusText
        self.headers = headers
        self.mimeType = mimeType
        self.textEncoding = textEncoding
        self.expectedLength = expectedLength
        self.suggestedFilename = suggestedFilename
        self.resumedFrom = resumedFrom
    }
}

extension ResponseInfo: WireObject {
    public static let shape = Shape("Response", Self(url: "")) { row in
        row("url", \.url, "The URL after redirects, without user info.")
        row("status", \.status, "HTTP status.")
        row("statusText", \.statusText, "The status in words.")
        row(
            "headers", \.headers,
            "[name, value], as received; repeats are joined with commas, but kept apart with `secrets`. Content-Encoding and Content-Length describe the body before it was decoded."
        )
        row(
            "headersTruncated", \.headersTruncated,
            "True in lists and events: there are more than 16 KiB of headers; `task.get` has all.")
        row("mimeType", \.mimeType, "Media type without parameters.")
        row("textEncoding", \.textEncoding, "Its charset.")
        row("expectedLength", \.expectedLength, "-1 if unknown.", as: .byteCount)
        row("suggestedFilename", \.suggestedFilename, "Name suggested by the answer and the URL.")
        row(
            "resumedFrom", \.resumedFrom, "Offset in the file at which this answer's body began; absent for 0.",
            as: .byteCount)
        row(
            "body", \.body,
            "First 64 KiB of the answer to an upload or data task; of a data task with `secrets` up to 1 MiB.")
        row(
            "fromCache", \.fromCache,
            "True: the answer was stored; the server was not asked, or confirmed it ([cache](cache.md)).")
        row("age", \.age, "For a stored answer: seconds since the server made or confirmed it.")
    }
}

/// The header of an answer as the server sent it: nothing masked, repeats in order. Holds secrets; for the task's owner
/// alone.
public struct WholeHead: Hashable, Sendable {
    /// After redirects, with its query, without user info.
    public var url: String
    public var headers: [HeaderField]

    public init(url: String, headers: [HeaderField]) {
        self.url = url
        self.headers = headers
    }
}

extension WholeHead: WireObject {
    public static let shape = Shape("WholeHead", Self(url: "", headers: [])) { row in
        row("url", \.url)
        row("headers", \.headers)
    }
}
