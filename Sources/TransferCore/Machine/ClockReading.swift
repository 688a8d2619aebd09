import TransferModel

/// Both clocks at one instant: decisions are handed a time, they never ask for one.
package struct ClockReading: Sendable, Hashable {
    /// For what people and calendars see.
    package var wall: Timestamp
    /// Milliseconds of CLOCK_BOOTTIME: counts sleep, ignores wall clock jumps, starts anew at each boot.
    package var boot: Int64

    package init(wall: Timestamp, boot: Int64) {
        self.wall = wall
        self.boot = boot
    }
}
