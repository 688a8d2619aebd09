/// How an upload communicates with its server: the wire's `uploadProtocol`, without `auto`, which is resolved to one of
/// these, and with `file` for FTP and SFTP, which the URL's scheme implies.
public enum UploadProtocol: String, Word {
    case put, post, multipart, contentRange, tus, resumable, s3Multipart, file
}

/// What must not change about a source file while it is uploaded.
public struct SourceIdentity: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    public var size: ByteCount
    /// Modification time, nanoseconds since 1970.
    public var modified: Int64

    public init(device: UInt64, inode: UInt64, size: ByteCount, modified: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
    }
}

extension SourceIdentity: WireObject {
    public static let shape = Shape("SourceIdentity", Self(device: 0, inode: 0, size: 0, modified: 0)) { row in
        row("device", \.device)
        row("inode", \.inode)
        row("size", \.size)
        row("modified", \.modified)
    }
}

/// How far an upload is according to its server: the row that an upload resumes from.
///
/// Stored before the first byte is sent and with each confirmed step; the server's offset counts.
public struct UploadProgress: Hashable, Sendable {
    public var uploadProtocol: UploadProtocol
    /// The task's URL when the upload began, without its query; with another URL it is another upload.
    public var target: String?
    /// The upload resource (tus, resumable, contentRange), absolute.
    public var resourceURL: String?
    /// Bytes the server confirmed.
    public var offset: ByteCount
    /// The file that is being sent; bytes of another file are never appended to it. nil for data requests without a
    /// file.
    public var source: SourceIdentity?
    /// ETags of the uploaded parts, by part number from 1 (S3), with their quotes.
    public var partETags: [Int: String] = [:]
    /// A request that is not idempotent (POST; S3's completion) was begun, and its answer was not seen.
    public var awaitsAnswer = false
    /// Draft version of `resumable`.
    public var interopVersion: Int?
    /// Learned from OPTIONS or Upload-Limit: the most bytes that one append may have.
    public var longestAppend: ByteCount?
    /// The highest offset that the server ever confirmed, for this upload or for one that vanished before it.
    public var furthest: ByteCount?
    /// Uploads that vanished since the last progress.
    public var restarts: Int?
    /// contentRange: the server has shown that it knows ranges.
    public var knowsRanges: Bool?
    /// FTP, SFTP: the file that had the name before the first byte was sent.
    public var remoteBefore: RemoteFile?
    /// When the upload resource expires, according to the server.
    public var expiresAt: Timestamp?
    public var createdAt: Timestamp

    public init(
        uploadProtocol: UploadProtocol, resourceURL: String? = nil, offset: ByteCount = 0, source: SourceIdentity?,
        createdAt: Timestamp
    ) {
        self.uploadProtocol = uploadProtocol
        self.resourceURL = resourceURL
        self.offset = offset
        self.source = source
        self.createdAt = createdAt
    }
}

extension UploadProgress: WireObject {
    public static let shape = Shape(
        "UploadProgress", Self(uploadProtocol: .put, source: nil, createdAt: Timestamp(milliseconds: 0))
    ) { row in
        row("uploadProtocol", \.uploadProtocol)
        row("target", \.target)
        row("resourceURL", \.resourceURL)
        row("offset", \.offset)
        row("source", \.source)
        row("partETags", \.partETags, isRequired: false)
        row("awaitsAnswer", \.awaitsAnswer, isRequired: false)
        row("interopVersion", \.interopVersion)
        row("longestAppend", \.longestAppend)
        row("furthest", \.furthest)
        row("restarts", \.restarts)
        row("knowsRanges", \.knowsRanges)
        row("remoteBefore", \.remoteBefore)
        row("expiresAt", \.expiresAt)
        row("createdAt", \.createdAt)
    }
}

/// A file on an FTP or SFTP server, as far as the server describes it.
public struct RemoteFile: Hashable, Sendable {
    public var size: ByteCount?
    /// Seconds since 1970.
    public var modificationTime: Int64?

    public init(size: ByteCount? = nil, modificationTime: Int64? = nil) {
        self.size = size
        self.modificationTime = modificationTime
    }
}

extension RemoteFile: WireObject {
    public static let shape = Shape("RemoteFile", Self()) { row in
        row("size", \.size)
        row("modificationTime", \.modificationTime)
    }
}
