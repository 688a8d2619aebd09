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
    func next(atMost limit: ByteCount? = nil) -> ByteRange {
        let length = [limit, upload?.longestAppend].compactMap(\.self).reduce(request.size - offset, min)
        return ByteRange(offset, offset + length)
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
        if let sent, offset < request.size, crumbs.isTooMany(after: max(.zero, offset - sent.range.start)) {
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

    /// - Throws: permanently if the upload there has another length.
    func checkLength(_ head: ResponseHead) throws(AttemptFailure) {
        guard let length = head.count("upload-length"), length != request.size else { return }
        throw .permanent(
            .httpProtocol, "The server's upload has \(length) bytes, the file \(request.size); add it again.")
    }

    // MARK: The end

    func fail(_ failure: AttemptFailure) -> Step<UploadResult> {
        .failed(failure.with(progressed: ledger.progressed, held: offset))
    }
}

/// A range of the source that was sent, or was meant to be.
struct SentPiece: Sendable, Hashable {
    let range: ByteRange
    /// Everything before this offset was sent when the answer came: no server can hold more.
    let reach: ByteCount

    init(_ range: ByteRange, _ outcome: ExchangeOutcome) {
        self.range = range
        reach = outcome.isSentWhole ? range.end : min(range.end, range.start + outcome.sent)
    }
}

/// Keeps what the server confirmed in one attempt: the server's offset counts, whether it is behind or ahead of ours.
struct OffsetLedger: Sendable {
    /// Answers in a row without progress before the server is left alone for a while.
    static let patience = 3

    let size: ByteCount
    /// The highest offset that any attempt reached, in this upload or one that vanished. Only bytes beyond it are
    /// progress; otherwise a server that loses bytes again and again would never be left alone.
    private let furthestBefore: ByteCount
    private(set) var furthest: ByteCount
    private var last: ByteCount
    private var fruitless = 0
    private var isExcused = false

    init(size: ByteCount, start: ByteCount, furthest: ByteCount) {
        self.size = size
        furthestBefore = max(start, furthest)
        self.furthest = max(start, furthest)
        last = start
    }

    var progressed: Bool { furthest > furthestBefore }

    /// - Throws: permanently if the server claims more than there is; temporarily if it no longer makes progress.
    mutating func confirm(_ offset: ByteCount) throws(AttemptFailure) {
        guard offset <= size else {
            throw .permanent(
                .httpProtocol,
                "The server claims to hold \(offset) of \(size) bytes: it is not this file. Cancel the task and add it again."
            )
        }
        defer {
            last = offset
            isExcused = false
        }
        if offset > furthest {
            furthest = offset
            fruitless = 0
        } else if offset <= last, !isExcused {
            try disappoint()
        }
    }

    /// An answer that brought nothing.
    mutating func disappoint() throws(AttemptFailure) {
        fruitless += 1
        guard fruitless <= Self.patience else {
            throw .transient(.httpProtocol, "The server accepts bytes but makes no progress; it is asked again later.")
        }
    }

    /// The next offset may be an old one: the server had a reason.
    mutating func excuse() { isExcused = true }

    /// The upload is now a new one, and empty.
    mutating func beginAnew() { last = 0 }
}
