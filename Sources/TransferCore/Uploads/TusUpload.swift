import TransferModel

/// Uploads by tus 1.0.0: an upload resource is created and stored, then bytes are appended where its HEAD says.
package struct TusUpload: TransferStrategy {
    /// With a checksum each chunk is verified and sent again by itself.
    static let checksumChunk = ByteCount.mebibytes(16)
    /// Uploads that vanish, in one attempt, before the server is given a rest.
    static let restartLimit = 3

    private enum Stage {
        case asking, creating, locating
        case sending(PayloadRange)
    }

    private let request: UploadRequest
    private let isChecked: Bool
    private var stage = Stage.creating
    private var ledger: OffsetLedger
    private var restarts = 0
    private var mismatches = 0
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    /// - Parameter isChecked: OPTIONS was asked already and the server can take this upload.
    init(_ request: UploadRequest, isChecked: Bool = false) {
        self.request = request
        self.isChecked = isChecked
        let stored = request.stored?.uploadProtocol == .tus ? request.stored : nil
        upload = stored
        ledger = OffsetLedger(size: request.size, start: stored?.offset ?? 0)
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step {
        guard let outcome else {
            if upload?.resourceURL != nil { return .run(locate()) }
            return .run(request.spec.uploadChecksum == nil || isChecked ? create() : ask())
        }
        guard case .head(let head, let status) = UploadAnswer(outcome) else {
            return fail(FailureClassifier.classify(outcome, url: request.url.requestURL))
        }
        do throws(AttemptFailure) {
            switch stage {
            case .asking: return try asked(head, status)
            case .creating: return try created(head, status)
            case .locating: return try located(head, status)
            case .sending(let range): return try sent(range, head, status, outcome)
            }
        } catch {
            return fail(error)
        }
    }

    // MARK: Requests

    private static let version = HeaderField("Tus-Resumable", "1.0.0")

    private mutating func ask() -> Exchange {
        stage = .asking
        return request.exchange("OPTIONS", request.url.requestURL)
    }

    private mutating func create() -> Exchange {
        stage = .creating
        var own = [Self.version, HeaderField("Upload-Length", "\(request.size)")]
        if let metadata = TusMetadata.field(request) { own.append(HeaderField("Upload-Metadata", metadata)) }
        return request.exchange("POST", request.url.requestURL, own: own, payload: .bytes([]))
    }

    private mutating func locate() -> Exchange {
        stage = .locating
        return request.exchange("HEAD", upload?.resourceURL ?? request.url.requestURL, own: [Self.version])
    }

    private mutating func send() -> Exchange {
        let offset = upload?.offset ?? 0
        let rest = request.size - offset
        let length = request.spec.uploadChecksum == nil ? rest : min(rest, Self.checksumChunk)
        stage = .sending(PayloadRange(offset: offset, length: length))
        var exchange = request.exchange(
            "PATCH", upload?.resourceURL ?? request.url.requestURL,
            own: [Self.version, HeaderField("Upload-Offset", "\(offset)")],
            contentType: "application/offset+octet-stream", payload: .source(offset: offset, length: length))
        if let algorithm = request.spec.uploadChecksum {
            exchange.digests = [
                PayloadDigest(name: "Upload-Checksum", algorithm: algorithm, scope: .payload, form: .tus)
            ]
        }
        return exchange
    }

    // MARK: Answers

    private mutating func asked(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step {
        guard (200..<300).contains(status) else { throw FailureClassifier.answered(head, now: request.now) }
        try TusCapabilities(head).check(request)
        return .run(create())
    }

    private mutating func created(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step {
        guard (200..<300).contains(status) else { throw refused(head, status) }
        var begun = request.progress(.tus)
        do throws(TransferError) {
            begun.resourceURL = try request.location(head)
        } catch {
            throw AttemptFailure(error: error, disposition: .permanent)
        }
        guard begun.resourceURL != nil else {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server created no tus upload: its answer has no Location. Check the URL.")
        }
        begun.expiresAt = Self.expiry(head)
        upload = begun
        // An empty file is complete with its creation.
        if request.size == 0 { return .uploaded(UploadResult(head: head, total: 0)) }
        return .store(begun, then: send())
    }

    private mutating func located(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step {
        let expired = upload?.expiresAt.map { $0 < request.now } ?? false
        if status == 404 || status == 410 || (status == 403 && expired) { return try restart(status) }
        guard (200..<300).contains(status) else { throw refused(head, status) }
        guard let offset = head.count("upload-offset") else {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server does not say how much of the upload it has; it may not speak tus there.")
        }
        if let length = head.count("upload-length"), length != request.size {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server's upload has \(length) bytes, the file \(request.size); add it anew.")
        }
        return try confirmed(offset, head)
    }

    private mutating func sent(
        _ range: PayloadRange, _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step {
        switch status {
        case 200..<300:
            mismatches = 0
            guard let offset = head.count("upload-offset") else {
                try ledger.disappoint()
                return .run(locate())
            }
            return try confirmed(offset, head, body: outcome)
        case 409:
            try ledger.disappoint()
            return .run(locate())
        case 404, 410: return try restart(status)
        case 460: return try mismatched()
        case 417 where request.wantsContinue:
            var exchange = send()
            exchange.expectsContinue = false
            return .run(exchange)
        default: throw refused(head, status)
        }
    }

    private mutating func confirmed(
        _ offset: ByteCount, _ head: ResponseHead, body: ExchangeOutcome? = nil
    ) throws(AttemptFailure) -> Step {
        try ledger.confirm(offset)
        upload?.offset = offset
        if let expiry = Self.expiry(head) { upload?.expiresAt = expiry }
        if offset == request.size {
            return .uploaded(body?.uploadResult(total: offset) ?? UploadResult(head: head, total: offset))
        }
        guard let upload else { return .run(send()) }
        return .store(upload, then: send())
    }

    private mutating func mismatched() throws(AttemptFailure) -> Step {
        mismatches += 1
        guard mismatches <= OffsetLedger.patience else {
            throw FailureClassifier.permanent(
                .integrityChecksum, "The server finds the checksum of every chunk wrong (460); it was not taken.")
        }
        return .run(send())
    }

    private mutating func restart(_ status: Int) throws(AttemptFailure) -> Step {
        restarts += 1
        let error = TransferError(
            .httpStatus, "The server no longer has the upload (\(status)); it begins anew.", retryable: true,
            details: ["status": .integer(Int64(status))])
        upload = nil
        ledger = OffsetLedger(size: request.size, start: 0)
        guard restarts <= Self.restartLimit else {
            throw AttemptFailure(error: error, disposition: .transient(after: nil))
        }
        return .restart(error, then: create())
    }

    private func refused(_ head: ResponseHead, _ status: Int) -> AttemptFailure {
        switch status {
        case 423:
            AttemptFailure(
                error: TransferError(
                    .httpStatus, "The upload is locked at the server (423); it is tried again.", retryable: true,
                    details: ["status": 423]),
                disposition: .transient(after: FailureClassifier.retryAfter(head, now: request.now)))
        case 412:
            FailureClassifier.permanent(
                .httpProtocol,
                "The server does not speak tus 1.0.0 but \(head.values("tus-version").first ?? "another version").")
        default: FailureClassifier.answered(head, now: request.now)
        }
    }

    private func fail(_ failure: AttemptFailure) -> Step {
        .failed(failure.with(progressed: ledger.progressed, held: upload?.offset ?? 0))
    }

    private static func expiry(_ head: ResponseHead) -> Timestamp? {
        head.values("upload-expires").first.flatMap(HTTPDate.parse).map { Timestamp(milliseconds: $0 * 1000) }
    }

    /// Ends the upload resource (termination extension).
    static func cancellation(_ request: UploadRequest, _ resource: String) -> Exchange {
        request.exchange("DELETE", resource, own: [version])
    }
}

/// The part of the source that one exchange carries.
struct PayloadRange: Sendable, Hashable {
    var offset: ByteCount
    var length: ByteCount
    var end: ByteCount { offset + length }
}
