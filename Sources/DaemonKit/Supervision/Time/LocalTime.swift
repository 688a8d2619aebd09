import Glibc
import TransferModel

/// The offset of the machine's time zone from UTC (localtime_r(3)).
enum LocalTime {
    /// Seconds ahead of UTC at `time`.
    @Sendable static func utcOffset(_ time: Timestamp) -> Int {
        var seconds = time_t(time.rawValue / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts.tm_gmtoff
    }

    /// Like `utcOffset`, but for the current time zone (tzset(3)). localtime_r alone keeps the time zone that it read
    /// first.
    static func freshOffset(_ time: Timestamp) -> Int {
        tzset()
        return utcOffset(time)
    }
}
