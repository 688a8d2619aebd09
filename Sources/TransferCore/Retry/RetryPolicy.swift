import TransferModel

/// How long a task waits after a transient failure: exponential back-off with full jitter.
package struct RetryPolicy: Sendable, Hashable {
    /// Failures in a row after which the task fails; 0 = unlimited.
    package var attempts: Int
    /// Longest wait after the first failure.
    package var firstDelay: Seconds
    /// Longest wait after any failure.
    package var longestDelay: Seconds
    /// If false, a task fails if there is no network, no address for the name, or no connection.
    package var waitsForConnectivity = true

    package init(_ spec: RetryPolicySpec? = nil) {
        attempts = max(0, spec?.attempts ?? 0)
        firstDelay = max(0, spec?.firstDelay ?? 1)
        longestDelay = max(firstDelay, spec?.longestDelay ?? 600)
    }

    /// Members of `spec` take precedence over those of `inherited`, one by one.
    package init(_ spec: RetryPolicySpec?, inherited: RetryPolicySpec?) {
        var merged = RetryPolicySpec()
        merged.attempts = spec?.attempts ?? inherited?.attempts
        merged.firstDelay = spec?.firstDelay ?? inherited?.firstDelay
        merged.longestDelay = spec?.longestDelay ?? inherited?.longestDelay
        self.init(merged)
    }

    /// - Parameters:
    ///   - failuresInRow: failures since the last progress, this one included; from 1.
    ///   - jitter: a random number in 0..<1.
    package func delay(failuresInRow: Int, jitter: Double) -> Seconds {
        Seconds(ceiling(failuresInRow: failuresInRow).rawValue * min(max(jitter, 0), 1))
    }

    /// The longest `delay` after this many failures.
    package func ceiling(failuresInRow: Int) -> Seconds {
        var ceiling = firstDelay.rawValue
        var remaining = max(0, failuresInRow - 1)
        while remaining > 0, ceiling < longestDelay.rawValue, ceiling > 0 {
            ceiling *= 2
            remaining -= 1
        }
        return Seconds(min(ceiling, longestDelay.rawValue))
    }
}
