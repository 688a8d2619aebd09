import TransferModel

/// The state of an upload at its server, and what one attempt made of it; shared by tus, resumable and contentRange.
struct UploadTrack: Sendable {
    /// Uploads that vanish without progress before the server is left alone for a while.
    static let restartLimit = 3
    /// Pieces that the server finds too large are halved, but not below this.
    static let smallestPiece = ByteCount.kibibytes(64)

    private let request: UploadRequest
    private let kind: UploadProtocol
    private var ledger: OffsetLedger
    private var crumbs = Crumbs()
    /// The length to which pieces were reduced in this attempt, whatever the server says about them.
    private var shrunk: ByteCount?
    /// What is known of the upload now; its place is nil if none was begun or the last one vanished.
    var upload: UploadProgress?

    init(_ request: UploadRequest, _ kind: UploadProtocol) {
        self.request = request
        self.kind = kind
        upload = request.stored?.uploadProtocol == kind ? request.stored : nil
        ledger = OffsetLedger(
            size: request.size, start: upload?.offset ?? 0, furthest: upload?.furthest ?? upload?.offset ?? 0)
    }

    var resource: String? { upload?.resourceURL }
    var offset: ByteCount { upload?.offset ?? 0 }

    /// An upload that holds nothing yet, with what is remembered of earlier ones.
    func fresh(at resource: String? = nil) -> UploadProgress {
        var begun = request.progress(kind, at: resource)
        begun.interopVersion = upload?.interopVersion
        begun.longestAppend = upload?.longestAppend
        begun.furthest = ledger.furthest > 0 ? ledger.furthest : nil
        begun.restarts = upload?.restarts
        return begun
    }

    /// The next range to send, at most `limit` bytes.
    func next(atMost limit: ByteCount? = nil) -> PayloadRange {
        let rest = request.size - offset
        return PayloadRange(
            offset: offset, length: [limit, upload?.longestAppend].compactMap(\.self).reduce(rest, min))
    }

    // MARK: What the server says

    /// The server holds this many bytes.
    /// - Parameter sent: what the request carried; nil if it only asked.
    /// - Throws: permanently if that is impossible; temporarily if the upload makes no progress, or only by a few bytes
    ///   each time.
    mutating func confirm(_ offset: ByteCount, after sent: SentPiece? = nil) throws(AttemptFailure) {
        if let sent, offset > sent.reach, offset <= request.size {
            throw .permanent(
                .httpProtocol,
                "The server claims to hold \(offset) bytes when it had been sent \(sent.reach); it cannot be trusted "
                    + "with this file.")
        }
        let furthest = ledger.furthest
        try ledger.confirm(offset)
        upload?.offset = offset
        upload?.furthest = ledger.furthest
        if ledger.furthest > furthest { upload?.restarts = nil }
        if let sent, offset < request.size, crumbs.isTooMany(after: max(.zero, offset - sent.range.offset)) {
            throw Crumbs.takenFailure
        }
    }

    /// The server answered without progress.
    mutating func disappoint() throws(AttemptFailure) { try ledger.disappoint() }

    /// The server no longer has the upload.
    /// - Returns: the error that the restart reports.
    /// - Throws: temporarily if uploads vanish again and again.
    mutating func vanish(_ status: Int) throws(AttemptFailure) -> TransferError {
        let error = TransferError(
            .httpStatus, "The server no longer has the upload (\(status)); it starts over.", retryable: true,
            details: ["status": .integer(Int64(status))])
        var next = fresh()
        next.restarts = (upload?.restarts ?? 0) + 1
        upload = next
        ledger.beginAnew()
        guard (next.restarts ?? 0) <= Self.restartLimit else {
            throw .transient(error)
        }
        return error
    }

    /// The server accepts pieces of at most this length.
    mutating func limit(to longest: ByteCount) {
        upload?.longestAppend = min(longest, shrunk ?? longest)
    }

    /// The server finds a piece of this length too large (413).
    /// - Parameter unit: pieces are multiples of it.
    /// - Throws: `refusal` if they would become too small.
    mutating func shrink(
        _ length: ByteCount, unit: ByteCount = 1, or refusal: AttemptFailure
    ) throws(AttemptFailure) {
        let floor = max(unit, Self.smallestPiece)
        ledger.excuse()
        // Its answer may also have said how long they may be.
        if let known = upload?.longestAppend, known < length { return }
        guard length > floor else {
            upload?.longestAppend = nil
            throw refusal
        }
        let half = max(floor, ByteCount(length.rawValue / 2 / unit.rawValue * unit.rawValue))
        shrunk = half
        upload?.longestAppend = half
    }

    /// Where the server put the upload.
    /// - Throws: permanently if it names no place, or one that is not allowed.
    func place(_ head: ResponseHead, orElse sentence: String) throws(AttemptFailure) -> String {
        do throws(TransferError) {
            if let place = try request.location(head) { return place }
        } catch {
            throw .permanent(error)
        }
        throw .permanent(.httpProtocol, sentence)
    }

    // MARK: The end

    func fail(_ failure: AttemptFailure) -> Step<UploadResult> {
        .failed(failure.with(progressed: ledger.progressed, held: offset))
    }

    /// An answer that is not a success.
    func refused(_ head: ResponseHead) -> AttemptFailure { FailureClassifier.answered(head, now: request.now) }
}

/// The range of the source that one exchange carries.
struct PayloadRange: Sendable, Hashable {
    var offset: ByteCount
    var length: ByteCount
    var end: ByteCount { offset + length }
}

/// A range of the source that was sent, or was meant to be.
struct SentPiece: Sendable, Hashable {
    let range: PayloadRange
    /// Everything before this offset was sent when the answer came: no server can hold more.
    let reach: ByteCount

    init(_ range: PayloadRange, _ outcome: ExchangeOutcome) {
        self.range = range
        reach = outcome.isSentWhole ? range.end : min(range.end, range.offset + outcome.sent)
    }
}
