import TransferModel

/// Counts parts of a few bytes in cases where all the rest was requested, or sent. RFC 9110 section 15.3.7 and the
/// upload protocols allow such parts. But one request after another for each costs both sides far more than it brings,
/// so the server is left alone for a while.
struct Crumbs: Sendable, Hashable {
    /// Parts shorter than this count.
    static let least = ByteCount.kibibytes(16)
    /// This many in a row end an attempt.
    static let limit = 16

    private var inRow = 0

    /// Whether the attempt should end after one more part, which was shorter than requested.
    mutating func isTooMany(after received: ByteCount) -> Bool {
        inRow = received < Self.least ? inRow + 1 : 0
        return inRow >= Self.limit
    }

    static let failure = AttemptFailure.transient(
        .httpProtocol, "The server sends the file only in parts of a few bytes.")
    static let takenFailure = AttemptFailure.transient(
        .httpProtocol, "The server accepts the file only in parts of a few bytes.")
}
