import TransferModel

/// Says whether the wall clock may be believed when it is to decide what is dropped for good.
///
/// A clock that is wrong by years, for a minute before it is set or after a battery died, must not cost the history and the
/// events that somebody has not fetched. So a leap forward has to stand for a while on the boot clock first.
package struct RetentionGate: Sendable {
    /// A leap too small to wait for: the little that goes early by it was to go soon.
    package static let harmlessLeap: Seconds = 604_800
    /// How long a longer one has to stand.
    package static let patience: Seconds = 3600

    private var last: ClockReading
    /// Boot clock, milliseconds; nil while the wall clock is believed.
    private var doubtedSince: Int64?

    /// - Parameter lastKnown: the newest time in the store: before it no daemon ran; nil in a new store.
    package init(lastKnown: Timestamp?, at now: ClockReading) {
        last = now
        if let lastKnown, now.wall.since(lastKnown) > Self.harmlessLeap { doubtedSince = now.boot }
    }

    /// Call from time to time.
    package mutating func allows(at now: ClockReading) -> Bool {
        let expected = last.wall.advanced(by: Seconds(Double(now.boot - last.boot) / 1000))
        let leap = now.wall.since(expected)
        last = now
        if leap > Self.harmlessLeap {
            doubtedSince = now.boot
        } else if leap.rawValue < -Self.harmlessLeap.rawValue {
            // It was wrong, and is not any more.
            doubtedSince = nil
        }
        guard let doubtedSince else { return true }
        guard now.boot - doubtedSince >= Self.patience.milliseconds else { return false }
        self.doubtedSince = nil
        return true
    }
}
