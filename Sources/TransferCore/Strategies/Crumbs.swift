import TransferModel

/// Counts parts of a few bytes where all the rest was asked for, or sent. RFC 9110 section 15.3.7 and the upload protocols
/// allow them, but a request for each, one after the other, costs both sides far more than it brings: the server is given
/// a rest now and then.
struct Crumbs: Sendable, Hashable {
    /// Parts shorter than this count.
    static let least = ByteCount.kibibytes(16)
    /// So many in a row end an attempt.
    static let limit = 16

    private var inRow = 0

    /// Whether the attempt should end after one more part, which was shorter than what was asked for.
    mutating func isTooMany(after received: ByteCount) -> Bool {
        inRow = received < Self.least ? inRow + 1 : 0
        return inRow >= Self.limit
    }

    static let failure = FailureClassifier.transient(
        .httpProtocol, "The server sends the file only in parts of a few bytes.")
    static let takenFailure = FailureClassifier.transient(
        .httpProtocol, "The server accepts the file only in parts of a few bytes.")
}
