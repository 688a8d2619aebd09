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
    private var track: UploadTrack
    private var limit: UploadLimit?
    package var upload: UploadProgress? { track.upload }
    package var progress: Acceptance? { nil }

    /// - Parameter limit: from the answer to OPTIONS.
    init(_ request: UploadRequest, limit: UploadLimit? = nil) {
        self.request = request
        track = UploadTrack(request, .resumable)
        fields = ResumableFields(version: track.upload?.interopVersion ?? request.spec.interopVersion ?? 8)
        self.limit = limit
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return first() }
        if case .optimistic = stage { hear(outcome.interim) }
        do throws(AttemptFailure) {
            guard let (head, status) = outcome.answer(ofWhole: false) else { return lost(outcome) }
            switch stage {
            case .creating: return try created(head, status)
            case .optimistic: return try createdWithContent(head, status, outcome)
            case .locating: return try located(head, status)
            case .appending(let range): return try appended(range, head, status, outcome)
            }
        } catch {
            return track.fail(error)
        }
    }

    private mutating func first() -> Step<UploadResult> {
        if track.resource != nil { return .run(locate()) }
        if upload?.awaitsAnswer == true {
            track.upload = nil
            return track.fail(PlainUpload.unknownAnswer)
        }
        do throws(AttemptFailure) {
            try limit?.check(request.size)
        } catch {
            return track.fail(error)
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
        exchange.digests = request.digests("Repr-Digest", of: .source)
        return exchange
    }

    private mutating func create() -> Exchange {
        stage = .creating
        return creation(complete: false, payload: .bytes([]))
    }

    private mutating func createOptimistically() -> Step<UploadResult> {
        stage = .optimistic
        var begun = fresh()
        begun.awaitsAnswer = true
        var exchange = creation(complete: true, payload: .source(offset: 0, length: request.size))
        exchange.interimReader = { [request, begun = fresh()] in request.resumption(in: $0, of: begun) }
        // The upload resumes where it was begun; a request to another place would begin another upload.
        exchange.isReplayable = false
        track.upload = begun
        return .store(begun, then: exchange)
    }

    private func fresh(at resource: String? = nil) -> UploadProgress {
        var begun = track.fresh(at: resource)
        begun.interopVersion = fields.version
        begun.longestAppend = begun.longestAppend ?? limit?.maximumAppend
        return begun
    }

    private mutating func locate() -> Exchange {
        stage = .locating
        return request.exchange("HEAD", track.resource ?? request.url.requestURL, own: [fields.interop])
    }

    private mutating func append() -> Exchange {
        let range = track.next()
        stage = .appending(range)
        let isLast = range.end == request.size
        var exchange = request.exchange(
            "PATCH", track.resource ?? request.url.requestURL,
            own: [fields.interop, HeaderField("Upload-Offset", "\(range.offset)"), fields.complete(isLast)],
            contentType: "application/partial-upload",
            payload: range.length == 0 ? .bytes([]) : .source(offset: range.offset, length: range.length))
        exchange.digests = request.digests("Content-Digest")
        return exchange
    }

    // MARK: Creation

    private mutating func created(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        try notAnswered(head, status)
        guard (200..<300).contains(status) else { throw FailureClassifier.answered(head, now: request.now) }
        let place = try track.place(
            head,
            orElse: "The server created no resumable upload: its answer has no Location. Try another interopVersion.")
        track.upload = fresh(at: place)
        try learn(head)
        guard let upload else { return .run(append()) }
        return .store(upload, then: append())
    }

    private mutating func createdWithContent(
        _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step<UploadResult> {
        track.upload?.awaitsAnswer = false
        let isComplete = fields.isComplete(head)
        guard (200..<300).contains(status) else {
            if isComplete == true { throw final(head) }
            throw ended(track.refused(head), outcome)
        }
        let whole = PayloadRange(offset: 0, length: request.size)
        if isComplete == true || (isComplete == nil && !acknowledgesLess(head)) {
            return try complete(SentPiece(whole, outcome), head, outcome)
        }
        // It accepted a part: the rest goes where it says.
        if track.resource == nil || !head.values("location").isEmpty {
            let place = try track.place(
                head, orElse: "The server took only a part and does not say where the rest goes.")
            track.upload?.resourceURL = place
        }
        // If the daemon ended without storing this, the next one could neither find the upload nor send it again.
        guard let upload else { return .run(locate()) }
        return .store(upload, then: locate())
    }

    /// No final answer: the upload resumes at the place that a 104 named.
    private mutating func lost(_ outcome: ExchangeOutcome) -> Step<UploadResult> {
        let failure = FailureClassifier.classify(outcome, url: request.url.requestURL)
        guard case .optimistic = stage else { return track.fail(failure) }
        if track.resource != nil {
            track.upload?.awaitsAnswer = false
            return track.fail(failure)
        }
        if case .aborted = outcome.end, outcome.sent >= request.size { return track.fail(failure) }
        track.upload = nil
        return track.fail(
            PlainUpload.finalIfUnrepeatable(failure, method: method, payload: request.size, outcome: outcome))
    }

    /// A refusal of an optimistic creation; if a 104 named a place, the upload resumes there.
    private mutating func ended(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        if track.resource != nil { return failure }
        track.upload = nil
        return PlainUpload.finalIfUnrepeatable(failure, method: method, payload: request.size, outcome: outcome)
    }

    private mutating func hear(_ interim: [ResponseHead]) {
        for head in interim { track.upload = request.resumption(in: head, of: fresh()) ?? track.upload }
    }

    // MARK: Recovery

    private mutating func located(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        let isComplete = fields.isComplete(head)
        if status == 404 || status == 410 { return .restart(try track.vanish(status), then: create()) }
        guard (200..<300).contains(status) else { throw failed(head, isComplete) }
        try learn(head)
        if let length = head.count("upload-length"), length != request.size {
            throw .permanent(
                .httpProtocol, "The server's upload has \(length) bytes, the file \(request.size); add it again.")
        }
        let offset = head.count("upload-offset")
        if isComplete == true {
            guard offset.map({ $0 == request.size }) ?? head.values("upload-offset").isEmpty else {
                throw incomplete(at: offset ?? 0)
            }
            try track.confirm(request.size)
            return .finished(UploadResult(head: head, total: request.size))
        }
        guard let offset else {
            throw .permanent(.httpProtocol, "The server does not say how much of the upload it has; check the URL.")
        }
        try track.confirm(offset)
        return goOn()
    }

    // MARK: Append

    private mutating func appended(
        _ range: PayloadRange, _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step<UploadResult> {
        let isComplete = fields.isComplete(head)
        let isLast = range.end == request.size
        let sent = SentPiece(range, outcome)
        try learn(head)
        switch status {
        case 200..<300 where isComplete == true || (isLast && isComplete == nil && !acknowledgesLess(head)):
            return try complete(sent, head, outcome)
        case _ where isComplete == true: throw final(head)
        case 200..<300:
            guard let offset = head.count("upload-offset") else {
                try track.disappoint()
                return .run(locate())
            }
            try track.confirm(offset, after: sent)
            return goOn()
        case 409:
            try track.disappoint()
            guard let offset = ResumableFields.expectedOffset(outcome) else { return .run(locate()) }
            try track.confirm(offset)
            return goOn()
        case 404, 410: return .restart(try track.vanish(status), then: create())
        case 413:
            try track.shrink(range.length, or: failed(head, isComplete))
            return .run(locate())
        default: throw failed(head, isComplete)
        }
    }

    private func acknowledgesLess(_ head: ResponseHead) -> Bool {
        head.count("upload-offset").map { $0 < request.size } ?? false
    }

    private mutating func goOn() -> Step<UploadResult> {
        guard let upload else { return .run(append()) }
        return .store(upload, then: append())
    }

    // MARK: Ending

    /// The server says that it has everything.
    private mutating func complete(
        _ sent: SentPiece, _ head: ResponseHead, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step<UploadResult> {
        let offset = head.count("upload-offset") ?? request.size
        try track.confirm(offset, after: sent)
        guard offset == request.size, sent.reach == request.size else { throw incomplete(at: min(offset, sent.reach)) }
        return .finished(outcome.uploadResult(total: request.size))
    }

    private func incomplete(at offset: ByteCount) -> AttemptFailure {
        .permanent(.httpProtocol, "The server called the upload complete at \(offset) of \(request.size) bytes.")
    }

    /// Refuses an answer of the target itself that comes before it had the content.
    private func notAnswered(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) {
        guard fields.isComplete(head) == true else { return }
        guard (200..<300).contains(status) else { throw final(head) }
        guard request.size > 0 else { return }
        throw .permanent(
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
        isComplete == true ? final(head) : track.refused(head)
    }

    private mutating func learn(_ head: ResponseHead) throws(AttemptFailure) {
        guard let limit = UploadLimit(head) else { return }
        if let longest = limit.maximumAppend, longest > 0 { track.limit(to: longest) }
        if let age = limit.maximumAge { track.upload?.expiresAt = request.now.advanced(by: age) }
        try limit.check(request.size)
    }

    static func cancellation(_ request: UploadRequest, _ resource: String, version: Int) -> Exchange {
        request.exchange("DELETE", resource, own: [ResumableFields(version: version).interop])
    }
}
