import TransferModel

/// Notices that the wall clock was set, by comparison with the boot clock.
package struct WallClockWatch: Sendable {
    /// Smaller differences come from the two readings, or from a clock that is being slowed down or sped up.
    package static let tolerance: Seconds = 1

    private var anchor: ClockReading

    package init(at now: ClockReading) { anchor = now }

    /// By how much the clock was set since the last call, negative if it went back; nil if it was not set.
    package mutating func jump(at now: ClockReading) -> Seconds? {
        let jump = now.jump(since: anchor)
        guard abs(jump.rawValue) > Self.tolerance.rawValue else { return nil }
        anchor = now
        return jump
    }
}
