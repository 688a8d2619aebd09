import TransferModel

/// Uploads by tus 1.0.0: an upload resource is created and stored, then bytes are appended at the offset that its HEAD
/// reports.
package struct TusUpload: TransferStrategy {
    /// With a checksum, each chunk is verified and, if wrong, sent again by itself.
    static let checksumChunk = ByteCount.mebibytes(16)

    private enum Stage {
        case asking, creating, locating
        case sending(ByteRange)
    }

    private let request: UploadRequest
    private let isChecked: Bool
    private var stage = Stage.creating
    private var track: UploadTrack
    private var mismatches = 0
    package var upload: UploadProgress? { track.upload }
    package var progress: Acceptance? { nil }

    /// - Parameter isChecked: OPTIONS was already asked, and the server can accept this upload.
    init(_ request: UploadRequest, isChecked: Bool = false) {
        self.request = request
        self.isChecked = isChecked
        track = UploadTrack(request, .tus)
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else {
            if track.resource != nil { return .run(locate()) }
            return .run(request.spec.uploadChecksum == nil || isChecked ? create() : ask())
        }
        guard let (head, status) = outcome.answer(ofWhole: false) else {
            return track.fail(FailureClassifier.classify(outcome, url: request.url.requestURL))
        }
        do throws(AttemptFailure) {
            switch stage {
            case .asking: return try asked(head, status)
            case .creating: return try created(head, status)
            case .locating: return try located(head, status)
            case .sending(let range): return try sent(range, head, status, outcome)
            }
        } catch {
            return track.fail(error)
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
        if let metadata = request.tusMetadata { own.append(HeaderField("Upload-Metadata", metadata)) }
        return request.exchange("POST", request.url.requestURL, own: own, payload: .bytes([]))
    }

    private mutating func locate() -> Exchange {
        stage = .locating
        return request.exchange("HEAD", track.resource ?? request.url.requestURL, own: [Self.version])
    }

    private mutating func send() -> Exchange {
        let range = track.next(atMost: request.spec.uploadChecksum == nil ? nil : Self.checksumChunk)
        stage = .sending(range)
        var exchange = request.exchange(
            "PATCH", track.resource ?? request.url.requestURL,
            own: [Self.version, HeaderField("Upload-Offset", "\(range.start)")],
            contentType: "application/offset+octet-stream",
            payload: .part(range))
        exchange.digests = request.digests(.upload)
        return exchange
    }

    // MARK: Answers

    private mutating func asked(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        guard (200..<300).contains(status) else { throw request.refused(head) }
        try TusCapabilities(head).check(request)
        return .run(create())
    }

    private mutating func created(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        guard (200..<300).contains(status) else { throw refused(head, status) }
        let place = try track.place(
            head, orElse: "The server created no tus upload: its answer has no Location. Check the URL.")
        var begun = track.fresh(at: place)
        begun.expiresAt = Self.expiry(head)
        track.upload = begun
        // An empty file is complete once it is created.
        if request.size == 0 { return .finished(UploadResult(head: head, total: 0)) }
        return .store(begun, then: send())
    }

    private mutating func located(_ head: ResponseHead, _ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        let expired = upload?.expiresAt.map { $0 < request.now } ?? false
        if status == 404 || status == 410 || (status == 403 && expired) { return try restart(status) }
        guard (200..<300).contains(status) else { throw refused(head, status) }
        guard let offset = head.count("upload-offset") else {
            throw .permanent(
                .httpProtocol, "The server does not say how much of the upload it has; it may not speak tus there.")
        }
        try track.checkLength(head)
        try track.confirm(offset)
        return goOn(head, nil)
    }

    private mutating func sent(
        _ range: ByteRange, _ head: ResponseHead, _ status: Int, _ outcome: ExchangeOutcome
    ) throws(AttemptFailure) -> Step<UploadResult> {
        switch status {
        case 200..<300:
            mismatches = 0
            guard let offset = head.count("upload-offset") else {
                try track.disappoint()
                return .run(locate())
            }
            try track.confirm(offset, after: SentPiece(range, outcome))
            return goOn(head, outcome)
        case 409:
            try track.disappoint()
            return .run(locate())
        case 413:
            try track.shrink(range.count, or: refused(head, status))
            return .run(locate())
        case 404, 410: return try restart(status)
        case 460: return try mismatched()
        default: throw refused(head, status)
        }
    }

    /// - Parameter outcome: the outcome of the append that led here.
    private mutating func goOn(_ head: ResponseHead, _ outcome: ExchangeOutcome?) -> Step<UploadResult> {
        if let expiry = Self.expiry(head) { track.upload?.expiresAt = expiry }
        if track.offset == request.size {
            return .finished(
                outcome?.uploadResult(total: request.size) ?? UploadResult(head: head, total: request.size))
        }
        return .stored(upload, then: send())
    }

    private mutating func mismatched() throws(AttemptFailure) -> Step<UploadResult> {
        mismatches += 1
        guard mismatches <= OffsetLedger.patience else {
            throw .permanent(
                .integrityChecksum, "The server reports a wrong checksum for every chunk (460) and accepted none.")
        }
        return .run(send())
    }

    private mutating func restart(_ status: Int) throws(AttemptFailure) -> Step<UploadResult> {
        .restart(try track.vanish(status), then: create())
    }

    private func refused(_ head: ResponseHead, _ status: Int) -> AttemptFailure {
        guard status == 412 else { return request.refused(head) }
        return .permanent(
            .httpProtocol,
            "The server does not speak tus 1.0.0 but \(head.values("tus-version").first ?? "another version").")
    }

    private static func expiry(_ head: ResponseHead) -> Timestamp? {
        head.values("upload-expires").first.flatMap(HTTPDate.parse).map { Timestamp(milliseconds: $0 * 1000) }
    }

    /// Ends the upload resource (termination extension).
    static func cancellation(_ request: UploadRequest, _ resource: String) -> Exchange {
        request.exchange("DELETE", resource, own: [version])
    }
}

/// What a tus server says about itself in answer to OPTIONS.
struct TusCapabilities: Sendable, Hashable {
    var extensions: Set<String>
    /// nil if the server sets no limit.
    var longestUpload: ByteCount?
    var checksumAlgorithms: Set<String>

    init(_ head: ResponseHead) {
        extensions = Set(head.list("tus-extension"))
        longestUpload = head.count("tus-max-size")
        checksumAlgorithms = Set(head.list("tus-checksum-algorithm"))
    }

    /// - Throws: permanently if the server cannot accept this upload.
    func check(_ request: UploadRequest) throws(AttemptFailure) {
        try UploadLimit(maximumSize: longestUpload).check(request.size)
        guard let algorithm = request.spec.uploadChecksum else { return }
        guard checksumAlgorithms.contains(PayloadDigest.tusName(algorithm)) else {
            let offered = checksumAlgorithms.sorted().joined(separator: ", ")
            throw .permanent(
                .badField,
                "uploadChecksum: the server does not verify \(algorithm.rawValue); it offers \(offered.isEmpty ? "none" : offered)."
            )
        }
    }

}

extension UploadRequest {
    /// Upload-Metadata: `key base64,key base64`. nil if the caller wants none (an empty map). Name and type of the file
    /// are added if the caller does not give them: some servers refuse even HEAD without them.
    var tusMetadata: String? {
        if spec.uploadMetadata?.isEmpty == true { return nil }
        var pairs = spec.uploadMetadata ?? [:]
        pairs["filename"] = pairs["filename"] ?? fileName
        pairs["filetype"] = pairs["filetype"] ?? contentType ?? MediaType.guess(fileName)
        let members = pairs.sorted { $0.key < $1.key }.map { key, value in
            value.isEmpty ? key : "\(key) \(Array(value.utf8).base64)"
        }
        return members.joined(separator: ",")
    }
}
