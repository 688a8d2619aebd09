import Glibc
import TransferCore
import TransferModel

/// The source of supervision's time. Tests use a manual one.
package protocol TimeSource: Sendable {
    func reading() -> ClockReading
}

/// The wall clock and CLOCK_BOOTTIME, which counts sleep and never jumps (clock_gettime(2)).
package struct SystemTime: TimeSource {
    package init() {}

    package func reading() -> ClockReading {
        var boot = timespec()
        clock_gettime(CLOCK_BOOTTIME, &boot)
        return ClockReading(wall: .now(), boot: Int64(boot.tv_sec) * 1000 + Int64(boot.tv_nsec) / 1_000_000)
    }
}
