import TransferModel

/// A request whose answer is the result of the task. Its body is kept in memory, within a limit, after one exchange. Or
/// it is a stream to the client, which is resumed after a failure if the server proves that it has the same version.
package struct DataRequest: TransferStrategy {
    private let url: ParsedURL
    private let method: String
    private var exchange: Exchange
    private let streamed: StreamedBody?
    private let now: Timestamp
    private let limit: ByteCount
    private let wanted: ResponseHold
    private let progressAtStart: UploadProgress
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    /// - Throws: `request.bad_field` for a request that cannot be sent, `source.changed`.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        let payload = try request.payload()
        self.url = url
        method = RequestHeaders.method(request.spec.method, hasBody: payload != .none)
        guard method != "CONNECT" else {
            throw TransferError.bad("method", "CONNECT asks for no answer.")
        }
        now = request.now
        limit = request.dataLimit
        wanted = ResponseHold(
            acceptsAnyStatus: request.acceptsAnyStatus, asksChallenges: request.asksChallenges)
        let headers = try request.headers(owned: RequestHeaders.framing)
        var exchange = Exchange(url: url.requestURL, judge: CaptureJudge(needsBody: true))
        exchange.kind = .request
        exchange.redirects = request.redirects
        exchange.hold = request.hold
        exchange.method = method
        exchange.headers = headers.filter { $0.name.lowercased() != "expect" }
        // A caller who asks for codings wants the coded body.
        if !headers.contains(where: { $0.isNamed("accept-encoding") }) {
            exchange.decodesBody = true
            exchange.ownHeaders.append(HeaderField("Accept-Encoding", Self.codings(request, headers)))
        }
        if let type = request.spec.contentType {
            exchange.headers.removeAll { $0.name.lowercased() == "content-type" }
            exchange.ownHeaders.append(HeaderField("Content-Type", type))
        }
        exchange.payload = payload
        exchange.expectsContinue = UploadRequest.wantsContinue(headers)
        exchange.responseLimit = limit
        exchange.stopsAtResponseLimit = true
        exchange.network = request.network
        exchange.network.chooseCredentials(for: url, headers)
        streamed = request.streamed
        if streamed != nil {
            exchange.judge = StreamJudge(
                isHead: method == "HEAD", decodes: exchange.decodesBody,
                isContinuable: method == "GET" && payload == .none && !headers.contains { $0.isNamed("range") },
                wanted: wanted, now: now)
        }
        self.exchange = exchange
        upload = request.upload
        progressAtStart = UploadProgress(
            uploadProtocol: .post, source: request.source, createdAt: request.now
        ).begun(at: url)
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return first() }
        if case .stopped(.redirect) = outcome.end {
            return .failed(concluded(FailureClassifier.classify(outcome, url: url.requestURL), outcome))
        }
        if let streamed { return next(after: outcome, of: streamed) }
        guard let (head, _) = outcome.answer(ofWhole: false) else {
            return .failed(concluded(FailureClassifier.classify(outcome, url: url.requestURL), outcome))
        }
        if wanted.applies(to: head) { return answered(outcome) }
        var failure = FailureClassifier.answered(head, now: now)
        failure.heedProxy(of: outcome)
        return .failed(concluded(failure, outcome))
    }

    /// The codings to request. A range counts bytes of the coded body, and part of a coded body cannot be decoded.
    private static func codings(_ request: StrategyRequest, _ headers: [HeaderField]) -> String {
        guard !headers.contains(where: { $0.isNamed("range") }), !request.codings.isEmpty else { return "identity" }
        return request.codings == ContentCodingRules.Undoable.allCases ? allCodings : names(request.codings)
    }

    private static let allCodings = names(ContentCodingRules.Undoable.allCases)

    private static func names(_ codings: [ContentCodingRules.Undoable]) -> String {
        codings.map(\.rawValue).joined(separator: ", ")
    }

    private mutating func first() -> Step<UploadResult> {
        if upload?.awaitsAnswer == true {
            upload = nil
            return .failed(PlainUpload.unknownAnswer)
        }
        if let streamed, streamed.isWhole { return finished() }
        if let streamed, streamed.offset > 0 { return rest(of: streamed) }
        guard !RepeatRules.isIdempotent(method) else { return .run(exchange) }
        var begun = progressAtStart
        begun.awaitsAnswer = true
        upload = begun
        return .store(begun, then: exchange)
    }

    private mutating func answered(_ outcome: ExchangeOutcome) -> Step<UploadResult> {
        let announced = outcome.head.flatMap { try? $0.contentLength() } ?? 0
        let hasBody = method != "HEAD" && outcome.head?.status != 304
        if outcome.isBodyTruncated || (hasBody && announced > limit) {
            upload = nil
            return .failed(
                .permanent(
                    .tooLarge,
                    "The answer is longer than the \(limit) bytes that are kept for a data task; download it instead."))
        }
        guard outcome.end == .finished else {
            return .failed(concluded(FailureClassifier.classify(outcome, url: url.requestURL), outcome))
        }
        return .finished(outcome.uploadResult(total: exchange.payload.sourceLength))
    }

    private mutating func concluded(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        var final = upload.conclude(failure, method: method, payload: exchange.payload.length, outcome: outcome)
        final.isOfBody = failure.error.isOfBody
        return final
    }
}

extension TransferError {
    /// The body is not what its header says.
    fileprivate var isOfBody: Bool { code == .integrityLength || isUndecodable }
}

// MARK: - Streams

extension DataRequest {
    /// Requests the bytes that the client does not have yet.
    private mutating func rest(of body: StreamedBody) -> Step<UploadResult> {
        guard let held = body.held, body.isContinuable else {
            return .failed(
                body.lost(to: .permanent(.validatorChanged, "The transfer was interrupted."), because: whyFinal(body)))
        }
        return held.isComplete ? finished() : .run(exchange(for: held, ifRange: held.strongValidator))
    }

    /// - Parameter ifRange: nil if the server ignores If-Range: then its answer must contain the validator.
    private func exchange(for held: HeldBytes, ifRange: String?) -> Exchange {
        var exchange = exchange
        exchange.ownHeaders.removeAll { $0.isNamed("accept-encoding") }
        // Offsets count bytes without a coding, unless the caller asked for one.
        if exchange.decodesBody { exchange.ownHeaders.append(HeaderField("Accept-Encoding", "identity")) }
        exchange.decodesBody = false
        exchange.ownHeaders.append(HeaderField("Range", "bytes=\(held.offset)-"))
        if let ifRange { exchange.ownHeaders.append(HeaderField("If-Range", ifRange)) }
        exchange.judge = StreamJudge(rest: HTTPJudge(held: held, mayTryBareRange: ifRange != nil, now: now), now: now)
        return exchange
    }

    private mutating func next(after outcome: ExchangeOutcome, of begun: StreamedBody) -> Step<UploadResult> {
        var body = StreamedBody(offset: outcome.offset, acceptance: begun.offset > .zero ? begun.acceptance : nil)
        if body.acceptance == nil, case .accept(let acceptance)? = outcome.verdict { body.acceptance = acceptance }
        switch outcome.end {
        case .finished where outcome.head?.status != nil: return finished()
        case .stopped(.complete): return finished()
        case .stopped(.bareRange):
            return body.held.map { .run(exchange(for: $0, ifRange: nil)) } ?? finished()
        case .stopped(.restart(let error)):
            return .failed(
                body.lost(
                    to: .permanent(error.code, error.message),
                    because: "the bytes sent so far are of another version, or nothing proves that they are of the same"
                ))
        case .finished, .stopped(.failure), .stopped(.redirect), .transport, .local, .aborted, .stalled, .overrun,
            .refusedRedirect:
            let failure = FailureClassifier.classify(outcome, url: url.requestURL)
            guard body.offset > 0, outcome.end != .aborted, failure.disposition != .permanent else {
                return .failed(concluded(failure, outcome))
            }
            guard body.isContinuable else {
                upload = nil
                return .failed(body.lost(to: failure, because: whyFinal(body)))
            }
            var held = failure.with(progressed: body.offset > begun.offset, held: body.offset)
            held.isOfBody = !held.progressed && failure.error.isOfBody
            return .failed(held)
        }
    }

    private mutating func finished() -> Step<UploadResult> {
        .finished(UploadResult(head: nil, total: exchange.payload.sourceLength))
    }

    /// Why the rest of a body cannot be requested.
    private func whyFinal(_ body: StreamedBody) -> String {
        if method != "GET" || exchange.payload != .none {
            return "only the answer to a GET without a body can be continued"
        }
        if exchange.headers.contains(where: { $0.isNamed("range") }) { return "the request has its own Range" }
        if exchange.decodesBody, body.acceptance?.contentCoding != nil {
            return "the body comes coded; with the header Accept-Encoding: identity it can be continued"
        }
        return "the server gives no strong validator (ETag, or Last-Modified of a minute ago)"
    }
}
