import TransferModel

/// Uploads by draft-ietf-httpbis-resumable-upload: never a HEAD beside an append, never two appends at once.
package struct ResumableUpload: TransferStrategy {
    private enum Stage {
        case creating, locating
        case optimistic
        case appending(ByteRange)
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
        exchange.digests = request.digests(.representation)
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
            own: [fields.interop, HeaderField("Upload-Offset", "\(range.start)"), fields.complete(isLast)],
            contentType: "application/partial-upload",
            payload: .part(range))
        exchange.digests = request.digests(.content)
        return exchange
    }

    // MARK: Creation

    private mutating func created(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        try notAnswered(head, status)
        guard (200..<300).contains(status) else { throw request.refused(head) }
        let place = try track.place(
            head,
            orElse: "The server created no resumable upload: its answer has no Location. Try another interopVersion.")
        track.upload = fresh(at: place)
        try learn(head)
        return goOn()
    }

    private mutating func createdWithContent(
        _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step<UploadResult> {
        track.upload?.awaitsAnswer = false
        let isComplete = fields.isComplete(head)
        guard (200..<300).contains(status) else {
            if isComplete == true { throw final(head) }
            throw ended(request.refused(head), outcome)
        }
        let whole = ByteRange(.zero, request.size)
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
        return .stored(upload, then: locate())
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
        return track.fail(ended(failure, outcome))
    }

    /// A refusal of an optimistic creation; if a 104 named a place, the upload resumes there.
    private mutating func ended(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        if track.resource != nil { return failure }
        track.upload = nil
        return failure.finalIfUnrepeatable(method, payload: request.size, outcome)
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
        try track.checkLength(head)
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
        _ range: ByteRange, _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
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
            try track.shrink(range.count, or: failed(head, isComplete))
            return .run(locate())
        default: throw failed(head, isComplete)
        }
    }

    private func acknowledgesLess(_ head: ResponseHead) -> Bool {
        head.count("upload-offset").map { $0 < request.size } ?? false
    }

    private mutating func goOn() -> Step<UploadResult> {
        .stored(upload, then: append())
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
    private func final(_ head: ResponseHead) -> AttemptFailure { request.refused(head).final() }

    private func failed(_ head: ResponseHead, _ isComplete: Bool?) -> AttemptFailure {
        isComplete == true ? final(head) : request.refused(head)
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

/// Header fields of draft-ietf-httpbis-resumable-upload, in the form of each interop version.
struct ResumableFields: Sendable, Hashable {
    /// 3, 5, 6 or 8.
    var version: Int

    static let versions = [3, 5, 6, 8]

    var interop: HeaderField { HeaderField("Upload-Draft-Interop-Version", "\(version)") }

    /// Version 3 has the opposite value under another name.
    func complete(_ isComplete: Bool) -> HeaderField {
        version == 3
            ? HeaderField("Upload-Incomplete", isComplete ? "?0" : "?1")
            : HeaderField("Upload-Complete", isComplete ? "?1" : "?0")
    }

    /// Upload-Length came with version 6.
    func length(_ size: ByteCount) -> [HeaderField] {
        version >= 6 ? [HeaderField("Upload-Length", "\(size)")] : []
    }

    /// Whether the answer says that it comes from the target itself; nil if it does not say.
    func isComplete(_ head: ResponseHead) -> Bool? {
        if let complete = Self.boolean(head, "upload-complete") { return complete }
        return Self.boolean(head, "upload-incomplete").map { !$0 }
    }

    /// An Item that is a Boolean (RFC 9651 section 3.3.6); parameters are ignored.
    private static func boolean(_ head: ResponseHead, _ name: String) -> Bool? {
        guard let text = head.values(name).first else { return nil }
        switch text.prefix(while: { $0 != ";" }).trimmed {
        case "?1": return true
        case "?0": return false
        default: return nil
        }
    }

    /// The offset in a 409: the field, or `expected-offset` of its problem document (RFC 9457).
    static func expectedOffset(_ outcome: ExchangeOutcome) -> ByteCount? {
        if let offset = outcome.head?.count("upload-offset") { return offset }
        guard let problem = try? JSONCoding.decode(JSONValue.self, from: outcome.body),
            let offset = problem["expected-offset"]?.integerValue, offset >= 0
        else { return nil }
        return ByteCount(offset)
    }
}

/// Upload-Limit: a Dictionary (RFC 9651 section 3.2) of what the server accepts.
struct UploadLimit: Sendable, Hashable {
    var maximumSize: ByteCount?
    var minimumSize: ByteCount?
    var maximumAppend: ByteCount?
    /// How long the upload resource is kept.
    var maximumAge: Seconds?

    /// Ten years: beyond any upload, and far from where clocks overflow.
    private static let longestAge: Int64 = 10 * 366 * 86_400

    init(maximumSize: ByteCount?) { self.maximumSize = maximumSize }

    /// nil if the answer has none.
    init?(_ head: ResponseHead) {
        guard !head.values("upload-limit").isEmpty else { return nil }
        for (name, value) in head.pairs("upload-limit") {
            guard let number = ContentRange.number(value.prefix { $0 != ";" }.trimmed) else { continue }
            switch name {
            case "max-size": maximumSize = number
            case "min-size": minimumSize = number
            // Empty pieces would never end.
            case "max-append-size": maximumAppend = number > 0 ? number : nil
            // Version 6 has expires, later ones max-age; both count seconds.
            case "max-age", "expires": maximumAge = Seconds(Double(min(number.rawValue, Self.longestAge)))
            default: continue
            }
        }
    }

    /// - Throws: permanently if the server does not accept a file of this size.
    func check(_ size: ByteCount) throws(AttemptFailure) {
        if let maximumSize, size > maximumSize {
            throw .permanent(
                .tooLarge, "The server accepts uploads of at most \(maximumSize) bytes; the file has \(size).")
        }
        if let minimumSize, size < minimumSize {
            throw .permanent(
                .badField, "The server accepts uploads of at least \(minimumSize) bytes; the file has \(size).")
        }
    }
}
