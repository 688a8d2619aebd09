import TransferModel

/// Both clocks at one instant: decisions are given the time and never ask for it.
package struct ClockReading: Sendable, Hashable {
    /// For times that people see and that follow the calendar.
    package var wall: Timestamp
    /// Milliseconds of CLOCK_BOOTTIME: counts sleep, ignores wall clock jumps, starts again at each boot.
    package var boot: Int64

    package init(wall: Timestamp, boot: Int64) {
        self.wall = wall
        self.boot = boot
    }

    /// By how much the wall clock was set since `last`, as far as the boot clock tells; negative if it went back.
    func jump(since last: ClockReading) -> Seconds {
        wall.since(last.wall.advanced(by: Seconds(Double(boot - last.boot) / 1000)))
    }
}
