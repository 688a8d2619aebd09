import TransferModel

/// Uploads in chunks with Content-Range and 308 answers, as Google Cloud Storage defines them. A POST opens a session,
/// unless the URL already is that of a session. An empty PUT asks how much the server has.
package struct ContentRangeUpload: TransferStrategy {
    /// Every chunk but the last is a multiple of this.
    static let unit = ByteCount.kibibytes(256)
    static let chunk = ByteCount.mebibytes(8)

    private enum Stage {
        case creating, asking
        case sending(ByteRange)
    }

    private let request: UploadRequest
    private var stage = Stage.creating
    private var track: UploadTrack
    /// This attempt opened the session, and nothing was sent to it yet.
    private var isNew = false
    package var upload: UploadProgress? { track.upload }
    package var progress: Acceptance? { nil }

    init(_ request: UploadRequest) {
        self.request = request
        track = UploadTrack(request, .contentRange)
    }

    /// The caller opened the session: its URL or the method says so.
    private var urlIsSession: Bool {
        if request.spec.method?.uppercased() == "PUT" { return true }
        return request.url.query?.split(separator: "&").contains { $0.hasPrefix("upload_id=") } ?? false
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return first() }
        guard let (head, status) = outcome.answer(ofWhole: false) else {
            return track.fail(FailureClassifier.classify(outcome, url: request.url.requestURL))
        }
        do throws(AttemptFailure) {
            switch stage {
            case .creating: return try created(head, status)
            case .asking: return try answered(head, status, outcome, sent: nil)
            case .sending(let range): return try answered(head, status, outcome, sent: SentPiece(range, outcome))
            }
        } catch {
            return track.fail(error)
        }
    }

    private mutating func first() -> Step<UploadResult> {
        if track.resource != nil { return .run(ask()) }
        guard urlIsSession else { return .run(create()) }
        return begin(at: request.url.requestURL)
    }

    /// The server is asked what it has before the first byte is sent. A server that does not know ranges takes that
    /// question for an empty file and answers with success. If it were asked only after a lost answer, its success
    /// would pass for ours.
    private mutating func begin(at session: String, isNew: Bool = false) -> Step<UploadResult> {
        self.isNew = isNew
        let begun = track.fresh(at: session)
        track.upload = begun
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
            "PUT", track.resource ?? request.url.requestURL, own: [HeaderField("Content-Range", range)],
            contentType: type, payload: payload)
        // 308 means "continue" here, and has no Location.
        exchange.finalStatuses = [308]
        return exchange
    }

    private mutating func ask() -> Exchange {
        stage = .asking
        return put("bytes */\(request.size)", .bytes([]), type: nil)
    }

    private mutating func send() -> Exchange {
        let range = track.next(atMost: Self.chunk)
        stage = .sending(range)
        guard !range.isEmpty else { return put("bytes */\(request.size)", .bytes([]), type: nil) }
        var exchange = put(
            "bytes \(range.start)-\(range.end.rawValue - 1)/\(request.size)",
            .part(range), type: request.contentType)
        exchange.digests = request.digests(.content)
        return exchange
    }

    // MARK: Answers

    private mutating func created(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        guard (200..<300).contains(status) else { throw request.refused(head) }
        return begin(
            at: try track.place(
                head, orElse: "The server opened no upload session: its answer has no Location. Check the URL."),
            isNew: true)
    }

    /// - Parameter sent: what the request carried; nil if it only asked.
    private mutating func answered(
        _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome, sent: SentPiece?
    ) throws(AttemptFailure) -> Step<UploadResult> {
        switch status {
        case 308:
            // A new session is empty; some server says "bytes=0-0" for it, as for a session with one byte.
            let held = isNew ? 0 : try held(head)
            isNew = false
            return try confirmed(held, sent)
        case 200..<300: return try finished(outcome, sent)
        case 404, 410:
            guard !urlIsSession else { throw request.refused(head) }
            return .restart(try track.vanish(status), then: create())
        // Not the range that the server expects next.
        case 409, 416:
            guard sent != nil else { throw request.refused(head) }
            try track.disappoint()
            return .run(ask())
        case 413:
            guard let sent else { throw request.refused(head) }
            try track.shrink(sent.range.count, unit: Self.unit, or: request.refused(head))
            return .run(ask())
        default: throw request.refused(head)
        }
    }

    /// Bytes that `Range: bytes=0-N` reports; no Range means none.
    private func held(_ head: ResponseHead) throws(AttemptFailure) -> ByteCount {
        guard let text = head.values("range").first?.trimmed else { return 0 }
        // Some servers write "bytes=0-N", some "0-N".
        let range = text.hasPrefix("bytes=") ? text.dropFirst(6) : text[...]
        guard range.hasPrefix("0-"), let last = ContentRange.number(range.dropFirst(2)),
            last.rawValue < .max
        else {
            throw .permanent(
                .httpProtocol,
                "The server reports \"\(text.prefix(80))\" as what it holds, which is not a range; try another protocol."
            )
        }
        return last + 1
    }

    private mutating func confirmed(
        _ offset: ByteCount, _ sent: SentPiece?
    ) throws(AttemptFailure) -> Step<UploadResult> {
        let isFirst = upload?.knowsRanges != true
        track.upload?.knowsRanges = true
        // The first answer is expected to report that nothing is there yet.
        if !isFirst || offset > 0 { try track.confirm(offset, after: sent) }
        // The server has everything but has not said so: ask it.
        if offset == request.size, request.size > 0 { return .run(ask()) }
        return .stored(upload, then: send())
    }

    private mutating func finished(
        _ outcome: ExchangeOutcome, _ sent: SentPiece?
    ) throws(AttemptFailure) -> Step<UploadResult> {
        if let sent {
            guard sent.reach == request.size else {
                throw .permanent(
                    .httpProtocol, "The server called the upload complete after \(sent.reach) of \(request.size) bytes."
                )
            }
        } else if upload?.knowsRanges != true, request.size > 0 {
            throw .permanent(
                .httpProtocol,
                "The server calls the upload complete before it had a byte: it does not know this protocol. Try put.")
        }
        try track.confirm(request.size)
        return .finished(outcome.uploadResult(total: request.size))
    }

    static func cancellation(_ request: UploadRequest, _ resource: String) -> Exchange {
        var exchange = request.exchange("DELETE", resource)
        exchange.finalStatuses = [308]
        return exchange
    }
}
