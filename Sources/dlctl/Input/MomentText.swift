import Glibc
import TransferModel

/// Reads times as users type them: RFC 3339, `HH:MM` (the next one, local time), `+30m`, `+2h`, `tomorrow HH:MM`.
enum MomentText {
    static func timestamp(_ text: String, now: Timestamp) -> Timestamp? {
        if text == "now" { return now }
        if text.hasPrefix("+") {
            return QuantityText.seconds(String(text.dropFirst())).map { now.advanced(by: Seconds(rawValue: $0)) }
        }
        if let exact = Timestamp(text) { return exact }
        let words = text.split(separator: " ")
        switch words.count {
        case 1: return clock(words[0]).flatMap { next($0, after: now, daysLater: 0) }
        case 2 where words[0] == "tomorrow": return clock(words[1]).flatMap { next($0, after: now, daysLater: 1) }
        case 2 where words[0] == "today": return clock(words[1]).flatMap { next($0, after: now, daysLater: 0) }
        case 2: return Timestamp("\(words[0])T\(words[1])")
        default: return nil
        }
    }

    private struct ClockTime {
        var hour: Int32
        var minute: Int32
        var second: Int32
    }

    private static func clock(_ text: Substring) -> ClockTime? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), parts.allSatisfy({ (1...2).contains($0.count) }),
            parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) })
        else { return nil }
        let numbers = parts.compactMap { Int32($0) } + (parts.count == 2 ? [0] : [])
        guard numbers.count == 3, numbers[0] < 24, numbers[1] < 60, numbers[2] < 60 else { return nil }
        return ClockTime(hour: numbers[0], minute: numbers[1], second: numbers[2])
    }

    /// The given time of day in the process's time zone: today's, or tomorrow's if that has passed.
    ///
    /// `mktime` itself finds the offset of that day (mktime(3), `tm_isdst` -1), so a change of daylight saving time in
    /// between is handled.
    private static func next(_ clock: ClockTime, after now: Timestamp, daysLater: Int32) -> Timestamp? {
        var seconds = time_t(now.rawValue / 1000)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return nil }
        for days in [daysLater, daysLater + 1] {
            var wanted = local
            wanted.tm_mday += days
            wanted.tm_hour = clock.hour
            wanted.tm_min = clock.minute
            wanted.tm_sec = clock.second
            wanted.tm_isdst = -1
            let moment = Timestamp(milliseconds: Int64(mktime(&wanted)) * 1000)
            if moment > now { return moment }
        }
        return nil
    }
}
