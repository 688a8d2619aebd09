import TransferModel

/// A short request whose answer the daemon keeps: one exchange, its body in memory, bounded.
package struct DataRequest: TransferStrategy {
    private let url: ParsedURL
    private let method: String
    private let exchange: Exchange
    private let now: Timestamp
    private let limit: ByteCount
    private let acceptsAnyStatus: Bool
    private let asksChallenges: Bool
    private let progressAtStart: UploadProgress
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    /// - Throws: `request.bad_field` for what cannot be sent, `source.changed`.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        let payload = try RequestBodies.payload(of: request.spec.body, source: request.source)
        if let source = request.source { try UploadRequest.checkUnchanged(source, request.upload) }
        self.url = url
        method = RequestHeaders.method(request.spec.method, hasBody: payload != .none)
        guard method != "CONNECT" else {
            throw TransferError(.badField, "method: CONNECT asks for no answer.", details: ["field": "method"])
        }
        now = request.now
        limit = request.dataLimit
        acceptsAnyStatus = request.acceptsAnyStatus
        asksChallenges = request.asksChallenges
        let headers = RequestHeaders.merge(
            session: request.sessionHeaders, task: request.spec.headers ?? [], owned: RequestHeaders.framing)
        try RequestHeaders.validate(headers)
        var exchange = Exchange(url: url.requestURL, judge: CaptureJudge())
        exchange.kind = .request
        exchange.method = method
        exchange.headers = headers.filter { $0.name.lowercased() != "expect" }
        // Who asks for codings wants the body in them.
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
        Credentials.resolve(&exchange.network, url: url, headers: headers)
        self.exchange = exchange
        upload = request.upload
        progressAtStart = UploadProgress(
            uploadProtocol: .post, source: request.source, createdAt: request.now
        ).begun(at: url)
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return first() }
        guard let head = outcome.head, let status = head.status, case .head = UploadAnswer(outcome, ofWhole: false)
        else {
            return .failed(concluded(FailureClassifier.classify(outcome, url: url.requestURL), outcome))
        }
        switch status {
        case 200..<300, 304: return answered(outcome)
        case _ where acceptsAnyStatus && !(asksChallenges && ProtectionSpace.isAskedFor(head)): return answered(outcome)
        default: return .failed(concluded(FailureClassifier.answered(head, now: now), outcome))
        }
    }

    /// The codings to ask for. A range counts bytes of the coded body, and part of that cannot be decoded.
    private static func codings(_ request: StrategyRequest, _ headers: [HeaderField]) -> String {
        guard !headers.contains(where: { $0.isNamed("range") }), !request.codings.isEmpty else { return "identity" }
        return request.codings.map(\.rawValue).joined(separator: ", ")
    }

    private mutating func first() -> Step<UploadResult> {
        if upload?.awaitsAnswer == true {
            upload = nil
            return .failed(PlainUpload.unknownAnswer)
        }
        guard !RepeatRules.isIdempotent(method) else { return .run(exchange) }
        var begun = progressAtStart
        begun.awaitsAnswer = true
        upload = begun
        return .store(begun, then: exchange)
    }

    private mutating func answered(_ outcome: ExchangeOutcome) -> Step<UploadResult> {
        let announced = outcome.head.flatMap { try? MessageFraming.contentLength($0) } ?? 0
        let hasBody = method != "HEAD" && outcome.head?.status != 304
        if outcome.isBodyTruncated || (hasBody && announced > limit) {
            upload = nil
            return .failed(
                FailureClassifier.permanent(
                    .tooLarge,
                    "The answer is longer than the \(limit) bytes that are kept of data tasks; download it instead."))
        }
        guard outcome.end == .finished else {
            return .failed(concluded(FailureClassifier.classify(outcome, url: url.requestURL), outcome))
        }
        return .finished(outcome.uploadResult(total: exchange.payload.sourceLength))
    }

    private mutating func concluded(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        let length = exchange.payload.length
        if case .aborted = outcome.end, !RepeatRules.mayRepeat(method, payload: length, after: outcome) {
            return failure
        }
        upload = nil
        return PlainUpload.finalIfUnrepeatable(failure, method: method, payload: length, outcome: outcome)
    }
}
