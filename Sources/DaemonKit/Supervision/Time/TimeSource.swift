import Glibc
import TransferCore
import TransferModel

/// Where supervision reads the time from; tests hand in a manual one.
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

/// What the machine's time zone adds to UTC (localtime_r(3)).
enum LocalTime {
    /// Seconds ahead of UTC at `time`.
    @Sendable static func utcOffset(_ time: Timestamp) -> Int {
        var seconds = time_t(time.rawValue / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts.tm_gmtoff
    }

    /// As `utcOffset`, of the present time zone (tzset(3)): localtime_r alone keeps to the one it read first.
    static func freshOffset(_ time: Timestamp) -> Int {
        tzset()
        return utcOffset(time)
    }
}
