import TransferModel

/// Decides whether a session's time windows are open, and when they next are.
package struct ScheduleWindows: Sendable, Hashable {
    /// Seconds that local time is ahead of UTC at a point in time; daylight saving is the caller's knowledge.
    package typealias UTCOffset = (Timestamp) -> Int

    private struct Window: Sendable, Hashable {
        var from: Int
        var to: Int
        var days: Set<Int>
    }

    private let windows: [Window]

    /// - Throws: `request.bad_field` where a time is not HH:MM or a day not 0…6.
    package init(_ windows: [ScheduleWindow]) throws(TransferError) {
        var parsed: [Window] = []
        for window in windows {
            let days = window.days ?? Array(0...6)
            guard let from = Self.minute(window.from), let to = Self.minute(window.to),
                !days.isEmpty, days.allSatisfy((0...6).contains)
            else {
                throw TransferError(
                    .badField, "schedule: write from and to as HH:MM, and days as numbers from 0 (Sunday) to 6.",
                    details: ["field": "schedule"])
            }
            parsed.append(Window(from: from, to: to, days: Set(days)))
        }
        self.windows = parsed
    }

    /// Without a window there is no restriction.
    package func isOpen(at time: Timestamp, utcOffset: UTCOffset) -> Bool {
        isOpen(localMinute: Self.localMinute(time, utcOffset(time)))
    }

    /// The first minute from `time` on at which a window is open; nil where none ever is.
    ///
    /// Minutes are tried one by one for a week and a day: simple, and right also where the clocks change.
    package func nextOpening(after time: Timestamp, utcOffset: UTCOffset) -> Timestamp? {
        if isOpen(at: time, utcOffset: utcOffset) { return time }
        let minute: Int64 = 60_000
        var candidate = (time.rawValue / minute + 1) * minute
        var offset = utcOffset(Timestamp(milliseconds: candidate))
        for _ in 0..<(8 * 24 * 60) {
            let stamp = Timestamp(milliseconds: candidate)
            // Clocks change on quarters of an hour only.
            if candidate % (15 * minute) == 0 { offset = utcOffset(stamp) }
            if isOpen(localMinute: Self.localMinute(stamp, offset)) { return stamp }
            candidate += minute
        }
        return nil
    }

    private func isOpen(localMinute: Int64) -> Bool {
        if windows.isEmpty { return true }
        let minuteOfDay = Int(localMinute % 1440)
        // 1970-01-01 was a Thursday.
        let day = Int((localMinute / 1440 + 4) % 7)
        return windows.contains { window in
            if window.from < window.to {
                return window.days.contains(day) && (window.from..<window.to).contains(minuteOfDay)
            }
            return (window.days.contains(day) && minuteOfDay >= window.from)
                || (window.days.contains((day + 6) % 7) && minuteOfDay < window.to)
        }
    }

    private static func localMinute(_ time: Timestamp, _ offset: Int) -> Int64 {
        (time.rawValue / 1000 + Int64(offset)) / 60
    }

    private static func minute(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ part in part.utf8.count == 2 && part.utf8.allSatisfy { (48...57).contains($0) } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour <= 23, minute <= 59
        else { return text == "24:00" ? 1440 : nil }
        return hour * 60 + minute
    }
}
