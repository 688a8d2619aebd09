import TransferModel

/// What becomes of a redirect.
package enum RedirectRule: Sendable, Hashable {
    case follow
    /// The exchange ends with it: a client is asked.
    case ask
    /// It is the answer.
    case refuse
    /// One with this status was refused, and the request must not be made again.
    case answered(status: Int)
}

/// Which answers wait at their heads for a client's decision: those that a task would take.
package struct ResponseHold: Sendable, Hashable {
    package var acceptsAnyStatus: Bool
    package var asksChallenges: Bool

    package init(acceptsAnyStatus: Bool, asksChallenges: Bool) {
        self.acceptsAnyStatus = acceptsAnyStatus
        self.asksChallenges = asksChallenges
    }

    package func applies(to head: ResponseHead) -> Bool {
        guard let status = head.status else { return false }
        if (200..<300).contains(status) || status == 304 { return true }
        return acceptsAnyStatus && !(asksChallenges && ProtectionSpace.isAskedFor(head))
    }
}

/// One request on the network (or one local copy), described completely: the engine performs it and decides nothing.
package struct Exchange: Sendable {
    package enum Kind: Sendable {
        /// Fetch bytes into the part file from `startOffset` on.
        case download
        /// Learn size and modification time only (FTP, SFTP).
        case probe
        /// Send `payload` (or nothing) and keep the answer's body in memory, up to `responseLimit`. FTP and SFTP: store
        /// the payload in the remote file, from `startOffset` on where that is not 0 (append), else replacing it.
        case request
    }

    package var kind: Kind = .download
    package var url: String
    package var method: String?
    /// The caller's fields, in order; HTTP only. Of these only the harmless ones follow a redirect to another origin.
    package var headers: [HeaderField] = []
    /// The transfer protocol's own fields, without which the request would be another one: they go wherever it goes.
    package var ownHeaders: [HeaderField] = []
    /// Request body, streamed. Its length becomes Content-Length. Probes, and downloads over other protocols than HTTP,
    /// send none.
    package var payload: Payload = .none
    /// Digests of the payload or the source; whoever performs the exchange computes them and adds their fields.
    package var digests: [PayloadDigest] = []
    /// `request`: bytes of the answer's body to keep; the rest is read and dropped.
    package var responseLimit: ByteCount = .kibibytes(64)
    /// `request`: end the exchange as `finished`, with `isBodyTruncated`, as soon as the answer is over its limit.
    package var stopsAtResponseLimit = false
    /// `request`: the answer's body is wanted without its content codings; whoever performs the exchange undoes them
    /// (`AnswerBody`).
    package var decodesBody = false
    /// Ask the server with `Expect: 100-continue` before the body is sent, however small it is; large ones are asked for
    /// anyway (`ExpectationRules`). A 417 is answered by sending again without.
    package var expectsContinue = false
    /// The payload may be sent again to the target of a 307 or 308.
    package var isReplayable = true
    /// Redirect statuses that are an answer of the protocol and not followed (308 of the contentRange protocol).
    package var finalStatuses: Set<Int> = []
    package var redirects = RedirectRule.follow
    /// Which answers a client is asked about before a byte of their bodies is taken; nil for none.
    package var hold: ResponseHold?
    /// Reads 1xx answers while the exchange runs, so that what they say is stored before the end.
    package var interimReader: (any InterimReader)?
    /// FTP (REST), SFTP and file: where to start reading; HTTP says it in `headers`. Bytes are written from here
    /// unless the judge says otherwise.
    package var startOffset: ByteCount = 0
    @Boxed package var network: NetworkOptions
    /// Judges each answer before its first body byte reaches the file; called on the engine's thread, so pure and quick.
    package var judge: any ResponseJudge

    package init(
        url: String, judge: any ResponseJudge, network: Boxed<NetworkOptions> = Boxed(wrappedValue: NetworkOptions())
    ) {
        self.url = url
        self.judge = judge
        _network = network
    }

    /// Everything that goes into the request's head.
    package var allHeaders: [HeaderField] { headers + ownHeaders }
}

/// Everything about how to reach the server; resolved from task, session and settings before the engine sees it.
package struct NetworkOptions: Sendable, Hashable {
    /// nil = the environment's proxies; "" = none; else a URL with scheme http, https, socks5 or socks5h.
    package var proxy: String?
    package var username: String?
    package var password: String?
    package var bearer: String?
    package var netrcPath: String?
    /// Given by clients in answers to challenges; each is for its origin alone, wherever redirects lead, and goes before
    /// all others there.
    package var answered: [OriginCredential] = []
    /// The same for the proxy.
    package var proxyCredential: OriginCredential?
    /// nil if nobody is asked of TLS servers and nobody has decided anything.
    @BoxedOptional package var tls: TLSDecisions?
    /// The paths that task or session name; what they hold is in `certificates`.
    package var caFile: String?
    /// The daemon's own configuration names it, not whoever the task is of.
    package var caFileIsTheDaemons = false
    package var clientCertificate: ClientCertificate?
    package var certificates = CertificateTexts()
    package var tlsMinimumVersion: TLSVersion?
    package var httpVersion: HTTPVersion?
    package var knownHostsPath: String?
    package var stallTimeout: Seconds = 60
    package var connectTimeout: Seconds = 30
    package var allowsPlaintext = true
    package var redirectLimit = 20
    /// Redirects that earlier attempts followed on the way to this request.
    package var redirectsBefore = 0

    package init() {}

    /// A user name and a password for one scheme, host and port.
    package struct OriginCredential: Sendable, Hashable {
        /// As `https://example.org:443`.
        package var origin: String
        package var username: String
        package var password: String
        /// The server wants them by NTLM, which is sent over HTTP/1.1 only.
        package var isNTLM = false

        package init(origin: String, username: String, password: String) {
            self.origin = origin
            self.username = username
            self.password = password
        }
    }
}

/// What `caFile` and `clientCertificate` held when the attempt began: all that the engine sees of them.
///
/// Its thread must not wait for a file system, a fifo or an endless file. And libcurl uses a connection again for whoever
/// names the same certificate: of paths that would be the name, which two users may give to two things; of texts it is
/// what they say.
package struct CertificateTexts: Sendable, Hashable {
    /// PEM; nil = the authorities of the system.
    package var authorities: [UInt8]?
    /// PEM, with a line before it that no other user's has.
    package var certificate: [UInt8]?
    package var key: [UInt8]?

    package init() {}
}

/// The head of one final response (redirects, 1xx and answered challenges excluded), or what FTP, SFTP and file know
/// in its place.
package struct ResponseHead: Sendable, Hashable {
    /// URL that answered, after redirects, user info removed.
    package var url: String
    /// nil for protocols without one.
    package var status: Int?
    package var httpVersion: String?
    package var reason: String?
    package var headers: [HeaderField]
    /// Size by protocol means (SIZE, SFTP stat, fstat) where there are no headers.
    package var size: ByteCount?
    /// Modification time by protocol means, seconds since 1970.
    package var modificationTime: Int64?
    package var redirects: Int

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

/// What becomes of a response whose head has arrived.
package enum Verdict: Sendable, Hashable {
    /// Write the body from `offset` on. `truncate` first empties the part file (a 200 that replaces what was held).
    /// `expected` bytes end it; nil if the length is unknown.
    case accept(Acceptance)
    /// Read nothing more; the strategy decides on the outcome what comes next.
    case stop(StopReason)
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
    /// The mirror that answered, as a checkpoint names it; nil = the task's own URL.
    package var origin: String?

    package init(
        offset: ByteCount, truncate: Bool = false, expected: ByteCount? = nil, total: ByteCount? = nil,
        validators: Validators = Validators(), contentCoding: String? = nil, serverDigests: [String: String] = [:]
    ) {
        self.offset = offset
        self.truncate = truncate
        self.expected = expected
        self.total = total
        self.validators = validators
        self.contentCoding = contentCoding
        self.serverDigests = serverDigests
    }
}

package enum StopReason: Sendable, Hashable {
    /// The answer cannot continue what is held: start over from 0 on a new request.
    case restart(TransferError)
    /// A 200 with the very validator and length that are held: try once with a bare Range.
    case bareRange
    /// Everything is held already (a 416 that proves it).
    case complete
    /// An error status, or a head that breaks the protocol; carries the delay of a Retry-After.
    case failure(TransferError, retryAfter: Seconds?)
    /// A redirect to this request, which is asked about.
    case redirect(StandingRequest)
}

/// How an exchange ended.
package struct ExchangeOutcome: Sendable {
    package enum End: Sendable, Hashable {
        /// The transport says the body is whole (length reached, last chunk, or clean close without a length).
        case finished
        /// The judge stopped it.
        case stopped(StopReason)
        /// The transport failed: the libcurl code (`CURLcode`) and its text.
        case transport(code: Int, message: String)
        /// Local input or output failed (errno).
        case local(errno: Int32, operation: String)
        /// The daemon ended it (pause, cancel, preemption, shutdown).
        case aborted
        /// No byte for `stallTimeout`.
        case stalled
        /// The body has more bytes than its head announced.
        case overrun
        /// A redirect was refused: limit, plain text, scheme.
        case refusedRedirect(TransferError)
    }

    package var end: End
    package var head: ResponseHead?
    /// What the exchange's judge said of `head`, if it was asked.
    package var verdict: Verdict?
    /// Trailer fields, if there were any.
    package var trailers: [HeaderField]
    /// Next offset in the part file: everything before it is written (not necessarily synced).
    package var offset: ByteCount
    /// Body bytes that arrived in this exchange.
    package var received: ByteCount
    /// The whole body, if it was small and came at once: it is in no file yet, and `offset` counts it.
    package var gathered: [UInt8]?
    /// True if the end of the body was delimited (length or chunks), false if only the connection's close did.
    package var delimited: Bool
    /// HTTP status of a proxy's refusal to CONNECT, if there was one.
    package var proxyStatus: Int?
    /// Host and port of the proxy that the exchange went through, or was to go through; never its credentials.
    package var proxy: String?
    /// Payload bytes handed to the network and not known to be lost, framing included; counted anew after a redirect
    /// or a challenge.
    package var sent: ByteCount = 0
    /// `request`: the answer's body, at most `responseLimit` bytes.
    package var body: [UInt8] = []
    /// The answer's body was longer than `body`.
    package var isBodyTruncated = false
    /// Interim answers other than 100 (104, 103), in order.
    package var interim: [ResponseHead] = []
    /// The final answer came in place of a 100, before any byte of the body.
    package var continueRefused = false
    /// False if certainly nothing of a request has left.
    package var wasSent = true
    /// False if an answer came, or the connection went, before the whole payload was handed to the network.
    package var isSentWhole = true
    /// A redirect took the request as done and a GET followed (301, 302, 303).
    package var becameGET = false
    /// Scheme, name and port of the server that was asked last, if redirects led to another than the URL's.
    package var redirectedTo: String?
    /// What ended a TLS handshake, if a client may be asked about it.
    @BoxedOptional package var tls: TLSChallenge?

    package init(
        end: End, head: ResponseHead? = nil, trailers: [HeaderField] = [], offset: ByteCount = 0,
        received: ByteCount = 0, delimited: Bool = true, proxyStatus: Int? = nil
    ) {
        self.end = end
        self.head = head
        self.trailers = trailers
        self.offset = offset
        self.received = received
        self.delimited = delimited
        self.proxyStatus = proxyStatus
    }
}

/// A transfer protocol: says which exchange comes next, never performs one.
package protocol TransferStrategy<Yield>: Sendable {
    /// What it has in the end: a file (`Arrival`), or a server's answer (`UploadResult`).
    associatedtype Yield: Sendable
    /// What to do first, or after `outcome`.
    mutating func next(after outcome: ExchangeOutcome?) -> Step<Yield>
    /// What a checkpoint stores with the offset; nil until an answer was accepted.
    var progress: Acceptance? { get }
    /// What is known of the upload, or of a request that must not be made twice; stored whenever an attempt ends, be it
    /// by an abort, whose outcome is handed to `next(after:)` too (its step is not taken). nil if nothing is.
    var upload: UploadProgress? { get }
    /// Itself as it stands, if it may go on in several parts once an answer turns out to be long; nil if it never may.
    var parting: HTTPDownload? { get }
}

extension TransferStrategy {
    package var upload: UploadProgress? { nil }
    package var parting: HTTPDownload? { nil }
}

package indirect enum Step<Yield: Sendable>: Sendable {
    case run(Exchange)
    /// Everything has arrived, or was sent and answered.
    case finished(Yield)
    case failed(AttemptFailure)
    /// Bytes are dropped and the part emptied before the next step; the error goes to `task.restarted`. Uploads: the
    /// stored `UploadProgress` is removed first; downloads: replaced by `upload`.
    case restart(TransferError, then: Exchange)
    /// The progress is durable before the exchange begins.
    case store(UploadProgress, then: Exchange)
}

extension Step {
    /// What is performed next; nil after the strategy's last step.
    package var exchange: Exchange? {
        switch self {
        case .run(let exchange), .restart(_, then: let exchange), .store(_, then: let exchange): exchange
        case .finished, .failed: nil
        }
    }
}

/// A representation that is whole on disk.
package struct Arrival: Sendable, Hashable {
    package var total: ByteCount
    package var lengthProven: Bool
    package var head: ResponseHead?
    package var contentCoding: String?
    /// Digests the server gave for the whole file, by algorithm, lower-case hexadecimal.
    package var serverDigests: [DigestAlgorithm: String]
    /// When the file was last changed, as the server wrote it.
    package var lastModified: String?
    /// Asking for it once more cannot make the server act twice.
    package var mayBeFetchedAgain = true

    package init(
        total: ByteCount, lengthProven: Bool, head: ResponseHead? = nil, contentCoding: String? = nil,
        serverDigests: [DigestAlgorithm: String] = [:], lastModified: String? = nil
    ) {
        self.total = total
        self.lengthProven = lengthProven
        self.head = head
        self.contentCoding = contentCoding
        self.serverDigests = serverDigests
        self.lastModified = lastModified
    }

    /// Seconds since 1970.
    package var modificationTime: Int64? { head?.modificationTime ?? lastModified.flatMap(HTTPDate.parse) }
}

/// Why an attempt ended without the file, classified for the machine.
package struct AttemptFailure: Error, Sendable, Hashable {
    package enum Disposition: Sendable, Hashable {
        /// Try again later; `after` is the server's Retry-After.
        case transient(after: Seconds?)
        /// Wait until the disk or the target is back.
        case disk
        /// Wait for the network.
        case network
        case permanent
    }
    package var error: TransferError
    package var disposition: Disposition
    /// Bytes arrived in this attempt: resets the count of failures.
    package var progressed: Bool
    /// The body was shorter than announced.
    @BoxedOptional package var shortEnd: ShortEnd?
    /// Where the server redirects to, if a client is to decide that.
    @BoxedOptional package var redirect: StandingRequest?
    /// A client may be asked about what ended a TLS handshake.
    @BoxedOptional package var tls: TLSChallenge?

    package init(error: TransferError, disposition: Disposition, progressed: Bool = false) {
        self.error = error
        self.disposition = disposition
        self.progressed = progressed
    }
}
