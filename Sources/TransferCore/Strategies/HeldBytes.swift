import TransferModel

/// The bytes of one version that are on disk, and whether more of it may be requested.
struct HeldBytes: Sendable, Hashable {
    var offset: ByteCount
    var total: ByteCount?
    var validators: Validators
    var contentCoding: String?
    var digests: [String: String]
    /// A whole-file digest will prove the result, whatever the validators say.
    var trustedDigest: Bool
    /// The media type of the answer that they came with, if it is known.
    var mediaType: String?

    /// - Parameter lastHeaders: the header of the last answer, which was perhaps about another version.
    init(_ checkpoint: Checkpoint, trustedDigest: Bool, lastHeaders: [HeaderField] = []) {
        offset = checkpoint.offset
        total = checkpoint.total
        validators = checkpoint.validators
        contentCoding = checkpoint.contentCoding
        digests = checkpoint.serverDigests
        self.trustedDigest = trustedDigest
        let last = ResponseHead(url: "", headers: lastHeaders)
        if isConfirmed(by: last.validators) { mediaType = last.mediaType }
    }

    /// The held bytes after more of an accepted answer arrived.
    init(_ acceptance: Acceptance, offset: ByteCount, trustedDigest: Bool) {
        self.offset = offset
        total = acceptance.total
        validators = acceptance.validators
        contentCoding = acceptance.contentCoding
        digests = acceptance.serverDigests
        mediaType = acceptance.mediaType
        self.trustedDigest = trustedDigest
    }

    /// The server told the length, and every byte of it is here.
    var isComplete: Bool { total.map { $0 == offset && $0 > 0 } ?? false }

    /// The next request; nil if the held bytes prove nothing and must be dropped.
    var rangeRequest: RangeRequest? {
        guard offset > 0, total.map({ offset < $0 }) ?? true else { return nil }
        if let validator = strongValidator {
            guard contentCoding == nil || hasStrongTag else { return nil }
            return RangeRequest(offset: offset, ifRange: validator)
        }
        guard provenByDigest, contentCoding == nil else { return nil }
        return RangeRequest(offset: offset, ifRange: nil)
    }

    var hasStrongTag: Bool { validators.etag.map(Validators.isStrong) ?? false }

    /// The validator for If-Range (RFC 9110 section 13.1.5); with a weak tag, not even a date.
    var strongValidator: String? {
        if let etag = validators.etag { return Validators.isStrong(etag) ? etag : nil }
        return hasStrongDate ? validators.lastModified : nil
    }

    /// RFC 9110 section 8.8.2.2 requires one second between the change and the answer; we require sixty.
    private var hasStrongDate: Bool {
        guard let modified = validators.lastModified.flatMap(HTTPDate.parse),
            let date = validators.date.flatMap(HTTPDate.parse)
        else { return false }
        return date - modified >= 60
    }

    private var provenByDigest: Bool {
        trustedDigest || digests.keys.contains { ["sha-256", "sha-384", "sha-512"].contains($0) }
    }

    /// Whether the answer has the held version: the strong validator is there and equal.
    func isConfirmed(by other: Validators) -> Bool {
        if hasStrongTag { return other.etag == validators.etag }
        guard validators.etag == nil, hasStrongDate else { return false }
        return other.lastModified == validators.lastModified
    }

    /// What in the answer contradicts the held version.
    func contradicts(_ other: Validators, digests otherDigests: [String: String], coding: String?) -> String? {
        if let tag = other.etag, let held = validators.etag, tag != held { return "another ETag" }
        if validators.etag == nil || other.etag == nil, let date = other.lastModified,
            let held = validators.lastModified, date != held
        {
            return "another Last-Modified"
        }
        if hasOnlyOtherKinds(other) { return "validators of another kind" }
        if coding != contentCoding { return "another Content-Encoding" }
        let changed = otherDigests.contains { name, value in digests[name].map { $0 != value } ?? false }
        return changed ? "another digest" : nil
    }

    /// The answer has validators, but none that can be compared with the held ones: it describes something else. After
    /// If-Range it may have none at all (RFC 9110 section 15.3.7).
    private func hasOnlyOtherKinds(_ other: Validators) -> Bool {
        guard validators.etag != nil || validators.lastModified != nil else { return false }
        let (tags, dates) = (other.etag != nil, other.lastModified != nil)
        let isComparable = tags && validators.etag != nil || dates && validators.lastModified != nil
        return (tags || dates) && !isComparable
    }
}
