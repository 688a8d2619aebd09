import TransferModel

/// Keeps what the server confirmed in one attempt: its offset is the offset of record, behind or ahead of ours.
struct OffsetLedger: Sendable {
    /// Answers in a row that bring nothing new before the server is given a rest.
    static let patience = 3

    let size: ByteCount
    private let start: ByteCount
    private(set) var highest: ByteCount
    private var last: ByteCount
    private var fruitless = 0

    init(size: ByteCount, start: ByteCount) {
        self.size = size
        self.start = start
        highest = start
        last = start
    }

    /// The server has more than when the attempt began.
    var progressed: Bool { highest > start }

    /// - Throws: permanently where the server claims more than there is; for a rest where it stopped getting on.
    mutating func confirm(_ offset: ByteCount) throws(AttemptFailure) {
        guard offset <= size else {
            throw FailureClassifier.permanent(
                .httpProtocol,
                "The server claims to hold \(offset) of \(size) bytes: it is not this file. Cancel it and add it anew.")
        }
        defer { last = offset }
        if offset > highest {
            highest = offset
            fruitless = 0
        } else if offset <= last {
            try disappoint()
        }
    }

    /// An answer that brought nothing.
    mutating func disappoint() throws(AttemptFailure) {
        fruitless += 1
        guard fruitless <= Self.patience else {
            throw FailureClassifier.transient(
                .httpProtocol, "The server takes bytes but does not get on; it is asked again later.")
        }
    }
}
