import TransferModel

/// Decides whether the wall clock can be trusted for deletions that are final.
///
/// A clock can be wrong by years, for example until it is set after a battery failed. Such a clock must not cause the
/// deletion of history, or of events that a client has not fetched. So a forward leap counts only after it has lasted
/// for a while on the boot clock.
package struct RetentionGate: Sendable {
    /// A leap too small to wait for: it deletes only what was due soon anyway.
    package static let harmlessLeap: Seconds = 604_800
    /// How long a larger leap must last.
    package static let patience: Seconds = 3600

    private var last: ClockReading
    /// Boot clock, milliseconds; nil while the wall clock is trusted.
    private var doubtedSince: Int64?

    /// - Parameter lastKnown: the newest time in the store; no daemon ran after it. nil in a new store.
    package init(lastKnown: Timestamp?, at now: ClockReading) {
        last = now
        if let lastKnown, now.wall.since(lastKnown) > Self.harmlessLeap { doubtedSince = now.boot }
    }

    /// Must be called from time to time.
    package mutating func allows(at now: ClockReading) -> Bool {
        let leap = now.jump(since: last)
        last = now
        if leap > Self.harmlessLeap {
            doubtedSince = now.boot
        } else if leap.rawValue < -Self.harmlessLeap.rawValue {
            // The clock was wrong and has been corrected.
            doubtedSince = nil
        }
        guard let doubtedSince else { return true }
        guard now.boot - doubtedSince >= Self.patience.milliseconds else { return false }
        self.doubtedSince = nil
        return true
    }
}
