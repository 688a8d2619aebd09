import TransferModel

/// What a request carries: bytes in memory, a range of the source file, or a range between two texts (multipart).
package enum Payload: Sendable, Hashable {
    case none
    case bytes([UInt8])
    /// Bytes `offset ..< offset + length` of the source.
    case source(offset: ByteCount, length: ByteCount)
    case framed(head: [UInt8], offset: ByteCount, length: ByteCount, tail: [UInt8])

    /// Total bytes; nil if there is no body.
    package var length: ByteCount? {
        switch self {
        case .none: nil
        case .bytes(let bytes): ByteCount(Int64(bytes.count))
        case .source(_, let length): length
        case .framed(let head, _, let length, let tail): ByteCount(Int64(head.count + tail.count)) + length
        }
    }

    /// Offset in the source where it begins; nil if it reads no source.
    package var sourceOffset: ByteCount? {
        switch self {
        case .none, .bytes: nil
        case .source(let offset, _), .framed(_, let offset, _, _): offset
        }
    }

    /// Bytes of the source that it reads.
    package var sourceLength: ByteCount {
        switch self {
        case .none, .bytes: 0
        case .source(_, let length), .framed(_, _, let length, _): length
        }
    }
}

/// A digest that goes into the request as a field; computed right before the request by the code that performs the
/// exchange.
package struct PayloadDigest: Sendable, Hashable {
    package enum Scope: Sendable, Hashable {
        /// The exchange's payload: Content-Digest (RFC 9530 section 2), Upload-Checksum.
        case payload
        /// The whole source file: Repr-Digest (RFC 9530 section 3).
        case source
    }
    package enum Form: Sendable, Hashable {
        /// `sha-256=:base64:` (RFC 9530).
        case structured
        /// `sha256 base64` (tus checksum extension).
        case tus
    }
    /// Name of the field.
    package var name: String
    package var algorithm: DigestAlgorithm
    package var scope: Scope
    package var form: Form

    package init(name: String, algorithm: DigestAlgorithm, scope: Scope, form: Form) {
        self.name = name
        self.algorithm = algorithm
        self.scope = scope
        self.form = form
    }

    /// The field that carries `digest`.
    package func field(_ digest: [UInt8]) -> HeaderField {
        let text = (digest).base64
        switch form {
        case .structured: return HeaderField(name, "\(algorithm.rawValue)=:\(text):")
        case .tus: return HeaderField(name, "\(Self.tusName(algorithm)) \(text)")
        }
    }

    /// The names in Tus-Checksum-Algorithm have no hyphen.
    package static func tusName(_ algorithm: DigestAlgorithm) -> String {
        switch algorithm {
        case .md5: "md5"
        case .sha1: "sha1"
        case .sha256: "sha256"
        case .sha384: "sha384"
        case .sha512: "sha512"
        }
    }
}

/// The answer that ends an upload or a data request.
package struct UploadResult: Sendable, Hashable {
    /// nil for protocols without answers, and if the answer was lost but the server proves that it has everything.
    package var head: ResponseHead?
    /// At most `Exchange.responseLimit` bytes.
    package var body: [UInt8]
    package var isBodyTruncated: Bool
    /// Bytes of the source that the server has.
    package var total: ByteCount

    package init(head: ResponseHead?, body: [UInt8] = [], isBodyTruncated: Bool = false, total: ByteCount) {
        self.head = head
        self.body = body
        self.isBodyTruncated = isBodyTruncated
        self.total = total
    }
}

/// Requests are not judged by their header: the strategy reads the whole answer.
package struct CaptureJudge: ResponseJudge {
    /// The body is wanted, so its length must not be in doubt.
    var needsBody = false

    package init() {}

    init(needsBody: Bool) { self.needsBody = needsBody }

    package func judge(_ head: ResponseHead) -> Verdict {
        do throws(TransferError) {
            if needsBody { _ = try MessageFraming.contentLength(head) }
            return .accept(Acceptance(offset: 0))
        } catch {
            return .failure(error)
        }
    }
}
