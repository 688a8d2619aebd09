import TransferModel

/// Uploads by draft-ietf-httpbis-resumable-upload: never a HEAD beside an append, never two appends at once.
package struct ResumableUpload: TransferStrategy {
    private enum Stage {
        case creating, locating
        case optimistic
        case appending(PayloadRange)
    }

    private let request: UploadRequest
    private let fields: ResumableFields
    private var stage = Stage.creating
    private var ledger: OffsetLedger
    private var restarts = 0
    private var limit: UploadLimit?
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    /// - Parameter limit: what OPTIONS said.
    init(_ request: UploadRequest, limit: UploadLimit? = nil) {
        self.request = request
        let stored = request.stored?.uploadProtocol == .resumable ? request.stored : nil
        upload = stored
        fields = ResumableFields(version: stored?.interopVersion ?? request.spec.interopVersion ?? 8)
        self.limit = limit
        ledger = OffsetLedger(size: request.size, start: stored?.offset ?? 0)
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step {
        guard let outcome else { return first() }
        if case .optimistic = stage { hear(outcome.interim) }
        do throws(AttemptFailure) {
            guard case .head(let head, let status) = UploadAnswer(outcome) else { return lost(outcome) }
            switch stage {
            case .creating: return try created(head, status, outcome)
            case .optimistic: return try createdWithContent(head, status, outcome)
            case .locating: return try located(head, status)
            case .appending(let range): return try appended(range, head, status, outcome)
            }
        } catch {
            return fail(error)
        }
    }

    private mutating func first() -> Step {
        if upload?.resourceURL != nil { return .run(locate()) }
        if upload?.awaitsAnswer == true {
            upload = nil
            return fail(PlainUpload.unknownAnswer)
        }
        do throws(AttemptFailure) {
            try limit?.check(request.size)
        } catch {
            return fail(error)
        }
        return request.spec.uploadCreation == "optimistic" ? createOptimistically() : .run(create())
    }

    // MARK: Requests

    private var method: String { request.spec.method ?? "POST" }

    private func creation(complete: Bool, payload: Payload) -> Exchange {
        var exchange = request.exchange(
            method, request.url.requestURL,
            own: [fields.interop, fields.complete(complete)] + fields.length(request.size),
            contentType: request.contentType, payload: payload)
        if let algorithm = request.spec.uploadChecksum {
            exchange.digests = [
                PayloadDigest(name: "Repr-Digest", algorithm: algorithm, scope: .source, form: .structured)
            ]
        }
        return exchange
    }

    private mutating func create() -> Exchange {
        stage = .creating
        return creation(complete: false, payload: .bytes([]))
    }

    private mutating func createOptimistically() -> Step {
        stage = .optimistic
        var begun = fresh(at: nil)
        begun.awaitsAnswer = true
        upload = begun
        var exchange = creation(complete: true, payload: .source(offset: 0, length: request.size))
        exchange.interimReader = ResumptionReader(request: request, begun: fresh(at: nil))
        // Where it was begun it is resumed; another place would begin another one.
        exchange.isReplayable = false
        return .store(begun, then: exchange)
    }

    private func fresh(at resource: String?) -> UploadProgress {
        var begun = request.progress(.resumable, at: resource)
        begun.interopVersion = fields.version
        begun.longestAppend = limit?.maximumAppend
        return begun
    }

    private mutating func locate() -> Exchange {
        stage = .locating
        return request.exchange("HEAD", upload?.resourceURL ?? request.url.requestURL, own: [fields.interop])
    }

    private mutating func append() -> Exchange {
        let offset = upload?.offset ?? 0
        let rest = request.size - offset
        let length = min(rest, upload?.longestAppend ?? rest)
        stage = .appending(PayloadRange(offset: offset, length: length))
        var exchange = request.exchange(
            "PATCH", upload?.resourceURL ?? request.url.requestURL,
            own: [fields.interop, HeaderField("Upload-Offset", "\(offset)"), fields.complete(length == rest)],
            contentType: "application/partial-upload",
            payload: length == 0 ? .bytes([]) : .source(offset: offset, length: length))
        if let algorithm = request.spec.uploadChecksum {
            exchange.digests = [
                PayloadDigest(name: "Content-Digest", algorithm: algorithm, scope: .payload, form: .structured)
            ]
        }
        return exchange
    }

    // MARK: Creation

    private mutating func created(
        _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step {
        try notAnswered(head, status)
        guard (200..<300).contains(status) else { throw FailureClassifier.answered(head, now: request.now) }
        guard let resource = try place(head) else {
            throw FailureClassifier.permanent(
                .httpProtocol,
                "The server created no resumable upload: its answer has no Location. Try another interopVersion.")
        }
        upload = fresh(at: resource)
        try learn(head)
        guard let upload else { return .run(append()) }
        return .store(upload, then: append())
    }

    private mutating func createdWithContent(
        _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step {
        upload?.awaitsAnswer = false
        let isComplete = fields.isComplete(head)
        guard (200..<300).contains(status) else {
            if isComplete == true { throw final(head) }
            throw ended(FailureClassifier.answered(head, now: request.now), outcome)
        }
        if isComplete != false { return .uploaded(outcome.uploadResult(total: request.size)) }
        // It took a part: the rest goes where it says.
        if let resource = try place(head) { upload?.resourceURL = resource }
        guard upload?.resourceURL != nil else {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server took only a part and does not say where the rest goes.")
        }
        return .run(locate())
    }

    /// No final answer: what a 104 said is where it goes on.
    private mutating func lost(_ outcome: ExchangeOutcome) -> Step {
        let failure = FailureClassifier.classify(outcome, url: request.url.requestURL)
        guard case .optimistic = stage else { return fail(failure) }
        if upload?.resourceURL != nil {
            upload?.awaitsAnswer = false
            return fail(failure)
        }
        if case .aborted = outcome.end, outcome.sent >= request.size { return fail(failure) }
        upload = nil
        return fail(PlainUpload.settled(failure, method: method, payload: request.size, outcome: outcome))
    }

    /// A refusal of an optimistic creation; one that a 104 gave a place is continued there.
    private mutating func ended(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        if upload?.resourceURL != nil { return failure }
        upload = nil
        return PlainUpload.settled(failure, method: method, payload: request.size, outcome: outcome)
    }

    private mutating func hear(_ interim: [ResponseHead]) {
        for head in interim {
            guard let heard = ResumptionReader(request: request, begun: fresh(at: nil)).progress(after: head) else {
                continue
            }
            upload = heard
        }
    }

    // MARK: Recovery

    private mutating func located(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step {
        let isComplete = fields.isComplete(head)
        if status == 404 || status == 410 { return try restart(status) }
        guard (200..<300).contains(status) else { throw failed(head, isComplete) }
        try learn(head)
        if let length = head.count("upload-length"), length != request.size {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server's upload has \(length) bytes, the file \(request.size); add it anew.")
        }
        let offset = head.count("upload-offset")
        if isComplete == true {
            guard offset.map({ $0 == request.size }) ?? true else {
                throw FailureClassifier.permanent(
                    .httpProtocol, "The server called the upload complete at \(offset ?? 0) of \(request.size) bytes.")
            }
            upload?.offset = request.size
            return .uploaded(UploadResult(head: head, total: request.size))
        }
        guard let offset else {
            throw FailureClassifier.permanent(
                .httpProtocol, "The server does not say how much of the upload it has; check the URL.")
        }
        return try go(on: offset)
    }

    // MARK: Append

    private mutating func appended(
        _ range: PayloadRange, _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step {
        let isComplete = fields.isComplete(head)
        let isLast = range.end == request.size
        try learn(head)
        switch status {
        case 200..<300 where isComplete == true || (isLast && isComplete == nil && !acknowledgesLess(head)):
            guard isLast else {
                throw FailureClassifier.permanent(
                    .httpProtocol, "The server called the upload complete after \(range.end) of \(request.size) bytes.")
            }
            upload?.offset = request.size
            return .uploaded(outcome.uploadResult(total: request.size))
        case _ where isComplete == true: throw final(head)
        case 200..<300:
            guard let offset = head.count("upload-offset") else {
                try ledger.disappoint()
                return .run(locate())
            }
            return try go(on: offset)
        case 409:
            try ledger.disappoint()
            guard let offset = ResumableFields.expectedOffset(outcome) else { return .run(locate()) }
            return try go(on: offset)
        case 404, 410: return try restart(status)
        case 413 where (upload?.longestAppend ?? range.length) < range.length:
            try ledger.disappoint()
            return .run(locate())
        case 417 where request.wantsContinue:
            var exchange = append()
            exchange.expectsContinue = false
            return .run(exchange)
        default: throw failed(head, isComplete)
        }
    }

    private func acknowledgesLess(_ head: ResponseHead) -> Bool {
        head.count("upload-offset").map { $0 < request.size } ?? false
    }

    private mutating func go(on offset: ByteCount) throws(AttemptFailure) -> Step {
        try ledger.confirm(offset)
        upload?.offset = offset
        guard let upload else { return .run(append()) }
        return .store(upload, then: append())
    }

    // MARK: Ending

    /// An answer of the target itself, given before it had the content.
    private func notAnswered(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) {
        guard fields.isComplete(head) == true else { return }
        guard (200..<300).contains(status) else { throw final(head) }
        guard request.size > 0 else { return }
        throw FailureClassifier.permanent(
            .httpProtocol, "The server called the upload complete before it had a byte. Try another interopVersion.")
    }

    /// `Upload-Complete: ?1`: the target has answered, whatever the status; nothing is sent again.
    private func final(_ head: ResponseHead) -> AttemptFailure {
        var failure = FailureClassifier.answered(head, now: request.now)
        failure.disposition = .permanent
        failure.error.retryable = false
        return failure
    }

    private func failed(_ head: ResponseHead, _ isComplete: Bool?) -> AttemptFailure {
        isComplete == true ? final(head) : FailureClassifier.answered(head, now: request.now)
    }

    private mutating func restart(_ status: Int) throws(AttemptFailure) -> Step {
        restarts += 1
        let error = TransferError(
            .httpStatus, "The server no longer has the upload (\(status)); it begins anew.", retryable: true,
            details: ["status": .integer(Int64(status))])
        upload = nil
        ledger = OffsetLedger(size: request.size, start: 0)
        guard restarts <= TusUpload.restartLimit else {
            throw AttemptFailure(error: error, disposition: .transient(after: nil))
        }
        return .restart(error, then: create())
    }

    private func place(_ head: ResponseHead) throws(AttemptFailure) -> String? {
        do throws(TransferError) {
            return try request.location(head)
        } catch {
            throw AttemptFailure(error: error, disposition: .permanent)
        }
    }

    private mutating func learn(_ head: ResponseHead) throws(AttemptFailure) {
        guard let limit = UploadLimit(head) else { return }
        if let longest = limit.maximumAppend, longest > 0 { upload?.longestAppend = longest }
        if let age = limit.maximumAge { upload?.expiresAt = request.now.advanced(by: age) }
        try limit.check(request.size)
    }

    private func fail(_ failure: AttemptFailure) -> Step {
        .failed(failure.with(progressed: ledger.progressed, held: upload?.offset ?? 0))
    }

    static func cancellation(_ request: UploadRequest, _ resource: String, version: Int) -> Exchange {
        request.exchange("DELETE", resource, own: [ResumableFields(version: version).interop])
    }
}

/// Reads where the upload is from a 104 (Upload Resumption Supported), while its content is on the way.
struct ResumptionReader: InterimReader {
    let request: UploadRequest
    let begun: UploadProgress

    func progress(after head: ResponseHead) -> UploadProgress? {
        guard head.status == 104, let resource = try? request.location(head) else { return nil }
        var heard = begun
        heard.resourceURL = resource
        return heard
    }
}
