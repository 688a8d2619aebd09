import Glibc
import TransferModel

/// Writes local times for users: `2026-01-31 08:00:00`.
enum LocalTime {
    static func text(_ time: Timestamp) -> String {
        var seconds = time_t(time.rawValue / 1000)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return time.description }
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M:%S", &local)
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
