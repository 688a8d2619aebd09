import TransferModel

/// The header of one final response (not of redirects, 1xx and answered challenges), or what FTP, SFTP and file know
/// instead.
package struct ResponseHead: Sendable, Hashable {
    /// URL that answered, after redirects, without user info.
    package var url: String
    /// nil for protocols without status.
    package var status: Int?
    package var httpVersion: String?
    package var reason: String?
    package var headers: [HeaderField]
    /// Size by means of the protocol (SIZE, SFTP stat, fstat) if there are no headers.
    package var size: ByteCount?
    /// Modification time by means of the protocol, seconds since 1970.
    package var modificationTime: Int64?
    package var redirects: Int
    /// A redirect on the way led to another origin, so this request had nothing that the task has of its own.
    package var isForeign = false
    /// The origins (`ProtectionSpace.origin`) of this exchange whose servers accepted credentials that came from
    /// answers, the store or the helper.
    package var letPass: [String] = []
    /// For a 401 or 407: why the request lacked the Kerberos token that it should have had.
    package var kerberosFailure: KerberosFailure?
    /// Seconds since the server made or validated it, if it comes from the daemon's cache.
    package var cachedAge: Int64?

    package init(
        url: String, status: Int? = nil, httpVersion: String? = nil, reason: String? = nil,
        headers: [HeaderField] = [], size: ByteCount? = nil, modificationTime: Int64? = nil, redirects: Int = 0
    ) {
        self.url = url
        self.status = status
        self.httpVersion = httpVersion
        self.reason = reason
        self.headers = headers
        self.size = size
        self.modificationTime = modificationTime
        self.redirects = redirects
    }

    /// Values of a field, in order.
    package func values(_ name: String) -> [String] {
        headers.values(named: name)
    }
}

package protocol ResponseJudge: Sendable {
    func judge(_ head: ResponseHead) -> Verdict
}

/// What happens to a response whose header has arrived.
package enum Verdict: Sendable, Hashable {
    /// Write the body from `offset` on. `truncate` first empties the part file (a 200 that replaces what was held).
    /// `expected` bytes end it; nil if the length is unknown.
    case accept(Acceptance)
    /// Read nothing more; the strategy decides what comes next when it sees the outcome.
    case stop(StopReason)

    static func failure(_ error: TransferError) -> Verdict { .stop(.failure(error, retryAfter: nil)) }

    /// - Parameter sentence: why the held bytes cannot be continued.
    static func restart(_ sentence: String) -> Verdict {
        .stop(.restart(TransferError(.validatorChanged, sentence)))
    }

    static func changed(_ what: String) -> Verdict { .stop(.restart(.changed(what))) }
}

package struct Acceptance: Sendable, Hashable {
    package var offset: ByteCount
    package var truncate: Bool
    /// Bytes this body must have; nil = unknown.
    package var expected: ByteCount?
    /// Whole length of the representation; nil = unknown. The engine preallocates to it.
    package var total: ByteCount?
    /// What the engine's checkpoints carry from now on.
    package var validators: Validators
    package var contentCoding: String?
    package var serverDigests: [String: String]
    /// The media type of the first answer, if it is known.
    package var mediaType: String?
    /// The mirror that answered, as a checkpoint names it; nil = the task's own URL.
    package var mirror: String?

    package init(
        offset: ByteCount, truncate: Bool = false, expected: ByteCount? = nil, total: ByteCount? = nil,
        validators: Validators = Validators(), contentCoding: String? = nil, serverDigests: [String: String] = [:],
        mediaType: String? = nil
    ) {
        self.offset = offset
        self.truncate = truncate
        self.expected = expected
        self.total = total
        self.validators = validators
        self.contentCoding = contentCoding
        self.serverDigests = serverDigests
        self.mediaType = mediaType
    }
}

extension TransferError {
    /// - Parameter what: what shows that it is not the held version any more.
    static func changed(_ what: String) -> TransferError {
        TransferError(.validatorChanged, "The server now gives \(what); the download restarts from 0.")
    }

    static let overrun = TransferError(
        .integrityLength, "The server sent more bytes than it announced; they were dropped.")
}

package enum StopReason: Sendable, Hashable {
    /// The answer cannot continue the held bytes: start over from 0 with a new request.
    case restart(TransferError)
    /// A 200 with exactly the held validator and length: try once with a bare Range.
    case bareRange
    /// Everything is held already (a 416 that proves it).
    case complete
    /// An error status, or a header that breaks the protocol; carries the delay of a Retry-After.
    case failure(TransferError, retryAfter: Seconds?)
    /// A redirect to this request; a client is asked about it.
    indirect case redirect(StandingRequest)
}
