import Threading

/// How many answers of HTTP servers arrived, by the first digit of their status: interim answers, redirects and challenges
/// too, but not a proxy's answer to CONNECT.
package final class AnswerCounts: Sendable {
    private let counts = Guarded([0, 0, 0, 0, 0])

    package init() {}

    /// From 1xx to 5xx.
    package var current: [Int] { counts.withLock { $0 } }

    func note(status: Int?) {
        let place = (status ?? 0) / 100 - 1
        counts.withLock { if $0.indices.contains(place) { $0[place] += 1 } }
    }
}
