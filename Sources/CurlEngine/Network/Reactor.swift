import CCurl
import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// The one thread that runs libcurl: epoll, a timer, and a mailbox for all other threads (curl_multi_socket_action(3)).
///
/// It never waits for the file system, nor for anything except epoll. libcurl's waiting inside its calls is bounded
/// (`Transfer+Patience`). Everything below `post` belongs to its thread.
final class Reactor: @unchecked Sendable {
    enum Command: Sendable {
        case start(Transfer)
        case abort(Transfer)
        /// The transfer's sink accepts bytes again, or failed.
        case sinkChanged(Transfer)
        /// The transfer's helper has sent an event, or no longer writes the part file.
        case helper(Transfer, HelperEvent)
        case helperEnded(Transfer)
        /// Kerberos's answer for the transfer's request. `since` identifies the wait.
        case tokens(Transfer, since: Int64, [Result<String, KerberosFailure>])
        /// The answer's body was held for this reason, which no longer applies.
        case mayGoOn(Transfer, Transfer.Hold)
        /// The next piece of the source is there, or the reason to hold it no longer applies.
        case sendingChanged(Transfer)
        case buffersFreed
        case globalRate(ByteRate, RateDirection)
        case sessionRate(SessionKey, ByteRate, RateDirection)
        case taskRate(TaskID, ByteRate, RateDirection)
        case renewConnections
        case stop(@Sendable () -> Void)
        /// Answered at once, as a sign of life.
        case ping(@Sendable () -> Void)
    }

    let files: FileSide
    let rateClock: @Sendable () -> Int64
    let trace: EngineTrace?
    /// nil if there are none.
    let helpers: (any HelperServing)?
    /// nil if there is none.
    let kerberos: Kerberos?
    private let userAgent: String
    private let mailbox: Mailbox<Command>
    let epoll: Int32
    private let timer: Int32
    let multi: UnsafeMutableRawPointer

    private(set) var now = dld_monotonic_nanoseconds()
    var transfers = TransferTable()
    private var handles = HandlePool()
    /// Header lines of the last request.
    var headerLines: HeaderLines?
    private var curlDeadline: Int64?
    private var tickDeadline: Int64?
    private var armed: Int64 = 0
    private var batch: [Command] = []
    private var ready = [dld_ready](repeating: dld_ready(), count: 256)
    var limiter = RateLimiter()
    var sendLimiter = RateLimiter()
    let answers = AnswerCounts()
    /// Which requests ask before they send.
    var expectations = ExpectationRules()
    var rateWaiters: [Transfer] = []
    var rateDeadline: Int64?
    private var stopped: (@Sendable () -> Void)?

    var buffers: BufferPool { files.buffers }
    var crowd: Crowd { files.crowd }
    /// Transfers that read their own sockets, or await room in them, by socket; those that are to take theirs over.
    var readers: [Int32: Transfer] = [:]
    var takeovers: [Transfer] = []
    /// libcurl's replacement for a socket that was taken from it.
    let deadSocket = socket(
        AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    /// Transfers that the present round has not served yet; when it continues; and when the next one begins.
    var round: [Transfer] = []
    var (roundPause, nextRound): (Int64, Int64) = (0, 0)
    let lateCloses = LateCloses()
    /// Transfers of a crowd whose buffers are handed over at the end of this turn of the loop.
    var filled: [Transfer] = []

    static let tick: Int64 = 100_000_000

    init?(
        maximumTransfers: Int, userAgent: String, files: FileSide, trace: EngineTrace? = nil,
        helpers: (any HelperServing)? = nil, kerberos: Kerberos? = nil, rateClock: @escaping @Sendable () -> Int64
    ) {
        guard let mailbox = Mailbox<Command>(), let multi = curl_multi_init() else { return nil }
        self.mailbox = mailbox
        self.multi = multi
        self.files = files
        self.trace = trace
        self.helpers = helpers
        self.kerberos = kerberos
        self.userAgent = userAgent
        self.rateClock = rateClock
        epoll = dld_epoll_create()
        timer = dld_timerfd_create()
        guard epoll >= 0, timer >= 0, dld_epoll_watch(epoll, mailbox.fileDescriptor, DLD_READABLE) == 0,
            dld_epoll_watch(epoll, timer, DLD_READABLE) == 0
        else { return nil }
        // With fewer idle connections than transfers, none would be reused.
        dld_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(64, maximumTransfers))
    }

    deinit {
        handles.empty()
        curl_multi_cleanup(multi)
        if epoll >= 0 { close(epoll) }
        if timer >= 0 { close(timer) }
        if deadSocket >= 0 { close(deadSocket) }
    }

    func post(_ command: Command) {
        if !mailbox.post(command) { refuse(command) }
    }

    /// Starts the thread. Returns false if the system provides none.
    func start() -> Bool { NamedThread.start("dld-curl") { self.run() } }

    // MARK: The loop

    private func run() {
        dld_multi_set_callbacks(multi, watchSocket, setTimer, Unmanaged.passUnretained(self).toOpaque())
        while !isDone {
            let count = dld_epoll_wait(epoll, &ready, Int32(ready.count), arm() ? -1 : 0)
            now = dld_monotonic_nanoseconds()
            for index in 0..<max(0, Int(count)) { handle(ready[index]) }
            runTimers()
            continueRound()
            handOverFilled()
            collectFinished()
            takeOverWaiting()
        }
        dld_multi_set_callbacks(multi, nil, nil, nil)
        stopped?()
        for command in mailbox.closeAndCollect() { refuse(command) }
    }

    /// Handles commands that come after the thread's end; on any thread.
    private func refuse(_ command: Command) {
        switch command {
        case .start(let transfer): transfer.refuse(.aborted)
        case .stop(let done): done()
        case .abort, .sinkChanged, .helper, .helperEnded, .tokens, .mayGoOn, .sendingChanged, .buffersFreed,
            .globalRate, .sessionRate, .taskRate, .renewConnections, .ping:
            break
        }
    }

    private var isDone: Bool { stopped != nil && transfers.isEmpty && lateCloses.next == nil }

    private func handle(_ ready: dld_ready) {
        switch ready.fd {
        case mailbox.fileDescriptor:
            dld_eventfd_drain(ready.fd)
            mailbox.collect(into: &batch)
            for command in batch { perform(command) }
            // The next batch may come late: nothing of this one is kept until then.
            batch.removeAll(keepingCapacity: true)
        case timer:
            dld_timerfd_drain(ready.fd)
            armed = 0
        default:
            if let own = readers[ready.fd] { return own.readsItself ? receive(own) : release(own, .room) }
            var mask: Int32 = 0
            if ready.events & (DLD_READABLE | DLD_HANGUP) != 0 { mask |= CURL_CSELECT_IN }
            if ready.events & DLD_WRITABLE != 0 { mask |= CURL_CSELECT_OUT }
            if ready.events & DLD_ERROR != 0 { mask |= CURL_CSELECT_ERR }
            var running: Int32 = 0
            curl_multi_socket_action(multi, ready.fd, mask, &running)
        }
    }

    private func perform(_ command: Command) {
        switch command {
        case .start(let transfer): begin(transfer)
        case .abort(let transfer): abort(transfer)
        case .sinkChanged(let transfer): sinkChanged(transfer)
        case .helper(let transfer, let event): heard(event, of: transfer)
        case .helperEnded(let transfer): helperEnded(transfer)
        case .tokens(let transfer, let since, let made): heard(made, transfer, since: since)
        case .mayGoOn(let transfer, let hold): goOn(transfer, after: hold) { transfer.begin(after: hold, self) }
        case .sendingChanged(let transfer): release(transfer, .sending)
        case .buffersFreed: buffersFreed()
        case .globalRate(let rate, let direction):
            change(direction) { $0.setGlobal(rate, at: rateClock()) }
        case .sessionRate(let session, let rate, let direction):
            change(direction) { $0.set(session, rate, at: rateClock()) }
        case .taskRate(let task, let rate, let direction):
            change(direction) { $0.set(task, rate, at: rateClock()) }
        case .renewConnections: handles.renewedAt = now
        case .ping(let answer): answer()
        case .stop(let done):
            stopped = done
            for transfer in transfers.all { abort(transfer) }
        }
    }

    // MARK: Timers

    /// Sets the timer to the earliest deadline. A timer that is already set to an earlier time stays, and fires without
    /// effect. Returns false if a deadline has already passed.
    private func arm() -> Bool {
        if transfers.isEmpty {
            tickDeadline = nil
            _ = crowd.note(0)
        } else if tickDeadline == nil {
            tickDeadline = now + Self.tick
        }
        let roundDeadline = round.isEmpty ? .max : roundPause
        let next = min(
            curlDeadline ?? .max, tickDeadline ?? .max, rateDeadline ?? .max, roundDeadline, lateCloses.next ?? .max)
        guard next < .max else { return true }
        guard next > now else { return false }
        if armed == 0 || next < armed {
            armed = max(next, 1)
            dld_timerfd_arm(timer, armed)
        }
        return true
    }

    private func runTimers() {
        if let deadline = curlDeadline, deadline <= now {
            curlDeadline = nil
            var running: Int32 = 0
            curl_multi_socket_action(multi, DLD_SOCKET_TIMEOUT, 0, &running)
            // Before 8.12, libcurl does not set a timer again if it fired early.
            var milliseconds = -1
            curl_multi_timeout(multi, &milliseconds)
            setCurlTimer(milliseconds)
        }
        if let deadline = rateDeadline, deadline <= now { wakeRateWaiters() }
        lateCloses.closeDue(at: now)
        if let deadline = tickDeadline, deadline <= now {
            tickDeadline = now + Self.tick
            beginRoundIfDue()
            let restless = transfers.restless
            for transfer in restless { inspect(transfer) }
            stepMissedEvents(of: restless)
        }
    }

    fileprivate func setCurlTimer(_ milliseconds: Int) {
        // A timer of zero milliseconds is due before the clock is read again.
        curlDeadline = milliseconds < 0 ? nil : now + Int64(milliseconds) * 1_000_000
    }

    fileprivate func watch(_ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32) {
        if let transfer = transfer(of: easy) {
            if what != CURL_POLL_REMOVE {
                transfer.socket = socket
            } else if transfer.socket == socket {
                transfer.socket = -1
            }
        }
        if what == CURL_POLL_REMOVE {
            dld_epoll_forget(epoll, socket)
            return
        }
        var events: UInt32 = 0
        if what & CURL_POLL_IN != 0 { events |= DLD_READABLE }
        if what & CURL_POLL_OUT != 0 { events |= DLD_WRITABLE }
        dld_epoll_watch(epoll, socket, events)
    }

    // MARK: Transfers

    private func begin(_ transfer: Transfer) {
        if stopped != nil || transfer.isAborted { return transfer.refuse(.aborted) }
        if let held = transfer.context.continues?.transfer, !held.isContinued { return `continue`(held, as: transfer) }
        transfer.reactor = self
        transfer.began = now
        setLimits(transfer)
        transfers.add(transfer)
        transfer.announceLength()
        transfer.feed?.start { [weak self] in self?.post(.sendingChanged(transfer)) }
        if let talk = transfer.talk { return ask(transfer, talk) }
        send(transfer)
    }

    /// Puts the transfer's current request on the network.
    func send(_ transfer: Transfer) {
        if !awaitsTokens(transfer) { transmit(transfer) }
    }

    func transmit(_ transfer: Transfer) {
        if let name = transfer.exchange.$network.wrappedValue.interface {
            transfer.interface = NetworkInterface(name)
            guard transfer.interface != nil else {
                return conclude(transfer, .stopped(.failure(.noInterface(name), retryAfter: nil)))
            }
        }
        transfer.expectsContinue = asksFirst(transfer)
        transfer.chooseCookies()
        let mayTunnel = transfer.request.url.scheme == "https" && EasySetup.mayUseProxy(transfer.exchange.$network)
        transfer.tunnel = mayTunnel ? HeadParser() : nil
        let (handle, code) = handles.take(for: transfer, userAgent: userAgent, at: now)
        guard let easy = handle else {
            return conclude(transfer, .transport(code: Int(CURLE_OUT_OF_MEMORY.rawValue), message: "out of memory"))
        }
        transfer.easy = easy
        transfer.isHandleClean = false
        transfer.lastActivity = now
        transfer.beginMeasuring(at: now)
        guard code == CURLE_OK else { return conclude(transfer, failure(code, transfer)) }
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else {
            return conclude(transfer, failure(CURLE_FAILED_INIT, transfer))
        }
    }

    private func abort(_ aborted: Transfer) {
        let transfer = aborted.standIn ?? aborted
        transfer.isAborted = true
        if transfer.readsItself, !transfer.isPaused { receive(transfer) }
        guard transfers.contains(transfer) else { return }
        conclude(transfer, .aborted)
    }

    func takeHandle(_ transfer: Transfer) {
        transfer.measureSending(atEnd: true)
        guard let easy = transfer.easy else { return }
        transfer.noteEnd(easy, at: now)
        transfer.easy = nil
        curl_multi_remove_handle(multi, easy)
        transfer.socket = -1
        transfer.lastWords = nil
        handles.giveBack(easy, of: transfer)
    }

    /// Takes the transfer out of libcurl and the table; not from inside a callback.
    func conclude(_ transfer: Transfer, _ end: ExchangeOutcome.End) {
        if let talk = transfer.talk, !talk.isOver { return self.end(transfer, talk, end) }
        var connectCode = 0
        if let easy = transfer.easy { dld_easy_get_long(easy, CURLINFO_HTTP_CONNECTCODE, &connectCode) }
        takeHandle(transfer)
        closeOwnSocket(transfer)
        guard transfers.remove(transfer) else { return }
        transfer.conclude(end, connectCode: connectCode, recycling: buffers)
        transfer.reactor = nil
    }

    private func collectFinished() {
        var code = CURLE_OK
        while let easy = dld_multi_next_done(multi, &code) {
            if let transfer = transfer(of: easy) { finished(transfer, code) }
        }
    }

    /// The transfer that a handle belongs to; nil for libcurl's internal handles.
    private func transfer(of easy: UnsafeMutableRawPointer?) -> Transfer? {
        var context: UnsafeMutableRawPointer?
        guard let easy, dld_easy_get_pointer(easy, &context) == CURLE_OK, let context else { return nil }
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    private func finished(_ transfer: Transfer, _ code: CURLcode) {
        transfer.isHandleClean = code == CURLE_OK
        if code == CURLE_SEND_ERROR { transfer.hearLastWords(self) }
        if transfer.discardingSince != nil { return follow(transfer) }
        if transfer.isQuestionRefused, transfer.expectsContinue {
            // Its `Expect` was refused (RFC 9110 section 10.1.1).
            expectations.wasIgnored(by: transfer.request.origin, at: now)
            return sendAgain(transfer)
        }
        if transfer.ending == nil, transfer.head == nil, code == CURLE_OK || transfer.isRefused { transfer.judge(self) }
        if let ending = transfer.ending { return conclude(transfer, ending) }
        if transfer.metWhatWasLeft(code), transfer.request.isIdempotent { return sendAgain(transfer, afresh: true) }
        if code != CURLE_OK { return conclude(transfer, failure(code, transfer)) }
        if !transfer.holds.isDisjoint(with: [.restart, .answer]) {
            // An empty body: the answer is accepted, or the file emptied, when that is allowed.
            transfer.ending = .finished
            takeHandle(transfer)
            return
        }
        if let missing = transfer.remaining, missing > 0 {
            let message = "the body ended \(missing) bytes early"
            return conclude(transfer, .transport(code: Int(CURLE_PARTIAL_FILE.rawValue), message: message))
        }
        conclude(transfer, .finished)
    }

    func failure(_ code: CURLcode, _ transfer: Transfer) -> ExchangeOutcome.End {
        let detail = String(cString: transfer.errorText)
        let message = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        let isStale = transfer.metWhatWasLeft(code)
        return .transport(code: Int(isStale ? CURLE_RECV_ERROR.rawValue : code.rawValue), message: message)
    }

    private func sendAgain(_ transfer: Transfer, afresh: Bool = false) {
        transfer.isAfresh = afresh
        takeHandle(transfer)
        transfer.prepareNextRequest()
        send(transfer)
    }
}

/// CURLMOPT_SOCKETFUNCTION(3).
private let watchSocket: dld_socket_callback = { easy, socket, what, context, _ in
    guard let context else { return 0 }
    Unmanaged<Reactor>.fromOpaque(context).takeUnretainedValue().watch(easy, socket, what)
    return 0
}

/// CURLMOPT_TIMERFUNCTION(3).
private let setTimer: dld_timer_callback = { _, milliseconds, context in
    guard let context else { return 0 }
    Unmanaged<Reactor>.fromOpaque(context).takeUnretainedValue().setCurlTimer(milliseconds)
    return 0
}

// MARK: - Redirects

/// Redirects: they are followed here, or handed back for a client to decide.
extension Reactor {
    /// Follows a redirect to its target.
    func follow(_ transfer: Transfer) {
        guard let status = transfer.parser.status, let location = transfer.redirectTarget else {
            return conclude(transfer, failure(CURLE_WEIRD_SERVER_REPLY, transfer))
        }
        takeHandle(transfer)
        transfer.noteHop()
        transfer.reportMetrics()
        let before = transfer.request
        do {
            try transfer.request.follow(status: status, location: location, isSentWhole: transfer.isSentWhole)
        } catch {
            return conclude(transfer, .refusedRedirect(error))
        }
        guard transfer.exchange.redirects != .ask else { return ask(transfer, before) }
        let (given, target) = (transfer.request.insecureURL, transfer.request.url.text)
        transfer.context.observer.transferRedirected(to: given ?? target, status: status)
        if given != nil { transfer.context.observer.transferSecured(to: target) }
        transfer.prepareNextRequest()
        send(transfer)
    }

    /// Ends the exchange with the redirect, as the answer to the request `before` it.
    private func ask(_ transfer: Transfer, _ before: RequestState) {
        let target = transfer.request
        transfer.noteSites()
        transfer.request = before
        let head = transfer.makeHead()
        transfer.head = head
        // Its body was too long or slow to be waited for, or the connection broke.
        transfer.isCaptureTruncated = !transfer.isHandleClean
        let reason = StopReason.redirect(
            StandingRequest(
                TaskRequest(url: target.url.text, method: target.effectiveMethod, headers: target.headers),
                sendsOwnBody: target.sendsPayload, isForeign: target.isForeign, crossedSites: transfer.crossedSites,
                redirects: 1, mayStepBack: before.isIdempotent, losesUpload: target.losesUpload ? true : nil))
        transfer.context.observer.transferResponded(head, verdict: .stop(reason))
        conclude(transfer, .stopped(reason))
    }
}

// MARK: - Inspection

/// Checks that no socket event triggers.
extension Reactor {
    private static let flushAge: Int64 = 90_000_000
    private static let discardTime: Int64 = 2_000_000_000
    /// An exchange that ends sooner is reported with its end.
    private static let lingerTime: Int64 = 1_000_000_000

    /// Checks that are due ten times a second: old bytes in buffers, checkpoints, silence.
    func inspect(_ transfer: Transfer) {
        if watchTokens(transfer) { return transfer.lastActivity = now }
        transfer.moveToFileIfOld(self, age: Self.flushAge)
        if now - transfer.began >= Self.lingerTime { transfer.context.observer.transferLingers() }
        if let sink = transfer.sink {
            if crowd.isCrowded { takeOverIfSlow(transfer) } else { transfer.flush(sink, now: now, age: Self.flushAge) }
            sink.board.checkpointIfDue(at: now)
        }
        if let since = transfer.discardingSince, now - since > Self.discardTime { return follow(transfer) }
        transfer.measureSending()
        endIfStalled(transfer)
    }

    func endIfStalled(_ transfer: Transfer) {
        let conversation = transfer.talk?.conversation
        if transfer.talk != nil, conversation?.isStarting ?? true { transfer.lastActivity = now }
        let waitsForAnother = conversation?.waitsForAnother == true
        if transfer.talk != nil { transfer.context.counters.setWaitsForAnother(waitsForAnother) }
        let limit = transfer.exchange.$network.wrappedValue.stallTimeout
        guard limit > 0, transfer.holds.isSubset(of: .room),
            now - transfer.lastActivity > limit.milliseconds * 1_000_000
        else { return }
        conclude(transfer, waitsForAnother ? Self.behindAnother : .stalled)
    }

    private static let behindAnother = ExchangeOutcome.End.stopped(
        .failure(
            TransferError(
                .networkTimeout,
                "The helper sent nothing for too long: its output waits for another task, which takes no bytes. Let that "
                    + "task continue, or cancel it.", retryable: true), retryAfter: nil))

    /// In FTPS and in FTP uploads, the data connection and the commands occasionally overtake each other. libcurl 7.88
    /// then watches the wrong socket. (Its own program polls once a second and does not notice.)
    func stepMissedEvents(of inspected: [Transfer]) {
        let mayMiss = inspected.contains { transfer in
            transfer.request.url.scheme == "ftps" || transfer.request.url.scheme == "ftp" && transfer.isSending
        }
        if mayMiss { dld_multi_step_all(multi) }
    }
}

// MARK: - Tokens

/// Requests with Kerberos tokens (RFC 4559). Each request gets its own token, because a server accepts no token twice.
extension Reactor {
    /// How long a request waits for a realm, in nanoseconds.
    static let tokenPatience: Int64 = 20_000_000_000

    /// The tokens that a request needs: for its server, its proxy, or both.
    private func wantedTokens(_ transfer: Transfer) -> [(isProxy: Bool, host: String, login: Kerberos.Login)] {
        var wanted: [(isProxy: Bool, host: String, login: Kerberos.Login)] = []
        if let known = transfer.request.credentials, known.method == .negotiate {
            let login = known.isTicket ? Kerberos.Login.tickets : .password(user: known.user, known.password)
            wanted.append((false, transfer.request.url.host, login))
        }
        if let known = transfer.exchange.$network.wrappedValue.proxyCredential, known.method == .negotiate,
            let host = CurlURL(known.origin)?.host
        {
            let login = known.isTicket ? Kerberos.Login.tickets : .password(user: known.username, known.password)
            wanted.append((true, host, login))
        }
        return wanted
    }

    /// - Returns: false if the request needs no token. Otherwise it is sent once Kerberos has answered.
    func awaitsTokens(_ transfer: Transfer) -> Bool {
        let wanted = wantedTokens(transfer)
        guard !wanted.isEmpty else {
            transfer.tokens = nil
            return false
        }
        transfer.request.token = nil
        transfer.tokens = TokenWait(since: now, places: wanted.map(\.isProxy))
        guard let kerberos else {
            heard(wanted.map { _ in .failure(KerberosFailure("it is not set up")) }, transfer, since: now)
            return true
        }
        let since = now
        kerberos.make(wanted.map { ($0.host, $0.login) }, for: transfer.context.session.owner) { [weak self] made in
            self?.post(.tokens(transfer, since: since, made))
        }
        return true
    }

    /// Kerberos has answered. Without a token, the request is sent as it is; the server's refusal then says what it
    /// accepts.
    func heard(_ made: [Result<String, KerberosFailure>], _ transfer: Transfer, since: Int64) {
        guard transfers.contains(transfer), transfer.tokens?.since == since, transfer.tokens?.isOver == false,
            let places = transfer.tokens?.places
        else { return }
        transfer.tokens?.isOver = true
        for (isProxy, result) in zip(places, made) {
            switch result {
            case .success(let field) where isProxy: transfer.tokens?.proxyField = field
            case .success(let field): transfer.request.token = field
            case .failure(let failure) where isProxy: transfer.tokens?.proxyFailure = failure
            case .failure(let failure): transfer.tokens?.failure = failure
            }
        }
        transmit(transfer)
    }

    /// - Returns: whether the transfer waits for Kerberos.
    func watchTokens(_ transfer: Transfer) -> Bool {
        guard let tokens = transfer.tokens, !tokens.isOver else { return false }
        if now - tokens.since > Self.tokenPatience {
            let failure = KerberosFailure(
                "No server of the realm answers within \(Self.tokenPatience / 1_000_000_000) s")
            heard(tokens.places.map { _ in .failure(failure) }, transfer, since: tokens.since)
        }
        return true
    }
}

/// The tokens that a transfer waits for, and Kerberos's answer for its current request. The token for the server is in
/// the request.
struct TokenWait: Sendable {
    /// When the wait began. It identifies the wait.
    let since: Int64
    /// The recipient of each token, in order: false for the server, true for the proxy.
    let places: [Bool]
    var isOver = false
    var proxyField: String?
    var failure: KerberosFailure?
    var proxyFailure: KerberosFailure?

    init(since: Int64, places: [Bool]) {
        self.since = since
        self.places = places
    }
}
