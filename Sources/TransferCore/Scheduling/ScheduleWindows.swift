import TransferModel

/// Decides whether a session's time windows are open, when they next open, and which rates they allow.
package struct ScheduleWindows: Sendable, Hashable {
    /// Seconds that local time is ahead of UTC at a point in time; the caller knows about daylight saving.
    package typealias UTCOffset = (Timestamp) -> Int

    private static let minutesOfDay = 1440
    private static let minutesOfWeek = 7 * minutesOfDay

    /// For each minute of the week, beginning on Sunday, whether a window is open; nil if there are no windows. A
    /// lookup costs the same regardless of the number of windows.
    private let openMinutes: [Bool]?

    /// A window with a rate limit. Times are minutes of the week.
    private struct Limited: Sendable, Hashable {
        var beginnings: [Int]
        var length: Int
        var download: ByteRate?
        var upload: ByteRate?

        func isOpen(_ minute: Int) -> Bool {
            beginnings.contains { (minute - $0 + minutesOfWeek) % minutesOfWeek < length }
        }
    }

    private let limited: [Limited]

    /// - Throws: `request.bad_field` if a time is not HH:MM or a day not 0…6.
    package init(_ windows: [ScheduleWindow]) throws(TransferError) {
        // How many more windows are open from each minute on.
        var changes = [Int](repeating: 0, count: Self.minutesOfWeek + 1)
        var limited: [Limited] = []
        for window in windows {
            let days = Set(window.days ?? Array(0...6))
            guard let begin = Self.minute(window.begin), let end = Self.minute(window.end),
                !days.isEmpty, days.allSatisfy((0...6).contains)
            else {
                throw TransferError.bad(
                    "schedule", "write begin and end as HH:MM, and days as numbers from 0 (Sunday) to 6.")
            }
            if window.limitsRates {
                limited.append(
                    Limited(
                        beginnings: days.map { $0 * Self.minutesOfDay + begin },
                        length: begin < end ? end - begin : Self.minutesOfDay - begin + end,
                        download: window.downloadRateLimit, upload: window.uploadRateLimit))
            }
            for day in days {
                let start = day * Self.minutesOfDay
                changes[start + begin] += 1
                if begin < end {
                    changes[start + end] -= 1
                } else {
                    // Past midnight, into the next day.
                    let next = (day + 1) % 7 * Self.minutesOfDay
                    changes[start + Self.minutesOfDay] -= 1
                    changes[next] += 1
                    changes[next + end] -= 1
                }
            }
        }
        self.limited = limited
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
        openMinutes?[Self.minuteOfWeek(localMinute)] ?? true
    }

    /// The lowest limits of the windows that are open.
    package func rates(at time: Timestamp, utcOffset: UTCOffset) -> (download: ByteRate, upload: ByteRate) {
        let minute = limited.isEmpty ? 0 : Self.minuteOfWeek(Self.localMinute(time, utcOffset(time)))
        let open = limited.filter { $0.isOpen(minute) }
        return (.lowest(of: open.map(\.download)), .lowest(of: open.map(\.upload)))
    }

    private static func minuteOfWeek(_ localMinute: Int64) -> Int {
        let week = Int64(minutesOfWeek)
        // 1970-01-01 was a Thursday.
        let minute = (localMinute + 4 * Int64(minutesOfDay)) % week
        return Int(minute < 0 ? minute + week : minute)
    }

    private static func localMinute(_ time: Timestamp, _ offset: Int) -> Int64 {
        (time.rawValue / 1000 + Int64(offset)) / 60
    }

    private static func minute(_ text: String) -> Int? {
        SpecRules.minutes(text) ?? (text == "24:00" ? 1440 : nil)
    }
}
