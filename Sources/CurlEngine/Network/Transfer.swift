import CCurl
import CLinux
import Glibc
import TransferCore
import TransferModel

/// One exchange on its way through libcurl.
///
/// Ownership: the reactor's table holds a transfer from `start` until its outcome is reported. libcurl keeps an
/// unretained pointer to it, and only between `curl_multi_add_handle` and `curl_multi_remove_handle`, both of which the
/// reactor calls while the table holds it. All variables belong to the reactor's thread.
final class Transfer: @unchecked Sendable {
    /// Why no bytes are accepted just now.
    struct Hold: OptionSet {
        let rawValue: UInt8
        /// The writer is behind, a checkpoint is late, or the buffer pool is empty.
        static let writer = Hold(rawValue: 1)
        static let rate = Hold(rawValue: 2)
        /// The stored checkpoint must be replaced before the part file may be emptied.
        static let restart = Hold(rawValue: 4)
        /// The next piece of the source is not there yet.
        static let source = Hold(rawValue: 8)
        static let sendRate = Hold(rawValue: 16)
        /// A client decides whether the answer is wanted.
        static let answer = Hold(rawValue: 32)
        /// The socket takes nothing more of what is sent without libcurl: the other end is slow, or stalls.
        static let room = Hold(rawValue: 64)

        /// What holds the answer's body, and what holds the request's.
        static let receiving: Hold = [.writer, .rate, .restart, .answer]
        static let sending: Hold = [.source, .sendRate, .room]
    }

    /// What happens to body bytes.
    enum BodyUse {
        /// The judge has not decided yet.
        case undecided
        case store(PartSink)
        /// Kept in one buffer while the file is only planned: a small body needs no file before it is delivered.
        case gather
        /// A redirect's body, read so that the connection can be reused, and kept if a client is asked; at most `left`
        /// more bytes.
        case discard(left: Int)
        /// Kept in memory, up to the exchange's limit.
        case capture
        /// Passed on as it arrives.
        case stream(any BodyReceiver)
        /// Not wanted, but counted.
        case count
    }

    static let discardPatience = 64 << 10

    var exchange: Exchange
    var part: PartFile?
    var context: TransferContext
    /// Set before the reactor is given the transfer.
    var keys: SSHKeys?
    /// The file that `feed` reads.
    let source: UploadSource?
    let feed: PayloadFeed?
    /// Set if this is one of several segments of a file.
    let segment: Segment?
    /// Bytes before this offset may be taken without asking the segment's bound.
    var permittedEnd: Int64 = 0
    var report: @Sendable (ExchangeOutcome) -> Void
    /// The held answer became that of another exchange; and what carries it out in this one's place.
    var isContinued = false
    var standIn: Transfer?

    /// The conversation with its helper; nil if libcurl performs the exchange.
    let talk: HelperTalk?

    /// Set while the reactor's table holds the transfer.
    var reactor: Reactor?
    /// Its index in that table.
    var place: Int?
    /// How its handle is configured, if another transfer may reuse that.
    var recipe: HandleRecipe?
    var request: RequestState
    /// Redirects lead only from HTTP to HTTP.
    let isHTTP: Bool
    /// A redirect led from one site to another.
    var crossedSites = false
    var easy: UnsafeMutableRawPointer?
    /// The device that the current request is bound to; nil: none.
    var interface: NetworkInterface?
    /// The socket that libcurl watches for it, -1 if there is none; of several, the latest. Its own if it
    /// `readsItself`.
    var socket: Int32 = -1
    /// The body is read from it, without libcurl.
    var readsItself = false
    var lastWords: LastWords? { didSet { reactor?.forgetRoom(in: oldValue?.socket) } }
    /// For the current request; exists as long as `easy`.
    var watch: TLSWatch?
    /// libcurl has ended the request without an error, so the handle may serve another transfer.
    var isHandleClean = false
    var headerLines: HeaderLines?
    /// FTP commands that are sent right before RETR.
    var commandList: UnsafeMutablePointer<curl_slist>?
    /// Header lines for the proxy.
    var proxyLines: UnsafeMutablePointer<curl_slist>?
    /// nil if the request needs no Kerberos token.
    var tokens: TokenWait?
    let errorText: UnsafeMutablePointer<CChar>

    /// Not checked for overlapping accesses, like everything that each header line uses: no function that changes one
    /// of them calls another that does.
    @exclusivity(unchecked) var parser = HeadParser()
    /// Bytes of headers and trailers in the answer to the current request.
    @exclusivity(unchecked) var headLength = 0
    /// Reads the headers of a proxy's answers to CONNECT; nil if there is no proxy, or the URL is not https.
    var tunnel: HeadParser?
    var head: ResponseHead?
    /// Origins of earlier hops that accepted given credentials.
    var letPass: [String] = []
    var unsafeHops: [ExchangeOutcome.Hop] = []
    /// The server of this hop has asked for credentials.
    var wasChallenged = false
    var verdict: Verdict?
    @exclusivity(unchecked) var acceptance: Acceptance?
    var use = BodyUse.undecided
    /// The end that we decided on; libcurl's own result no longer counts.
    @exclusivity(unchecked) var ending: ExchangeOutcome.End?
    var isAborted = false

    var buffer: Buffer?
    var nextOffset: Int64 = 0
    var received: Int64 = 0
    /// Bytes that this body may still have.
    var remaining: Int64?

    var holds: Hold = []
    /// libcurl was told to pause reading, or sending, and has not been told to continue.
    var isPaused = false
    var isSendPaused = false
    var limits: [SharedBucket] = []
    var sendLimits: [SharedBucket] = []
    /// Bytes of the answer that the limits were charged for but that have not passed yet, and when they may (rate
    /// clock).
    var charged = 0
    var dueAt: Int64 = 0
    /// Bytes that the receiver already took, of those that come again.
    var passed = 0
    /// What is noted about the current request for the task's metrics.
    @exclusivity(unchecked) var marks = RequestMarks(began: 0, wall: 0)
    /// When the exchange began, and when anything last moved.
    var began: Int64 = 0
    var lastActivity: Int64 = 0
    /// Bytes of the request's body that the system accepted in the current request, and how many of all accepted bytes
    /// the peer has not acknowledged yet.
    var sent: Int64 = 0
    var unacknowledged: Int64 = 0
    /// FTP and SFTP: where the remote file ended right before sending.
    var placedAt: Int64?
    /// Requests that libcurl began for the current URL, and whether it began any for any URL.
    var requestsBegun = 0
    var hasBegun = false
    /// The current request asks before it sends, and the server said 100 or did not answer in time.
    var expectsContinue = false
    var isQuestionSettled = false
    /// The request uses a new connection.
    var isAfresh = false
    /// The server refused the question (417): the request is sent once more without it.
    var isQuestionRefused = false
    var interim: [ResponseHead] = []
    /// Interim answers to the current request.
    var interimCount = 0
    var captured: [UInt8] = []
    var isCaptureTruncated = false
    var continueRefused = false
    /// When the first byte in `buffer` arrived.
    var bufferedSince: Int64 = 0
    /// The buffer is handed over at the end of the reactor's turn.
    var isFilled = false
    var discardingSince: Int64?
    /// Size of the next buffer: the faster bytes come, the larger.
    var bufferSize = BufferPool.Size.small
    /// The socket reports nothing before this many bytes have arrived (SO_RCVLOWAT): rounds fetch slower bytes.
    var lowWater: Int32 = 1
    /// Since when a libcurl call has not returned, and in which turn of the loop (its `now`).
    var waitingSince: Int64 = 0
    var waitingIn: Int64 = 0
    /// Rounds check it, so the tick need not. Set by the table.
    var isInRounds = false

    init(
        exchange: Exchange, part: PartFile?, context: TransferContext, request: RequestState,
        source: UploadSource? = nil, feed: PayloadFeed? = nil, segment: Segment? = nil, talk: HelperTalk? = nil,
        report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) {
        self.exchange = exchange
        self.part = part
        self.context = context
        self.request = request
        isHTTP = request.url.isHTTP
        self.source = source
        self.feed = feed
        self.segment = segment
        self.talk = talk
        self.report = report
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_slist_free_all(commandList)
        curl_slist_free_all(proxyLines)
        errorText.deallocate()
    }

    var sink: PartSink? { if case .store(let sink) = use { sink } else { nil } }

    /// Forgets the last response before the next request of a redirect chain.
    func prepareNextRequest() {
        reportMetrics()
        use = .undecided
        discardingSince = nil
        wasChallenged = false
        requestsBegun = 0
        sent = 0
        unacknowledged = 0
        errorText[0] = 0
        resetForRequest()
    }

    /// Resets what belongs to one request only. libcurl begins each one unpaused.
    func resetForRequest() {
        parser = HeadParser()
        headLength = 0
        interimCount = 0
        holds = []
        isPaused = false
        isSendPaused = false
        continueRefused = false
        isQuestionSettled = false
        lastWords = nil
        passed = 0
    }

    /// The credentials were sent and refused. That counts even if the connection broke before the answer's body.
    var isRefused: Bool {
        parser.isComplete && parser.isChallenge && (requestsBegun > 1 || request.isProvedUnasked)
    }

    // MARK: The outcome

    /// Whether more than the connection's close marked the body's end.
    private var isDelimited: Bool {
        if parser.isComplete { return parser.isDelimited || request.method?.uppercased() == "HEAD" }
        return true
    }

    /// A connection that had served before brought something that is not HTTP: most likely what a server sent beyond
    /// the end of its last answer. That is not this request's fault, and the connection is now closed.
    func metWhatWasLeft(_ code: CURLcode) -> Bool {
        guard code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY, let easy, isHTTP, head == nil,
            parser.status == nil
        else { return false }
        var made = 1
        dld_easy_get_long(easy, CURLINFO_NUM_CONNECTS, &made)
        return made == 0
    }

    private func proxyStatus(connectCode: Int) -> Int? {
        if connectCode >= 300 { return connectCode }
        return parser.status == 407 ? 407 : nil
    }

    /// Hands the rest to the writer, and reports when the file is in its final state. The transfer has left libcurl.
    func conclude(_ end: ExchangeOutcome.End, connectCode: Int, recycling buffers: BufferPool) {
        feed?.end()
        segment?.bound.close()
        reportMetrics(after: end)
        var outcome = ExchangeOutcome(
            end: end, head: head, trailers: parser.trailers, offset: exchange.startOffset,
            received: ByteCount(received), delimited: isDelimited,
            proxyStatus: proxyStatus(connectCode: connectCode))
        outcome.verdict = verdict
        outcome.reply = isHTTP ? nil : parser.reply
        outcome.proxy = proxy(of: end)
        outcome.mayBeOfProxy = EasySetup.mayUseProxy(exchange.$network)
        if connectCode == 407, let tunnel {
            outcome.connectHead = ResponseHead(url: request.url.text, status: 407, headers: tunnel.headers)
            outcome.connectHead?.kerberosFailure = tokens?.proxyFailure
        }
        outcome.sent = ByteCount(sent)
        outcome.body = captured
        outcome.isBodyTruncated = isCaptureTruncated
        outcome.interim = interim
        outcome.continueRefused = continueRefused
        outcome.wasSent = hasBegun || !isHTTP
        outcome.isSentWhole = isSentWhole
        outcome.becameGET = request.becameGET
        outcome.unsafeHops = unsafeHops
        if request.isForeign { outcome.redirectedTo = request.origin }
        if case .transport(let code, let message) = end {
            outcome.tls = watch?.challenge(after: code, message, origin: request.origin)
        }
        if case .gather = use {
            if isWhole(end) { return conclude(gathered: outcome, recycling: buffers) }
            if let reactor, (buffer?.count ?? 0) > 0 { moveToFile(reactor) }
        }
        guard let sink else {
            buffers.release(buffer)
            report(outcome)
            return
        }
        if let buffer { buffer.count > 0 ? sink.submit(buffer) : buffers.release(buffer) }
        buffer = nil
        // The sink refers to the reactor and this transfer: without this, they would keep each other alive.
        use = .count
        let report = self.report
        sink.finish(syncing: !isWhole(end)) { [outcome] ending in
            var final = outcome
            final.offset = ByteCount(ending.offset)
            if let failure = ending.failure {
                final.end = .local(errno: failure.errno, operation: failure.operation)
            }
            report(final)
        }
    }

    private func proxy(of end: ExchangeOutcome.End) -> String? {
        guard talk == nil else { return nil }
        if let named = exchange.$network.wrappedValue.proxy { return ProxyRules.address(named) }
        guard case .transport(_, let message) = end else { return nil }
        return ProxyRules.address(
            inEnvironment: { getenv($0).map { String(cString: $0) } }, scheme: request.url.scheme, concerning: message)
    }

    private func isWhole(_ end: ExchangeOutcome.End) -> Bool {
        let total = acceptance?.total?.rawValue
        return end == .finished && (total == nil || total == nextOffset)
    }

    private func conclude(gathered outcome: ExchangeOutcome, recycling buffers: BufferPool) {
        var outcome = outcome
        outcome.gathered = buffer.map { [UInt8](UnsafeRawBufferPointer(start: $0.bytes, count: $0.count)) } ?? []
        outcome.offset = ByteCount(nextOffset)
        context.counters.setReceived(outcome.offset)
        buffers.release(buffer)
        buffer = nil
        report(outcome)
    }

    /// Reports a transfer that was never on the network.
    func refuse(_ end: ExchangeOutcome.End) {
        feed?.end()
        segment?.bound.close()
        report(ExchangeOutcome(end, before: exchange, continuing: context.continues != nil))
    }
}

// MARK: - HSTS

/// The hosts that a task must reach over https alone (RFC 6797). Its methods are called on any thread and must not
/// block.
package protocol HSTSKeeping: AnyObject, Sendable {
    /// Whether a host must be reached over https alone (section 8.2).
    func isKnown(_ host: String) -> Bool
    /// Takes the first Strict-Transport-Security field of an answer over TLS, from a server whose certificate was
    /// verified.
    func receive(_ field: String, from host: String)
}

extension Transfer {
    /// Learns from the complete header of a response, if it came from the server itself (not a proxy) and the
    /// certificate was verified (section 8.1). Answers over http do not count, and neither do those of a server whose
    /// key a client trusts, because that key proves no name.
    func learnHost() {
        guard let hsts = context.hsts, request.url.scheme == "https", parser.status != 407, trustedKey == nil,
            let index = parser.headers.firstIndex(named: "strict-transport-security")
        else { return }
        hsts.receive(parser.headers[index].value, from: request.url.host)
    }

    /// The key that a client trusts instead of verification; nil for a known host (section 8.4).
    var trustedKey: String? {
        request.isKnownHost ? nil : exchange.network.tls?.place(of: request.url)?.key
    }
}

// MARK: - Patience

/// Inside its calls, libcurl waits for FTP's last answers (the 226 after a file, and the answer to QUIT) and for the
/// end of an SSH session. That can take a minute and more, and all transfers wait with it. Once a second, libcurl asks
/// whether to continue (CURLOPT_XFERINFOFUNCTION(3)).
extension Transfer {
    /// Nanoseconds that all transfers may wait for one server.
    private static let patience: Int64 = 1_500_000_000

    /// Called on entry and while libcurl waits. Returning true ends the transfer and its connection: the answer may
    /// still come, and would be taken for that to the next command.
    func hasWaitedTooLong(_ reactor: Reactor) -> Bool {
        let time = dld_monotonic_nanoseconds()
        if waitingIn != reactor.now {
            waitingIn = reactor.now
            waitingSince = time
        }
        guard time - waitingSince > Self.patience else { return false }
        if let easy { dld_easy_set_long(easy, CURLOPT_FORBID_REUSE, 1) }
        return true
    }
}

extension EasySetup {
    /// For protocols whose handlers wait inside libcurl.
    mutating func bePatientOnlySoLong(_ transfer: Transfer) {
        guard result == CURLE_OK else { return }
        result = dld_easy_set_progress_callback(easy, mayGoOn, Unmanaged.passUnretained(transfer).toOpaque())
    }
}

private let mayGoOn: dld_progress_callback = { context, _, _, _, _ in
    guard let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    guard let reactor = transfer.reactor else { return 0 }
    return transfer.hasWaitedTooLong(reactor) ? 1 : 0
}

// MARK: - Cookies

/// Where a task's cookies are kept. Called on the reactor's thread; must not block.
package protocol CookieKeeping: AnyObject, Sendable {
    /// The cookies of a request, in the form of its Cookie field; nil if it has none.
    /// - Parameter names: names of cookies that the caller's own header gives.
    func field(for request: @autoclosure () -> CookieRequest, without names: @autoclosure () -> Set<String>) -> String?
    /// The values of the Set-Cookie fields of one response.
    func receive(_ fields: [String], from url: CookieURL)
}

extension Transfer {
    /// Chooses the cookies of the request that is about to be sent; each redirect's target gets its own.
    func chooseCookies() {
        guard let cookies = context.cookies, isHTTP else { return }
        noteSites()
        request.storedCookies = cookies.field(
            for: CookieRequest(request.cookieURL, isSafe: request.isSafe, crossedSites: crossedSites),
            without: request.headers.namesOfCookies)
        if request.redirects == 0 { context.observer.transferSends(cookies: request.storedCookies) }
    }

    /// Notes whether a redirect has led to another site; called with the request that goes there.
    func noteSites() { crossedSites = crossedSites || request.isForeign && hasCrossedSites }

    /// Whether the request goes to another site than the exchange's URL.
    private var hasCrossedSites: Bool {
        guard let first = CurlURL(exchange.url) else { return true }
        return PublicSuffixes.site(of: first.host) != PublicSuffixes.site(of: request.url.host)
    }

    /// Keeps the cookies of a response whose header is complete. Those of a proxy are not the server's. If there are
    /// more fields than cookies that one domain may have, the last ones count.
    func keepCookies() {
        guard let cookies = context.cookies, parser.status != 407, isHTTP,
            parser.headers.firstIndex(named: "set-cookie") != nil
        else { return }
        let fields = parser.setCookies.suffix(Bounds.cookiesOfDomain)
        cookies.receive(Array(fields), from: request.cookieURL)
    }
}

extension RequestState {
    /// Its method changes nothing on the server (RFC 9110 section 9.2.1).
    var isSafe: Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(effectiveMethod) }

    var cookieURL: CookieURL { CookieURL(host: url.host, text: url.text, isSecure: url.scheme == "https") }
}

extension [HeaderField] {
    /// Names in the caller's Cookie fields.
    package var namesOfCookies: Set<String> {
        Set(
            values(named: "cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
                let name = pair.utf8.prefix { $0 != UInt8(ascii: "=") }.drop { $0 == 0x20 || $0 == 0x09 }
                return name.endIndex == pair.endIndex ? nil : String(Substring(name))
            })
    }
}
