import TransferModel

/// Decides whether a session's time windows are open, and when they next open.
package struct ScheduleWindows: Sendable, Hashable {
    /// Seconds that local time is ahead of UTC at a point in time; the caller knows about daylight saving.
    package typealias UTCOffset = (Timestamp) -> Int

    private static let minutesOfDay = 1440
    private static let minutesOfWeek = 7 * minutesOfDay

    /// For each minute of the week, beginning on Sunday, whether a window is open; nil if there are no windows. A
    /// lookup costs the same regardless of the number of windows.
    private let openMinutes: [Bool]?

    /// - Throws: `request.bad_field` if a time is not HH:MM or a day not 0…6.
    package init(_ windows: [ScheduleWindow]) throws(TransferError) {
        // How many more windows are open from each minute on.
        var changes = [Int](repeating: 0, count: Self.minutesOfWeek + 1)
        for window in windows {
            let days = Set(window.days ?? Array(0...6))
            guard let from = Self.minute(window.from), let to = Self.minute(window.to),
                !days.isEmpty, days.allSatisfy((0...6).contains)
            else {
                throw TransferError.bad(
                    "schedule", "write from and to as HH:MM, and days as numbers from 0 (Sunday) to 6.")
            }
            for day in days {
                let start = day * Self.minutesOfDay
                changes[start + from] += 1
                if from < to {
                    changes[start + to] -= 1
                } else {
                    // Past midnight, into the next day.
                    let next = (day + 1) % 7 * Self.minutesOfDay
                    changes[start + Self.minutesOfDay] -= 1
                    changes[next] += 1
                    changes[next + to] -= 1
                }
            }
        }
        guard !windows.isEmpty else {
            openMinutes = nil
            return
        }
        var open = 0
        openMinutes = changes.dropLast().map { change in
            open += change
            return open > 0
        }
    }

    /// Without a window there is no restriction.
    package func isOpen(at time: Timestamp, utcOffset: UTCOffset) -> Bool {
        isOpen(localMinute: Self.localMinute(time, utcOffset(time)))
    }

    /// The first minute from `time` on at which a window is open; nil if none ever is.
    ///
    /// Tries the minutes one by one for a week and a day: simple, and correct even when the clocks change.
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
        guard let openMinutes else { return true }
        let week = Int64(Self.minutesOfWeek)
        // 1970-01-01 was a Thursday.
        let minute = (localMinute + 4 * Int64(Self.minutesOfDay)) % week
        return openMinutes[Int(minute < 0 ? minute + week : minute)]
    }

    private static func localMinute(_ time: Timestamp, _ offset: Int) -> Int64 {
        (time.rawValue / 1000 + Int64(offset)) / 60
    }

    private static func minute(_ text: String) -> Int? {
        SpecRules.minutes(text) ?? (text == "24:00" ? 1440 : nil)
    }
}
