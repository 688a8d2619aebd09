import TransferModel

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
