import TransferModel

/// Header fields of draft-ietf-httpbis-resumable-upload, in the form of each interop version.
struct ResumableFields: Sendable, Hashable {
    /// 3, 5, 6 or 8.
    var version: Int

    static let versions = [3, 5, 6, 8]

    var interop: HeaderField { HeaderField("Upload-Draft-Interop-Version", "\(version)") }

    /// Version 3 has the opposite value under another name.
    func complete(_ isComplete: Bool) -> HeaderField {
        version == 3
            ? HeaderField("Upload-Incomplete", isComplete ? "?0" : "?1")
            : HeaderField("Upload-Complete", isComplete ? "?1" : "?0")
    }

    /// Upload-Length came with version 6.
    func length(_ size: ByteCount) -> [HeaderField] {
        version >= 6 ? [HeaderField("Upload-Length", "\(size)")] : []
    }

    /// Whether the answer says that it comes from the target itself; nil if it does not say.
    func isComplete(_ head: ResponseHead) -> Bool? {
        if let complete = Self.boolean(head, "upload-complete") { return complete }
        return Self.boolean(head, "upload-incomplete").map { !$0 }
    }

    /// An Item that is a Boolean (RFC 9651 section 3.3.6); parameters are ignored.
    private static func boolean(_ head: ResponseHead, _ name: String) -> Bool? {
        guard let text = head.values(name).first else { return nil }
        switch text.prefix(while: { $0 != ";" }).trimmed {
        case "?1": return true
        case "?0": return false
        default: return nil
        }
    }

    /// The offset in a 409: the field, or `expected-offset` of its problem document (RFC 9457).
    static func expectedOffset(_ outcome: ExchangeOutcome) -> ByteCount? {
        if let offset = outcome.head?.count("upload-offset") { return offset }
        guard let problem = try? JSONCoding.decode(JSONValue.self, from: outcome.body),
            let offset = problem["expected-offset"]?.integerValue, offset >= 0
        else { return nil }
        return ByteCount(offset)
    }
}

/// Upload-Limit: a Dictionary (RFC 9651 section 3.2) of what the server accepts.
struct UploadLimit: Sendable, Hashable {
    var maximumSize: ByteCount?
    var minimumSize: ByteCount?
    var maximumAppend: ByteCount?
    /// How long the upload resource is kept.
    var maximumAge: Seconds?

    /// Ten years: beyond any upload, and far from where clocks overflow.
    private static let longestAge: Int64 = 10 * 366 * 86_400

    /// nil if the answer has none.
    init?(_ head: ResponseHead) {
        let values = head.values("upload-limit")
        guard !values.isEmpty else { return nil }
        for member in values.flatMap({ $0.split(separator: ",") }) {
            let pair = member.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, let number = ContentRange.number(pair[1].trimmed) else { continue }
            switch pair[0].trimmed {
            case "max-size": maximumSize = number
            case "min-size": minimumSize = number
            // Empty pieces would never end.
            case "max-append-size": maximumAppend = number > 0 ? number : nil
            // Version 6 has expires, later ones max-age; both count seconds.
            case "max-age", "expires": maximumAge = Seconds(Double(min(number.rawValue, Self.longestAge)))
            default: continue
            }
        }
    }

    /// - Throws: permanently if the server does not accept a file of this size.
    func check(_ size: ByteCount) throws(AttemptFailure) {
        if let maximumSize, size > maximumSize {
            throw .permanent(
                .tooLarge, "The server accepts uploads of at most \(maximumSize) bytes; the file has \(size).")
        }
        if let minimumSize, size < minimumSize {
            throw .permanent(
                .badField, "The server accepts uploads of at least \(minimumSize) bytes; the file has \(size).")
        }
    }
}
