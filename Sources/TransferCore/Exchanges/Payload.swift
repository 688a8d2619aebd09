import TransferModel

/// What a request carries: bytes in memory, a range of the source file, or a range between two texts (multipart).
package enum Payload: Sendable, Hashable {
    case none
    case bytes([UInt8])
    /// Bytes `offset ..< offset + length` of the source.
    case source(offset: ByteCount, length: ByteCount)
    case framed(head: [UInt8], offset: ByteCount, length: ByteCount, tail: [UInt8])

    /// These bytes of the source, which may be none.
    static func part(_ range: ByteRange) -> Payload {
        range.isEmpty ? .bytes([]) : .source(offset: range.start, length: range.count)
    }

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

extension Payload {
    /// The request body that the caller gives for downloads and data requests.
    /// - Parameter source: the open file of the body; if there is one, it is sent.
    /// - Throws: `request.bad_field` if the body is not exactly one of text, base64 and file, or is a file that is not
    ///   open.
    init(_ body: RequestBody?, source: SourceIdentity?) throws(TransferError) {
        func bad(_ sentence: String) -> TransferError {
            TransferError(.badField, sentence, details: ["field": "body"])
        }
        self = .none
        guard let body else { return }
        guard [body.text, body.base64, body.file].compactMap({ $0 }).count == 1 else {
            throw bad("body takes exactly one of text, base64 and file.")
        }
        if let source {
            self = .source(offset: 0, length: source.size)
        } else if let text = body.text {
            self = .bytes(Array(text.utf8))
        } else {
            guard let base64 = body.base64 else { throw bad("body.file is not open.") }
            guard let bytes = Base64.decode(base64) else { throw bad("body.base64 is not base64.") }
            self = .bytes(bytes)
        }
    }
}

/// A digest that goes into the request as a field; computed right before the request by the code that performs the
/// exchange.
package struct PayloadDigest: Sendable, Hashable {
    /// The field, which says what is hashed.
    package enum Kind: String, Sendable {
        /// The exchange's payload (RFC 9530 section 2).
        case content = "Content-Digest"
        /// The whole source file (RFC 9530 section 3).
        case representation = "Repr-Digest"
        /// The exchange's payload (tus checksum extension).
        case upload = "Upload-Checksum"
    }

    package var kind: Kind
    package var algorithm: DigestAlgorithm

    package init(_ kind: Kind, _ algorithm: DigestAlgorithm) {
        self.kind = kind
        self.algorithm = algorithm
    }

    /// The field that carries `digest`.
    package func field(_ digest: [UInt8]) -> HeaderField {
        switch kind {
        case .content, .representation:
            HeaderField(kind.rawValue, "\(algorithm.rawValue)=:\(digest.base64):")
        case .upload: HeaderField(kind.rawValue, "\(Self.tusName(algorithm)) \(digest.base64)")
        }
    }

    /// The names in Tus-Checksum-Algorithm have no hyphen.
    package static func tusName(_ algorithm: DigestAlgorithm) -> String {
        algorithm.rawValue.replacing("-", with: "")
    }
}

/// The answer that ends an upload or a data request.
package struct UploadResult: Sendable, Hashable {
    /// nil for protocols without answers, and if the answer was lost but the server proves that it has everything.
    package var head: ResponseHead?
    /// At most `Exchange.responseLimit` bytes.
    package var body: [UInt8] = []
    package var isBodyTruncated = false
    /// Bytes of the source that the server has.
    package var total: ByteCount
}

/// Requests are not judged by their header: the strategy reads the whole answer.
package struct CaptureJudge: ResponseJudge {
    /// The body is wanted, so its length must not be in doubt.
    var needsBody = false

    package init() {}

    init(needsBody: Bool) { self.needsBody = needsBody }

    package func judge(_ head: ResponseHead) -> Verdict {
        do throws(TransferError) {
            if needsBody { _ = try head.contentLength() }
            return .accept(Acceptance(offset: 0))
        } catch {
            return .failure(error)
        }
    }
}
