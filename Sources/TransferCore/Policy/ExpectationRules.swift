import TransferModel

/// Decides which requests ask the server before they send their body, so that a refusal costs no body. Remembers
/// servers that such a question only delays (RFC 9110 section 10.1.1).
package struct ExpectationRules: Sendable {
    /// A body of this length or more is worth a round trip.
    package static let largeBody = ByteCount.mebibytes(1)
    /// The same, if the request has credentials that the server may demand: its first answer is then a 401.
    package static let challengedBody = ByteCount.kibibytes(64)
    /// How long a server that did not answer the question is not asked again, in nanoseconds.
    package static let memory: Int64 = 600_000_000_000
    private static let remembered = 256

    /// Until when each origin is not asked; times in nanoseconds on any monotonic clock.
    private var deaf: [String: Int64] = [:]

    package init() {}

    /// - Parameters:
    ///   - length: length of the body.
    ///   - isWanted: the caller wrote the field.
    ///   - mayBeChallenged: there are credentials that the server has not seen.
    package func apply(
        to length: ByteCount, isWanted: Bool, mayBeChallenged: Bool, origin: String, at now: Int64
    ) -> Bool {
        if isWanted { return length > 0 }
        guard length >= (mayBeChallenged ? Self.challengedBody : Self.largeBody) else { return false }
        return deaf[origin].map { $0 <= now } ?? true
    }

    /// The server did not answer the question in time, or refused it (417).
    package mutating func wasIgnored(by origin: String, at now: Int64) {
        if deaf.count >= Self.remembered { deaf = deaf.filter { $0.value > now } }
        if deaf.count >= Self.remembered, let oldest = deaf.min(by: { $0.value < $1.value }) {
            deaf[oldest.key] = nil
        }
        deaf[origin] = now + Self.memory
    }
}
