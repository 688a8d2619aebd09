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
        guard outcome.end.redirect == nil, let (head, status) = outcome.answer() else {
            return .failed(concluded(outcome.failure(request.url.requestURL), outcome))
        }
        guard (200..<300).contains(status) else {
            return .failed(concluded(FailureClassifier.answered(head, now: request.now), outcome))
        }
        return .finished(outcome.uploadResult(total: request.size))
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
        let form = kind == .multipart ? MultipartForm(request) : nil
        let type = request.contentType ?? (kind == .post ? "application/octet-stream" : nil)
        var exchange = request.exchange(
            method, request.url.requestURL, contentType: form?.contentType ?? type,
            payload: form?.payload ?? .source(offset: 0, length: request.size))
        // A form is not a representation of the target; its digest is that of the message.
        exchange.digests =
            kind == .multipart ? request.digests("Content-Digest") : request.digests("Repr-Digest", of: .source)
        exchange.redirects = request.redirects
        return exchange
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
        .permanent(
            .networkLost,
            "The request was interrupted before its answer arrived; whether the server acted on it is not known. "
                + "Look there, then task.retry.")
    }
}
