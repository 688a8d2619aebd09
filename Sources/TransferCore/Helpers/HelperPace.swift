import TransferModel

/// How soon a helper is started again after it ended without being told to. The delay grows each time, until one of its
/// requests succeeds. Processes that run at the same time and end together count once.
package struct HelperPace: Sendable {
    private static let firstDelay: Int64 = 500
    private static let longestDelay: Int64 = 30_000

    private var failures = 0
    private var notBefore: Int64 = 0
    /// When a failure last counted.
    private var failedAt: Int64 = .min

    package init() {}

    /// Milliseconds until the next start.
    /// - Parameter now: milliseconds of a monotonic clock, as below.
    package func wait(at now: Int64) -> Int64 { max(0, notBefore - now) }

    /// - Parameter start: when the process was started. If another failure has counted since, this one does not.
    package mutating func failed(at now: Int64, startedAt start: Int64) {
        guard start > failedAt else { return }
        failedAt = now
        let delay = min(Self.longestDelay, Self.firstDelay << min(failures, 10))
        failures += 1
        notBefore = max(notBefore, now + delay)
    }

    package mutating func succeeded() { self = HelperPace() }
}
