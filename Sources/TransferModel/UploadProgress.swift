/// How an upload speaks to its server; the wire's `uploadProtocol`, without `auto`, which becomes one of them, and with
/// `file` for FTP and SFTP, which the URL's scheme says.
public enum UploadProtocol: String, Codable, Sendable, CaseIterable {
    case put, post, multipart, contentRange, tus, resumable, s3Multipart, file
}

/// What must not change about a source file while it is uploaded.
public struct SourceIdentity: Hashable, Sendable, Codable {
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

/// How far an upload is, as the server said it: the row that a resumption starts from.
///
/// Stored before the first byte is sent and with each confirmed step; the offset of record is the server's.
public struct UploadProgress: Hashable, Sendable, Codable {
    public var uploadProtocol: UploadProtocol
    /// The task's URL when the upload began, without its query; another one makes it another upload.
    public var target: String?
    /// The upload resource (tus, resumable, contentRange), absolute.
    public var resourceURL: String?
    /// Bytes the server confirmed.
    public var offset: ByteCount
    /// The file that is being sent; another one is never spliced to it. nil for data requests without one.
    public var source: SourceIdentity?
    /// ETags of the parts that are there, by part number from 1 (S3), with their quotes.
    public var partETags: [Int: String] = [:]
    /// A request that is not idempotent (POST; S3's completion) was begun, its answer not seen.
    public var awaitsAnswer = false
    /// Draft version of `resumable`.
    public var interopVersion: Int?
    /// What was learnt from OPTIONS or Upload-Limit: bytes one append may have at most.
    public var longestAppend: ByteCount?
    /// The most that the server ever confirmed, of this upload or of one that vanished before it.
    public var furthest: ByteCount?
    /// Uploads that vanished since it last got further.
    public var restarts: Int?
    /// contentRange: the server has shown that it knows ranges.
    public var knowsRanges: Bool?
    /// FTP, SFTP: what had the name before the first byte was sent.
    public var remoteBefore: RemoteFile?
    /// When the upload resource ends by the server's word.
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

/// A file on an FTP or SFTP server, as far as the server describes it.
public struct RemoteFile: Hashable, Sendable, Codable {
    public var size: ByteCount?
    /// Seconds since 1970.
    public var modificationTime: Int64?

    public init(size: ByteCount? = nil, modificationTime: Int64? = nil) {
        self.size = size
        self.modificationTime = modificationTime
    }
}
