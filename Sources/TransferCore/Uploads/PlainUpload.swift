import TransferModel

/// One request that carries the whole file (put, post, multipart). No standard allows it to be resumed, so it starts
/// over from 0, and only if that cannot make the server act twice.
package struct PlainUpload: TransferStrategy {
    private let request: UploadRequest
    private let kind: UploadProtocol
    private let method: String
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    /// - Parameter kind: put, post or multipart.
    init(_ request: UploadRequest, _ kind: UploadProtocol) {
        self.request = request
        self.kind = kind
        method = request.spec.method ?? (kind == .put ? "PUT" : "POST")
        upload = request.stored
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return first() }
        if case .stopped(.redirect) = outcome.end {
            return .failed(concluded(outcome.failure(request.url.requestURL), outcome))
        }
        guard case .head(let head, let status) = UploadAnswer(outcome) else {
            return .failed(concluded(outcome.failure(request.url.requestURL), outcome))
        }
        switch status {
        case 200..<300: return .finished(outcome.uploadResult(total: request.size))
        default: return .failed(concluded(FailureClassifier.answered(head, now: request.now), outcome))
        }
    }

    private mutating func first() -> Step<UploadResult> {
        if upload?.awaitsAnswer == true {
            upload = nil
            return .failed(Self.unknownAnswer)
        }
        guard !RepeatRules.isIdempotent(method) else { return .run(exchange()) }
        var begun = request.progress(kind)
        begun.awaitsAnswer = true
        upload = begun
        return .store(begun, then: exchange())
    }

    private func exchange() -> Exchange {
        let whole = Payload.source(offset: 0, length: request.size)
        var exchange: Exchange
        switch kind {
        case .multipart:
            let form = MultipartForm(request)
            exchange = request.exchange(
                method, request.url.requestURL, contentType: form.contentType, payload: form.payload)
        case .post:
            exchange = request.exchange(
                method, request.url.requestURL, contentType: request.contentType ?? "application/octet-stream",
                payload: whole)
        case .put, .contentRange, .tus, .resumable, .s3Multipart, .file:
            exchange = request.exchange(
                method, request.url.requestURL, contentType: request.contentType, payload: whole)
        }
        exchange.digests = digests
        exchange.redirects = request.redirects
        return exchange
    }

    private var digests: [PayloadDigest] {
        guard let algorithm = request.spec.uploadChecksum else { return [] }
        // A form is not a representation of the target; its digest is that of the message.
        return kind == .multipart
            ? [PayloadDigest(name: "Content-Digest", algorithm: algorithm, scope: .payload, form: .structured)]
            : [PayloadDigest(name: "Repr-Digest", algorithm: algorithm, scope: .source, form: .structured)]
    }

    private mutating func concluded(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        let length = exchange().payload.length
        let mayRepeat = RepeatRules.mayRepeat(method, payload: length, after: outcome)
        // An abort after everything was sent leaves open whether the server acted.
        if case .aborted = outcome.end, !mayRepeat { return failure }
        upload = nil
        return Self.finalIfUnrepeatable(failure, method: method, payload: length, outcome: outcome)
    }

    /// The failure, made permanent if another try could make the server act twice.
    static func finalIfUnrepeatable(
        _ failure: AttemptFailure, method: String, payload: ByteCount?, outcome: ExchangeOutcome
    ) -> AttemptFailure {
        guard case .transient = failure.disposition,
            !RepeatRules.mayRepeat(method, payload: payload, after: outcome)
        else { return failure }
        var failure = failure
        failure.disposition = .permanent
        failure.error.retryable = false
        failure.error.message += " A \(method) request is not repeated by itself."
        return failure
    }

    /// The request was interrupted while it was under way, for example by the end of the daemon.
    static var unknownAnswer: AttemptFailure {
        FailureClassifier.permanent(
            .networkLost,
            "The request was interrupted before its answer arrived; whether the server acted on it is not known. "
                + "Look there, then task.retry.")
    }
}
