import Glibc
import TransferModel

/// Writes local times for users: `2026-01-31 08:00:00`.
enum LocalTime {
    static func text(_ time: Timestamp) -> String { text(time, "%Y-%m-%d %H:%M:%S") }

    /// With milliseconds and the time zone, as one word: `2026-01-31T08:00:00.123+0100`.
    static func exact(_ time: Timestamp) -> String {
        let digits = String(((time.rawValue % 1000) + 1000) % 1000)
        return text(time, "%Y-%m-%dT%H:%M:%S.\(String(repeating: "0", count: 3 - digits.count))\(digits)%z")
    }

    /// - Parameter form: for strftime(3).
    private static func text(_ time: Timestamp, _ form: String) -> String {
        var seconds = time_t(time.rawValue / 1000)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return time.description }
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, form, &local)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Also says how long ago or how soon that is.
    static func text(_ time: Timestamp, seenFrom now: Timestamp) -> String {
        let distance = now.since(time)
        let relative =
            distance.rawValue >= 0
            ? "\(Figures.duration(distance)) ago" : "in \(Figures.duration(Seconds(rawValue: -distance.rawValue)))"
        return "\(text(time)) (\(relative))"
    }
}
