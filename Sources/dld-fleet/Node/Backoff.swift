/// How long the table waits after a transient end (contract, section 3, `backoff`).
struct Backoff: Hashable, Sendable {
    var first = Duration.seconds(5)
    var longest = Duration.seconds(600)

    /// - Parameters:
    ///   - attempt: the number of the claim, from 1.
    ///   - retryAfter: what the server asked for; it counts if it is longer.
    ///   - random: 0..<1.
    func delay(attempt: Int, retryAfter: Duration? = nil, random: Double) -> Duration {
        var delay = first
        for _ in 1..<max(attempt, 1) where delay < longest { delay *= 2 }
        return max(min(delay, longest) * (0.5 + random / 2), retryAfter ?? .zero)
    }
}
