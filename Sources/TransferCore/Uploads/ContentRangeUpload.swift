import TransferModel

/// Uploads in chunks with Content-Range and 308 answers, Google Cloud Storage's way: a session is opened with a POST,
/// unless the URL is one already; an empty PUT asks how much is there.
package struct ContentRangeUpload: TransferStrategy {
    /// Every chunk but the last is a multiple of this.
    static let unit = ByteCount.kibibytes(256)
    static let chunk = ByteCount.mebibytes(8)

    private enum Stage {
        case creating, asking
        case sending(PayloadRange)
    }

    private let request: UploadRequest
    private var stage = Stage.creating
    private var ledger: OffsetLedger
    private var restarts = 0
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    init(_ request: UploadRequest) {
        self.request = request
        let stored = request.stored?.uploadProtocol == .contentRange ? request.stored : nil
        upload = stored
        ledger = OffsetLedger(size: request.size, start: stored?.offset ?? 0)
    }

    /// The caller opened the session: its URL names it, or the method says so.
    private var urlIsSession: Bool {
        if request.spec.method?.uppercased() == "PUT" { return true }
        return request.url.query?.split(separator: "&").contains { $0.hasPrefix("upload_id=") } ?? false
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step {
        guard let outcome else { return first() }
        guard case .head(let head, let status) = UploadAnswer(outcome) else {
            return fail(FailureClassifier.classify(outcome, url: request.url.requestURL))
        }
        do throws(AttemptFailure) {
            switch stage {
            case .creating: return try created(head, status)
            case .asking: return try answered(head, status, outcome, sent: nil)
            case .sending(let range): return try answered(head, status, outcome, sent: range)
            }
        } catch {
            return fail(error)
        }
    }

    private mutating func first() -> Step {
        if upload?.resourceURL != nil { return .run(ask()) }
        guard urlIsSession else { return .run(create()) }
        let begun = request.progress(.contentRange, at: request.url.requestURL)
        upload = begun
        return .store(begun, then: ask())
    }

    // MARK: Requests

    private mutating func create() -> Exchange {
        stage = .creating
        let own = [
            HeaderField("X-Upload-Content-Type", request.contentType ?? "application/octet-stream"),
            HeaderField("X-Upload-Content-Length", "\(request.size)"),
        ]
        return request.exchange("POST", request.url.requestURL, own: own, payload: .bytes([]))
    }

    private func put(_ range: String, _ payload: Payload, type: String?) -> Exchange {
        var exchange = request.exchange(
            "PUT", upload?.resourceURL ?? request.url.requestURL, own: [HeaderField("Content-Range", range)],
            contentType: type, payload: payload)
        // 308 means "go on" here, and has no Location.
        exchange.finalStatuses = [308]
        return exchange
    }

    private mutating func ask() -> Exchange {
        stage = .asking
        return put("bytes */\(request.size)", .bytes([]), type: nil)
    }

    private mutating func send() -> Exchange {
        let offset = upload?.offset ?? 0
        let length = min(request.size - offset, Self.chunk)
        stage = .sending(PayloadRange(offset: offset, length: length))
        guard length > 0 else { return put("bytes */\(request.size)", .bytes([]), type: nil) }
        var exchange = put(
            "bytes \(offset)-\(offset.rawValue + length.rawValue - 1)/\(request.size)",
            .source(offset: offset, length: length), type: request.contentType)
        if let algorithm = request.spec.uploadChecksum {
            exchange.digests = [
                PayloadDigest(name: "Content-Digest", algorithm: algorithm, scope: .payload, form: .structured)
            ]
        }
        return exchange
    }

    // MARK: Answers

    private mutating func created(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step {
        guard (200..<300).contains(status) else { throw FailureClassifier.answered(head, now: request.now) }
        let session: String?
        do throws(TransferError) {
            session = try request.location(head)
        } catch {
            throw AttemptFailure(error: error, disposition: .permanent)
        }
        guard let session else {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server opened no upload session: its answer has no Location. Check the URL.")
        }
        let begun = request.progress(.contentRange, at: session)
        upload = begun
        return .store(begun, then: send())
    }

    /// - Parameter sent: what the request carried; nil where it only asked.
    private mutating func answered(
        _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome, sent: PayloadRange?
    ) throws(AttemptFailure) -> Step {
        switch status {
        case 308: return try confirmed(try held(head), sent)
        case 200..<300: return try finished(outcome, sent)
        case 404, 410: return try restart(head, status)
        case 417 where request.wantsContinue && sent != nil:
            var exchange = send()
            exchange.expectsContinue = false
            return .run(exchange)
        default: throw FailureClassifier.answered(head, now: request.now)
        }
    }

    /// Bytes held by `Range: bytes=0-N`; no Range means none.
    private func held(_ head: ResponseHead) throws(AttemptFailure) -> ByteCount {
        guard let text = head.values("range").first?.trimmed else { return 0 }
        // Some write "bytes=0-N", some "0-N".
        let range = text.hasPrefix("bytes=") ? text.dropFirst(6) : text[...]
        guard range.hasPrefix("0-"), let last = ContentRange.number(range.dropFirst(2)),
            last.rawValue < .max
        else {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server says with \"\(text)\" what it holds; no way on.")
        }
        return last + 1
    }

    private mutating func confirmed(_ offset: ByteCount, _ sent: PayloadRange?) throws(AttemptFailure) -> Step {
        try ledger.confirm(offset)
        upload?.offset = offset
        // Everything is there, but the server has not said so: it is asked.
        if offset == request.size, request.size > 0 { return .run(ask()) }
        guard let upload else { return .run(send()) }
        return .store(upload, then: send())
    }

    private mutating func finished(_ outcome: ExchangeOutcome, _ sent: PayloadRange?) throws(AttemptFailure) -> Step {
        if let sent, sent.end < request.size {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server called the upload complete after \(sent.end) of \(request.size) bytes.")
        }
        upload?.offset = request.size
        return .uploaded(outcome.uploadResult(total: request.size))
    }

    private mutating func restart(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step {
        let error = TransferError(
            .httpStatus, "The server no longer has the upload session (\(status)); it begins anew.", retryable: true,
            details: ["status": .integer(Int64(status))])
        upload = nil
        ledger = OffsetLedger(size: request.size, start: 0)
        guard !urlIsSession else { throw FailureClassifier.answered(head, now: request.now) }
        restarts += 1
        guard restarts <= TusUpload.restartLimit else {
            throw AttemptFailure(error: error, disposition: .transient(after: nil))
        }
        return .restart(error, then: create())
    }

    private func fail(_ failure: AttemptFailure) -> Step {
        .failed(failure.with(progressed: ledger.progressed, held: upload?.offset ?? 0))
    }

    static func cancellation(_ request: UploadRequest, _ resource: String) -> Exchange {
        var exchange = request.exchange("DELETE", resource)
        exchange.finalStatuses = [308]
        return exchange
    }
}
