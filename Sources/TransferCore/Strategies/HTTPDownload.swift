import TransferModel

/// Downloads over HTTP, and by helpers, whose answers look like those of HTTP (`HelperOrder`): one open-ended range
/// after another until the representation is complete, never from two versions.
package struct HTTPDownload: TransferStrategy {
    /// Answers in one attempt that cannot be continued, before the server is left alone for a while.
    static let restartLimit = 3

    @Boxed private var url: ParsedURL
    let mirror: String?
    private let size: ByteCount?
    private let names: [String]
    private let method: String
    private let payload: Payload
    private let wantsContinue: Bool
    private let baseHeaders: [HeaderField]
    @Boxed private var network: NetworkOptions
    private let now: Timestamp
    private let trustedDigest: Bool
    private let acceptsAnyStatus: Bool
    private let resumesUnproven: Bool
    private let asksChallenges: AskedChallenges
    private let redirects: RedirectRule
    private let hold: ResponseHold?
    /// Bytes held when the attempt began.
    private let startOffset: ByteCount
    private let lastHeaders: [HeaderField]

    @BoxedOptional private var held: HeldBytes?
    @Boxed private var judge: HTTPJudge
    private var restarts = 0
    private var hasLookedBack = false
    private var crumbs = Crumbs()
    var resolvedAgain = false
    /// What is stored before a request that must not be repeated; nil if it may be.
    @BoxedOptional private var begun: UploadProgress?
    @BoxedOptional package internal(set) var progress: Acceptance?
    /// Set while a request that must not be repeated is under way.
    @BoxedOptional package private(set) var upload: UploadProgress?

    /// - Throws: `request.bad_field` for a method, headers or a body that cannot be sent, `source.changed`.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        self.url = url
        mirror = request.mirror
        size = request.spec.size
        names = [request.spec.destination?.filename, request.spec.destination?.path].compactMap { $0 }
        payload = try request.payload()
        method = RequestHeaders.method(request.spec.method, hasBody: payload != .none)
        guard method != "HEAD", method != "CONNECT" else {
            throw TransferError(
                .badField, "method: the answer to \(method) has no body that could be a file.",
                details: ["field": "method"])
        }
        let headers = try request.headers()
        wantsContinue = UploadRequest.wantsContinue(headers)
        baseHeaders = headers.filter { !$0.isNamed("expect") }
        _network = request.$network.choosingCredentials(for: url, baseHeaders)
        now = request.now
        trustedDigest = request.trustedDigest
        acceptsAnyStatus = request.acceptsAnyStatus
        resumesUnproven = request.resumesUnproven
        asksChallenges = request.asksChallenges
        redirects = request.redirects
        hold = request.hold
        startOffset = request.checkpoint?.offset ?? 0
        lastHeaders = request.lastHeaders
        judge = HTTPJudge(held: nil, mayTryBareRange: false, now: request.now)
        upload = request.upload
        if let checkpoint = request.checkpoint, checkpoint.offset > 0 { held = held(checkpoint) }
        guard !RepeatRules.isIdempotent(method) else { return }
        var begun = UploadProgress(
            uploadProtocol: .post, source: request.source, createdAt: request.now
        ).begun(at: url)
        begun.awaitsAnswer = true
        self.begun = begun
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<Arrival> {
        guard let outcome else { return first() }
        switch outcome.end {
        case .finished: return finished(outcome)
        case .stopped(.restart(let error)): return lookBack(outcome) ?? restart(error, outcome)
        case .stopped(.bareRange): return .run(exchange(conditional: false))
        case .stopped(.complete): return arrived(outcome, total: held?.offset ?? outcome.offset)
        case .stopped(.failure(let error, _)) where mayResolveAgain(error, outcome): return resolveAgain()
        // Some servers refuse a request only because of its Range. The bytes stay until the whole comes.
        case .stopped(.failure(let error, _)) where judge.held != nil && error.isRefusal:
            return .run(exchange(conditional: true, whole: true))
        case .overrun: return restart(.overrun, outcome)
        case .stopped(.failure), .stopped(.redirect), .transport, .local, .aborted, .stalled, .refusedRedirect:
            return failed(outcome)
        }
    }

    // MARK: Beginning

    private mutating func first() -> Step<Arrival> {
        if let held, held.isComplete {
            return .finished(arrival(head: nil, trailers: [], total: held.offset, proven: true))
        }
        if upload?.awaitsAnswer == true {
            upload = nil
            return .failed(PlainUpload.unknownAnswer)
        }
        upload = begun
        guard let held else {
            return .stored(upload, then: exchange(conditional: true))
        }
        guard isSafe, held.rangeRequest != nil else {
            self.held = nil
            return .restart(
                TransferError(
                    .validatorChanged, "Nothing proves that the server still has the same version; it restarts from 0."),
                then: exchange(conditional: true))
        }
        return .run(exchange(conditional: true))
    }

    /// Ranges are defined for GET only (RFC 9110 section 14.2).
    var isSafe: Bool { method == "GET" }

    /// A task that accepts any answer takes the first: the answers for segments would count, and clients would be asked
    /// about them.
    package var parting: HTTPDownload? {
        isSafe && payload == .none && !acceptsAnyStatus && redirects == .follow && hold == nil && url.scheme != .helper
            ? self : nil
    }

    /// - Parameters:
    ///   - conditional: use If-Range if a validator allows it.
    ///   - whole: ask for everything, although bytes are held.
    private mutating func exchange(conditional: Bool, whole: Bool = false) -> Exchange {
        var range = isSafe && !whole ? held?.rangeRequest : nil
        if !conditional { range?.ifRange = nil }
        judge = HTTPJudge(
            held: range == nil ? nil : held, mayTryBareRange: range?.ifRange != nil, now: now,
            acceptsAnyStatus: acceptsAnyStatus, asksChallenges: asksChallenges, resumesUnproven: resumesUnproven)
        var exchange = Exchange(url: url.requestURL, judge: judge, network: $network)
        exchange.method = method
        exchange.payload = payload
        exchange.expectsContinue = wantsContinue
        exchange.headers = baseHeaders
        exchange.ownHeaders = RequestHeaders.own(beside: baseHeaders, range: range)
        exchange.startOffset = range?.offset ?? 0
        exchange.redirects = redirects
        exchange.hold = hold
        return exchange.answered(by: mirror, size: size)
    }

    // MARK: Going on

    private mutating func finished(_ outcome: ExchangeOutcome) -> Step<Arrival> {
        guard let accepted = accepted(outcome) else { return failed(outcome) }
        progress = accepted
        if let expected = accepted.expected, outcome.offset < accepted.offset + expected { return failed(outcome) }
        // If a part does not tell the length of the whole, only a 416 tells that there is no more.
        if accepted.total.map({ outcome.offset < $0 }) ?? !accepted.truncate {
            held = HeldBytes(accepted, offset: outcome.offset, trustedDigest: trustedDigest)
            // After a server sent one part, the next is requested like the first: only with proof of the version.
            guard held?.rangeRequest != nil else { return restart(noProof, outcome) }
            guard !crumbs.isTooMany(after: outcome.received) else { return failed(outcome, with: Crumbs.failure) }
            return .run(exchange(conditional: true))
        }
        return arrived(outcome, total: outcome.offset)
    }

    /// The server says that the file ends at our offset, although it announced more, and does not say for which version
    /// (like most servers with a 416). The answer to a request for the last byte tells the version.
    private mutating func lookBack(_ outcome: ExchangeOutcome) -> Step<Arrival>? {
        guard !hasLookedBack, let head = outcome.head, let held, held.strongValidator != nil, held.offset > 1,
            HTTPJudge.unsatisfiedTotal(head) == held.offset
        else { return nil }
        hasLookedBack = true
        var shorter = held
        shorter.total = held.offset
        shorter.offset -= 1
        self.held = shorter
        return .run(exchange(conditional: true))
    }

    /// What the engine's judge accepted; the judge is asked again if the engine does not say.
    private func accepted(_ outcome: ExchangeOutcome) -> Acceptance? {
        guard let head = outcome.head, case .accept(let accepted) = outcome.verdict ?? judge.judge(head)
        else { return nil }
        return accepted
    }

    private var noProof: TransferError {
        TransferError(.validatorChanged, "The rest cannot be asked for without a validator; it restarts from 0.")
    }

    private mutating func arrived(_ outcome: ExchangeOutcome, total: ByteCount) -> Step<Arrival> {
        let proven = outcome.delimited || progress?.total != nil || outcome.end == .stopped(.complete)
        return .finished(arrival(head: outcome.head, trailers: outcome.trailers, total: total, proven: proven))
    }

    mutating func restart(_ error: TransferError, _ outcome: ExchangeOutcome) -> Step<Arrival> {
        restarts += 1
        held = nil
        progress = nil
        guard restarts <= Self.restartLimit, mayRepeat(after: outcome) else {
            return .failed(concluded(.transient(error), outcome))
        }
        return .restart(error, then: exchange(conditional: true))
    }

    /// A redirect to a signed URL that has expired shows as one of these statuses; the original URL leads to a new one.
    func mayResolveAgain(_ error: TransferError, _ outcome: ExchangeOutcome) -> Bool {
        let status = Int(error.details["status"]?.integerValue ?? 0)
        return !resolvedAgain && (outcome.head?.redirects ?? 0) > 0 && [400, 401, 403, 410].contains(status) && isSafe
    }

    private mutating func resolveAgain() -> Step<Arrival> {
        resolvedAgain = true
        return .run(exchange(conditional: judge.mayTryBareRange || judge.held == nil))
    }

    // MARK: Ending

    private mutating func failed(_ outcome: ExchangeOutcome) -> Step<Arrival> {
        failed(outcome, with: failure(outcome))
    }

    private mutating func failed(_ outcome: ExchangeOutcome, with cause: AttemptFailure) -> Step<Arrival> {
        var failure = concluded(cause, outcome)
        failure.shortEnd = shortEnd(outcome)
        return .failed(failure.after(outcome, from: startOffset))
    }

    private func shortEnd(_ outcome: ExchangeOutcome) -> ShortEnd? {
        guard let accepted = accepted(outcome), let expected = accepted.expected else { return nil }
        let end = accepted.offset + expected
        return ShortEnd(
            outcome, from: accepted.offset, to: end, of: accepted.total ?? end, host: serverName,
            saysEnd: url.scheme == .helper)
    }

    /// Name for sentences.
    private var serverName: String { url.host.isEmpty ? "The helper for \(url.schemeName)" : url.host }

    /// For a segment: `held` bytes from the beginning are all that there are.
    func shortEnd(_ outcome: ExchangeOutcome, asked range: ByteRange, held: ByteRangeSet, of total: ByteCount)
        -> ShortEnd?
    {
        guard held.ranges == [ByteRange(.zero, outcome.offset)] else { return nil }
        return ShortEnd(outcome, from: range.start, to: min(range.end, total), of: total, host: serverName)
    }

    func failure(_ outcome: ExchangeOutcome) -> AttemptFailure {
        FailureClassifier.classify(outcome, url: url.requestURL)
    }

    private mutating func concluded(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        upload.conclude(failure, method: method, payload: payload.length, outcome: outcome)
    }

    /// A request that is not idempotent is not sent twice once the server may have acted on it (RFC 9110 section
    /// 9.2.2).
    private func mayRepeat(after outcome: ExchangeOutcome) -> Bool {
        RepeatRules.mayRepeat(method, payload: payload.length, after: outcome)
    }

    func arrival(head: ResponseHead?, trailers: [HeaderField], total: ByteCount, proven: Bool) -> Arrival {
        let digests = DigestFields.named(progress?.serverDigests ?? held?.digests ?? [:])
            .merging(DigestFields.parse(trailers)) { known, _ in known }
        let coding = progress.map(\.contentCoding) ?? held?.contentCoding
        let modified = (progress?.validators ?? held?.validators)?.lastModified
        var arrival = Arrival(
            total: total, lengthProven: proven, head: head,
            contentCoding: ContentCodingRules.unstated(coding, names: names + suggestedNames(head)),
            serverDigests: digests, lastModified: modified)
        arrival.mayBeFetchedAgain = RepeatRules.isIdempotent(method)
        return arrival
    }

    private func suggestedNames(_ head: ResponseHead?) -> [String] {
        let offered = head?.values("content-disposition").first.flatMap(ContentDisposition.filename)
        let final = head.flatMap { URLRules.lastPathComponent($0.url) }
        return [offered, final, url.lastPathComponent].compactMap { $0 }
    }
}

// MARK: - Parts

extension HTTPDownload {
    /// Scheme, name and port of the server.
    var host: String { url.hostKey }
    var requestURL: String { url.requestURL }

    /// The version that segments must have, from an accepted answer; nil if segments cannot be requested safely.
    func version(of head: ResponseHead, _ acceptance: Acceptance) -> HeldBytes? {
        guard head.values("accept-ranges").first?.trimmed.lowercased() != "none" else { return nil }
        return segmentable(HeldBytes(acceptance, offset: acceptance.offset, trustedDigest: trustedDigest))
    }

    /// The version of a checkpoint with gaps.
    func version(of checkpoint: Checkpoint) -> HeldBytes? {
        segmentable(held(checkpoint))
    }

    private func held(_ checkpoint: Checkpoint) -> HeldBytes {
        HeldBytes(checkpoint, trustedDigest: trustedDigest, lastHeaders: lastHeaders)
    }

    /// Requires a strong validator: without one, nothing would tell this version's segments from another's.
    private func segmentable(_ version: HeldBytes) -> HeldBytes? {
        guard isSafe, payload == .none, version.total != nil, version.contentCoding == nil,
            version.strongValidator != nil
        else { return nil }
        return version
    }

    /// The request for one segment, on a connection of its own.
    func exchange(for range: ByteRange, of version: HeldBytes, conditional: Bool) -> Exchange {
        var held = version
        held.offset = range.start
        return exchange(
            for: range, ifRange: conditional ? version.strongValidator : nil,
            SegmentJudge(held: held, isConditional: conditional, resumesUnproven: resumesUnproven, now: now))
    }

    /// The request for one segment from a mirror whose version is not known yet.
    /// - Parameter digests: the digests that the whole file must have, as far as they are known.
    func exchange(for range: ByteRange, total: ByteCount, digests: [String: String]) -> Exchange {
        exchange(
            for: range, ifRange: nil, MirrorJudge(offset: range.start, total: total, digests: digests, now: now))
    }

    private func exchange(for range: ByteRange, ifRange: String?, _ judge: some ResponseJudge) -> Exchange {
        var exchange = Exchange(url: url.requestURL, judge: judge, network: $network)
        exchange.method = method
        exchange.headers = baseHeaders
        exchange.ownHeaders = RequestHeaders.own(
            beside: baseHeaders, range: RangeRequest(offset: range.start, last: range.end - 1, ifRange: ifRange))
        exchange.startOffset = range.start
        // Streams on one connection would share the bandwidth that the server gives to it.
        exchange.network.httpVersion = .v11
        return exchange
    }
}
