import TransferModel

/// How long a session's program is not started again: `launchInterval`, and longer while it fails.
package enum LaunchPace {
    /// The limit of the doubling, unless `launchInterval` is longer.
    package static let longestDelay: Seconds = 3600

    /// Time from one start to the next.
    /// - Parameter failures: starts in a row that failed; each doubles the time.
    package static func delay(interval: Seconds, failures: Int) -> Seconds {
        let interval = Seconds(max(interval.rawValue, Bounds.launchInterval.lowerBound))
        let doubled = interval.rawValue * Double(1 << min(max(failures, 0), 32))
        return max(interval, min(Seconds(doubled), longestDelay))
    }

    /// Time until the program may be started; zero or less if it may be started now.
    /// - Parameter startedAt: its last start. A start in the future counts as now: the clock was set back.
    package static func wait(startedAt: Timestamp, interval: Seconds, failures: Int, now: Timestamp) -> Seconds {
        let elapsed = max(now.since(startedAt), 0)
        return Seconds(delay(interval: interval, failures: failures).rawValue - elapsed.rawValue)
    }
}
