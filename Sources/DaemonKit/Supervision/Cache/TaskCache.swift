import CurlEngine
import DaemonSetup
import Threading
import TransferCore
import TransferModel
import TransferStore

/// The cache as one attempt at a data task or an upload uses it: it is consulted before the request, and takes the
/// answer afterwards.
final class TaskCache: Sendable {
    /// The task's part in a flight.
    private enum Flight {
        case none, waits
        /// It has waited, and does not wait again.
        case over
        /// Others wait for this request.
        case leads(CacheKeeper.Lead)
    }

    private struct State {
        /// nil if the cache takes no part.
        var request: CacheRequest?
        /// The stored cookies that `request` has, in the form of its Cookie field.
        var cookies: String?
        /// The exchange without the fields that the cache added.
        var plain: Exchange?
        var stored: CachedAnswer?
        /// Began before the search for a stored answer.
        var reading: CacheReading?
        var isValidating = false
        var requestTime: Int64 = 0
        var responseTime: Int64 = 0
        /// The answer that a client decides about.
        var offered: CachedAnswer?
        var flight = Flight.none
        var isCancelled = false
    }

    private let keeper: CacheKeeper
    private let shelf: CacheKeeper.Shelf
    /// nil if the task has no run yet.
    private let run: TransferRun?
    /// nil if the task has no cookies.
    private let cookies: TaskCookies?
    private let time: any TimeSource
    private let number: Int
    /// The body goes to a client as it arrives: nobody waits for it, and what was sent cannot be replaced.
    private let streams: Bool
    /// The task sends its owner's cookies, like all tasks that share the storage.
    private let sharesCookies: Bool
    /// The answers that a client is asked about before they are stored; nil for none.
    private let asks: ResponseHold?
    /// An answer with which the task has failed before is not used again.
    private let isRetry: Bool
    private let state = Guarded(State())

    init(
        _ keeper: CacheKeeper, _ record: TaskRecord, _ policy: CachePolicy, _ cookies: CookiePolicy,
        of jar: TaskCookies?, asking asks: ResponseHold? = nil, streams: Bool = false, _ run: TransferRun?,
        _ time: any TimeSource
    ) {
        self.streams = streams
        self.asks = asks
        self.keeper = keeper
        self.run = run
        self.cookies = jar
        self.time = time
        number = keeper.waiterNumber()
        sharesCookies = cookies.storage == .shared
        isRetry = record.status.attempts > 1
        shelf = CacheKeeper.Shelf(place: CachePlace(record.session, policy), policy: policy)
    }

    deinit { land(wasStopped: true) }

    private func now() -> Int64 { time.reading().wall.rawValue / 1000 }

    // MARK: Before the request

    /// The error of a task that must not use the network and has no stored answer.
    static let miss = AttemptFailure(
        error: TransferError(
            .cacheMiss, "No stored answer fits this request; choose a requestCachePolicy that may load it."),
        disposition: .permanent)

    /// Tells whether a server may be asked if the cache takes no part in the request.
    func mayLoad(_ exchange: Exchange) -> Bool {
        shelf.policy.request != .returnCacheDataDontLoad
            && !CacheControl(exchange.allHeaders.values(named: "cache-control")).onlyIfCached
    }

    /// - Parameter then: called once, on any thread, possibly before this function returns.
    func look(_ exchange: Exchange, then: @escaping @Sendable (Way) -> Void) {
        let (found, cookies) = request(of: exchange)
        guard let request = found else {
            land()
            return then(mayLoad(exchange) ? .send(exchange) : .miss)
        }
        state.withLock { state in
            state.request = request
            state.cookies = cookies
            state.plain = exchange
        }
        let reading = keeper.reading()
        state.withLock { $0.reading = reading }
        keeper.find(request, on: shelf, since: reading) { [self] in self.found($0, for: request, exchange, then) }
    }

    /// Returns the answer in memory for a task that has not begun, as if the exchange had brought it; nil if a server
    /// must be asked or another request awaited.
    func recalled(_ exchange: Exchange) -> ExchangeOutcome? {
        guard let request = request(of: exchange).request, let answer = keeper.recall(request, on: shelf),
            case .serve(_, let age) = request.use(of: answer.response, at: now())
        else { return nil }
        return outcome(answer, age: age, of: exchange)
    }

    /// Returns the request as it would be sent now, because its URL and fields choose the stored answer, and its stored
    /// cookies. The request is nil if the cache takes no part.
    private func request(of exchange: Exchange) -> (request: CacheRequest?, cookies: String?) {
        var sent = exchange
        var stored: String?
        if let cookies, !cookies.isEmpty, let url = CookieURL(exchange.url) {
            stored = cookies.field(for: CookieRequest(url), without: exchange.headers.namesOfCookies)
            if let stored { sent.ownHeaders.append(HeaderField("Cookie", stored)) }
        }
        let request = CacheRequest(
            sent, shelf.policy.request, defaults: keeper.defaults, cookies: sharesCookies ? nil : stored)
        return (request, stored)
    }

    private func found(
        _ answer: CachedAnswer?, for request: CacheRequest, _ exchange: Exchange,
        _ then: @escaping @Sendable (Way) -> Void
    ) {
        var answer = answer
        if isRetry, request.policy == .useProtocolCachePolicy, let status = answer?.response.status,
            status == 429 || status >= 500
        {
            answer = nil
        }
        let use = request.use(of: answer?.response, at: now())
        switch use {
        case .serve(_, let age):
            land()
            guard let answer else { return then(.send(exchange)) }
            then(.answered(outcome(answer, age: age, of: exchange)))
        case .miss:
            land()
            then(.miss)
        case .load, .validate:
            if waits(for: request, exchange, then) { return }
            then(.send(sent(use, answer, exchange)))
        }
    }

    private func sent(_ use: CacheRequest.Use, _ answer: CachedAnswer?, _ exchange: Exchange) -> Exchange {
        let (fields, isValidating): ([HeaderField], Bool) =
            switch use {
            case .load(let fields): (fields, false)
            case .validate(_, let fields): (fields, true)
            case .serve, .miss: ([], false)
            }
        state.withLock { state in
            state.stored = answer
            state.isValidating = isValidating
            state.requestTime = now()
        }
        var exchange = exchange
        exchange.headers.removeAll { own in fields.contains { $0.isNamed(own.name) } }
        exchange.ownHeaders += fields
        return exchange
    }

    /// Tells whether another task makes the same request. If so, this task looks again when that one has its answer or
    /// was stopped, but only once.
    private func waits(
        for request: CacheRequest, _ exchange: Exchange, _ then: @escaping @Sendable (Way) -> Void
    ) -> Bool {
        switch request.policy {
        case .useProtocolCachePolicy, .returnCacheDataElseLoad: break
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .returnCacheDataDontLoad,
            .reloadRevalidatingCacheData:
            return false
        }
        let flight = flight(request)
        // It was handed a flight, and its cookies have changed since it began to wait.
        if case .leads(let lead) = state.withLock({ $0.flight }), lead.flight != flight {
            land()
            return false
        }
        let mayWait = state.withLock { state in
            guard !streams, case .none = state.flight, !state.isCancelled else { return false }
            state.flight = .waits
            return true
        }
        guard mayWait else { return false }
        let start = keeper.start(flight, waiter: number, request.fields) { [self] lead in
            state.withLock { $0.flight = lead.map { .leads($0) } ?? .over }
            // The cookies may have changed.
            look(exchange, then: then)
        }
        switch start {
        case .lead(let lead): state.withLock { $0.flight = .leads(lead) }
        case .pass: state.withLock { $0.flight = .none }
        case .wait:
            // A cancellation may have come before there was anything to wake.
            if state.withLock({ $0.isCancelled }) { keeper.leave(flight, waiter: number) }
            return true
        }
        return false
    }

    private func flight(_ request: CacheRequest) -> CacheKeeper.Flight {
        CacheKeeper.Flight(place: shelf.place, url: request.url, credentials: request.credentials)
    }

    /// Stops waiting.
    func cancel() {
        let request = state.withLock { state -> CacheRequest? in
            state.isCancelled = true
            if case .waits = state.flight { return state.request }
            return nil
        }
        if let request { keeper.leave(flight(request), waiter: number) }
    }

    private func outcome(_ answer: CachedAnswer, age: Int64, of exchange: Exchange) -> ExchangeOutcome {
        var outcome = ExchangeOutcome(end: .finished, head: answer.response.head(of: exchange.url, age: age))
        outcome.body = answer.body
        outcome.wasSent = false
        run?.measured(.fromCache(at: time.reading().wall))
        return outcome
    }

    // MARK: The answer

    /// Takes the cookies that are really sent. If they are not those that chose the stored answer, the answers to this
    /// request are for other requests than that one: none is kept, and nobody waits for them.
    func sends(cookies: String?) {
        let isOther = state.withLock { state in
            state.request != nil && state.cookies.map { Array($0.utf8) } != cookies.map { Array($0.utf8) }
        }
        guard isOther else { return }
        land()
        state.withLock { ($0.request, $0.stored) = (nil, nil) }
    }

    /// Takes the header of an answer, and lets requests continue that wait for an answer which will not fit them.
    func responded(_ head: ResponseHead) {
        let now = now()
        let known = state.withLock { state in
            state.responseTime = now
            return state
        }
        guard case .leads(let lead) = known.flight, let request = known.request else { return }
        // Waiting would be pointless: the client may take long, and may say anything.
        if asks?.applies(to: head) == true { return land() }
        let isShared =
            Self.length(head) <= limit && request.isShared(head, requestTime: known.requestTime, responseTime: now)
        let selection =
            head.status == 304 ? known.stored?.response.selection : CacheSelection(head, request.fields)
        guard isShared, let selection else { return land() }
        keeper.select(lead, selection)
    }

    /// Returns the header that a client decides about. If a validation confirms the stored answer, that is the stored
    /// header.
    func standing(for head: ResponseHead) -> ResponseHead {
        let known = state.withLock { $0 }
        guard known.isValidating, head.status == 304, let request = known.request,
            let fresh = known.stored?.response.freshened(
                by: head, requestTime: known.requestTime, responseTime: now())
        else { return head }
        return fresh.head(of: request.url, age: fresh.age(at: now()))
    }

    /// Whether this header confirms a stored answer, or refuses to.
    func isConfirmation(_ head: ResponseHead) -> Bool { head.status == 304 && state.withLock { $0.isValidating } }

    /// The most bytes of a streamed body that are worth a copy; 0 if the answer will not be stored.
    func room(for head: ResponseHead) -> Int {
        let known = state.withLock { $0 }
        guard Self.length(head) <= limit, let request = known.request,
            let response = request.stored(head, requestTime: known.requestTime, responseTime: now()),
            response.lifetime > 0 || !response.validators.isEmpty
        else { return 0 }
        return limit
    }

    private static func length(_ head: ResponseHead) -> Int {
        head.values("content-length").last.flatMap { Int($0) } ?? 0
    }

    /// The largest answer that is kept, in bytes.
    private var limit: Int { max(shelf.policy.memoryCapacity, shelf.policy.diskCapacity) / CachePolicy.share }

    /// - Parameter exchange: the exchange as it was sent.
    func ended(_ outcome: ExchangeOutcome, of exchange: Exchange) -> Ending {
        defer { land(wasStopped: outcome.end == .aborted) }
        invalidate(by: outcome, of: exchange)
        let known = state.withLock { $0 }
        if known.isValidating, outcome.end == .finished, outcome.head?.status == 304 {
            return validated(outcome, known)
        }
        guard let request = known.request else { return .outcome(outcome) }
        if let stored = known.stored, !streams || outcome.head == nil,
            request.mayServe(stored.response, inPlaceOf: outcome, at: now())
        {
            return .outcome(self.outcome(stored, age: stored.response.age(at: now()), of: exchange))
        }
        return store(outcome, known, request)
    }

    /// Removes what each hop of an unsafe request invalidates.
    func invalidate(by outcome: ExchangeOutcome, of exchange: Exchange) {
        for url in outcome.invalidated(of: exchange) { keeper.forget(url, on: shelf) }
    }

    private func validated(_ outcome: ExchangeOutcome, _ known: State) -> Ending {
        guard let plain = known.plain else { return .outcome(outcome) }
        guard let head = outcome.head, head.redirects == 0, let request = known.request, let stored = known.stored,
            let fresh = stored.response.freshened(
                by: head, requestTime: known.requestTime, responseTime: known.responseTime)
        else {
            state.withLock { state in
                state.isValidating = false
                state.stored = nil
                state.requestTime = now()
            }
            return .again(plain)
        }
        var answer = stored
        answer.response = fresh
        // The 304 may change what the answer depends on, or forbid keeping it (sections 4.1, 5.2.2.5).
        let selection = CacheSelection(fresh.head(of: request.url, age: 0), request.fields)
        // The answer itself stays valid, so this is not an invalidation.
        if selection != fresh.selection || fresh.directives.noStore { keeper.drop(request.url, on: shelf) }
        if let selection, !fresh.directives.noStore {
            answer.response.selection = selection
            keep(answer, request, known, replaces: true)
        }
        return .outcome(self.outcome(answer, age: fresh.age(at: now()), of: plain))
    }

    private func keep(_ answer: CachedAnswer, _ request: CacheRequest, _ known: State, replaces: Bool) {
        guard let reading = known.reading else { return }
        keeper.put(answer, request.url, on: shelf, since: reading, replaces: replaces)
    }

    /// An answer is not kept if it is incomplete, or if only the end of the connection says that it is complete (RFC
    /// 9111 section 3.3). The end of an HTTP/2 stream is explicit (RFC 9113 section 8.1).
    private func store(_ outcome: ExchangeOutcome, _ known: State, _ request: CacheRequest) -> Ending {
        guard outcome.end == .finished, outcome.delimited || outcome.head?.httpVersion == "2",
            !outcome.isBodyTruncated, let head = outcome.head,
            let response = request.stored(head, requestTime: known.requestTime, responseTime: known.responseTime)
        else {
            // The stored answer must not be used any more, even though this one is not kept.
            if known.stored != nil, outcome.head?.status.map({ $0 < 500 }) ?? false {
                keeper.forget(request.url, on: shelf)
            }
            return .outcome(outcome)
        }
        let answer = CachedAnswer(response: response, body: outcome.body, credentials: request.credentials)
        if asks?.applies(to: head) == true, let proposal = keeper.proposal(for: answer, request.url, on: shelf) {
            state.withLock { $0.offered = answer }
            return .asks(outcome, HeldAnswer(head: head, proposal: proposal))
        }
        keep(answer, request, known, replaces: known.stored != nil)
        return .outcome(outcome)
    }

    /// Stores the answer in the place that the client chose.
    /// - Parameter action: nil to follow the protocol.
    func decided(_ action: DecisionAction?) {
        let known = state.withLock { state in
            defer { state.offered = nil }
            return state
        }
        guard var offered = known.offered, let request = known.request else { return }
        if action == .doNotStore {
            if known.stored != nil { keeper.forget(request.url, on: shelf) }
            return
        }
        offered.isMemoryOnly = action == .memoryOnly
        keep(offered, request, known, replaces: known.stored != nil)
    }

    /// Lets the requests that wait for this one continue; only the next of them if this one was stopped.
    func land(wasStopped: Bool = false) {
        let lead = state.withLock { state -> CacheKeeper.Lead? in
            guard case .leads(let lead) = state.flight else { return nil }
            state.flight = .none
            return lead
        }
        guard let lead else { return }
        if wasStopped { keeper.handOn(lead) } else { keeper.land(lead) }
    }
}

// MARK: - Ways

extension TaskCache {
    /// What happens to a request.
    enum Way: Sendable {
        case send(Exchange)
        /// Answered by a stored answer, as if the exchange had brought it.
        case answered(ExchangeOutcome)
        case miss
    }

    /// The result of an exchange.
    enum Ending: Sendable {
        case outcome(ExchangeOutcome)
        /// The server confirmed another version than the stored one, so it is asked again without conditions.
        case again(Exchange)
        /// A client decides where the answer is stored. After that, `decided` must be called.
        case asks(ExchangeOutcome, HeldAnswer)
    }
}
