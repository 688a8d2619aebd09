import TransferModel

/// How an exchange ended.
package struct ExchangeOutcome: Sendable {
    package enum End: Sendable, Hashable {
        /// The transport says the body is complete (length reached, last chunk, or clean close without a length).
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
        /// The body has more bytes than its header announced.
        case overrun
        /// A redirect was refused: limit, plain text, scheme.
        case refusedRedirect(TransferError)

        /// The target of a redirect that a client is asked about.
        package var redirect: StandingRequest? {
            if case .stopped(.redirect(let target)) = self { target } else { nil }
        }
    }

    /// An earlier request of the exchange, and its answer, whose `url` is the requested one.
    package struct Hop: Sendable {
        package var method: String
        package var head: ResponseHead

        package init(method: String, head: ResponseHead) {
            self.method = method
            self.head = head
        }
    }

    package var end: End
    package var head: ResponseHead?
    /// What the exchange's judge decided about `head`, if it was asked.
    package var verdict: Verdict?
    /// Trailer fields, if any.
    package var trailers: [HeaderField]
    /// Next offset in the part file: everything before it is written (not necessarily synced).
    package var offset: ByteCount
    /// Body bytes that arrived in this exchange.
    package var received: ByteCount
    /// The complete body, if it was small and came at once: it is not in a file yet, and `offset` includes it.
    package var gathered: [UInt8]?
    /// True if the end of the body was delimited (length or chunks), false if only the connection's close did.
    package var delimited: Bool
    /// HTTP status of a proxy's refusal to CONNECT, if there was one.
    package var proxyStatus: Int?
    /// The head of that refusal if it asks for credentials (407).
    @BoxedOptional package var connectHead: ResponseHead?
    /// FTP: the last reply, as `530 Too many users`; nil if there was none.
    package var reply: String?
    /// Host and port of the proxy that the exchange used, or would have used; never its credentials.
    package var proxy: String?
    /// Whether a proxy may have answered, including one that only the environment names.
    package var mayBeOfProxy = false
    /// Payload bytes, including framing, that were handed to the network and are not known to be lost. Counted anew
    /// after a redirect or a challenge.
    package var sent: ByteCount = 0
    /// `request`: the answer's body, at most `responseLimit` bytes. After a redirect that a client is asked about, the
    /// redirect's.
    package var body: [UInt8] = []
    /// The answer's body was longer than `body`.
    package var isBodyTruncated = false
    /// Interim answers other than 100 (104, 103), in order.
    package var interim: [ResponseHead] = []
    /// The final answer came instead of a 100, before any byte of the body was sent.
    package var continueRefused = false
    /// False only if certainly nothing of a request was sent.
    package var wasSent = true
    /// False if an answer came, or the connection closed, before the whole payload was handed to the network.
    package var isSentWhole = true
    /// A redirect treated the request as done, and a GET followed (301, 302, 303).
    package var becameGET = false
    /// Redirects that were followed after a request that may have changed something.
    package var unsafeHops: [Hop] = []
    /// Scheme, name and port of the last server asked, if redirects led to another one than the URL's.
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

    /// The end of an exchange that never began.
    /// - Parameter continuing: it was to continue another, whose request was sent.
    package init(_ end: End, before exchange: Exchange, continuing: Bool = false) {
        self.init(end: end, offset: exchange.startOffset)
        wasSent = continuing
        if continuing { sent = exchange.payload.length ?? .zero }
    }
}
