import Testing
import TransferModel

@testable import TransferCore

struct ScheduleWindowsTests {
    /// 2026-01-04T00:00:00Z, a Sunday.
    private let sunday: Int64 = 1_767_484_800_000
    private func time(_ day: Int, _ hour: Int, _ minute: Int = 0, _ second: Int = 0) -> Timestamp {
        Timestamp(milliseconds: sunday + Int64(((day * 24 + hour) * 60 + minute) * 60 + second) * 1000)
    }
    private let utc: ScheduleWindows.UTCOffset = { _ in 0 }

    private func windows(_ list: (String, String, [Int]?)...) throws -> ScheduleWindows {
        try ScheduleWindows(
            list.map { from, to, days in
                var window = ScheduleWindow(begin: from, end: to)
                window.days = days
                return window
            })
    }

    /// The cost of a check must not depend on the number of windows: a session with 200 tasks and 150,000 windows would
    /// delay the tasks of everyone.
    @Test func overlappingWindowsAreOneOverMidnightAndTheWeeksEnd() throws {
        let schedule = try windows(
            ("22:00", "02:00", [6]), ("23:00", "01:00", [6]), ("01:30", "24:00", [0]), ("05:00", "05:00", [3]))
        #expect(!schedule.isOpen(at: time(6, 21, 59), utcOffset: utc))
        for (day, hour) in [(6, 22), (6, 23), (0, 0), (0, 1), (0, 2), (0, 23), (3, 5), (3, 23), (4, 4)] {
            #expect(schedule.isOpen(at: time(day, hour), utcOffset: utc), "\(day) \(hour)")
        }
        #expect(!schedule.isOpen(at: time(1, 0), utcOffset: utc))
        #expect(!schedule.isOpen(at: time(4, 5), utcOffset: utc))
        #expect(schedule.nextOpening(after: time(4, 5), utcOffset: utc) == time(6, 22))
        #expect(schedule.isOpen(at: Timestamp(milliseconds: -4 * 86_400_000), utcOffset: utc), "Sunday, 1969-12-28")
    }

    @Test func aPlainWindow() throws {
        let schedule = try windows(("09:00", "17:30", nil))
        #expect(!schedule.isOpen(at: time(0, 8, 59, 59), utcOffset: utc))
        #expect(schedule.isOpen(at: time(0, 9), utcOffset: utc))
        #expect(schedule.isOpen(at: time(0, 17, 29, 59), utcOffset: utc))
        #expect(!schedule.isOpen(at: time(0, 17, 30), utcOffset: utc))
        #expect(schedule.nextOpening(after: time(0, 18), utcOffset: utc) == time(1, 9))
        #expect(schedule.nextOpening(after: time(0, 8, 59, 59), utcOffset: utc) == time(0, 9))
        #expect(schedule.nextOpening(after: time(0, 10, 0, 5), utcOffset: utc) == time(0, 10, 0, 5))
    }

    @Test func aWindowPastMidnightBelongsToTheDayItBegins() throws {
        let schedule = try windows(("22:00", "06:00", [0]))
        #expect(schedule.isOpen(at: time(0, 23), utcOffset: utc))
        #expect(schedule.isOpen(at: time(1, 5, 59), utcOffset: utc))
        #expect(!schedule.isOpen(at: time(1, 6), utcOffset: utc))
        #expect(!schedule.isOpen(at: time(0, 5), utcOffset: utc))
        #expect(!schedule.isOpen(at: time(1, 23), utcOffset: utc))
        #expect(schedule.nextOpening(after: time(1, 6), utcOffset: utc) == time(7, 22))
    }

    @Test func equalEndsMeanAWholeDay() throws {
        let schedule = try windows(("00:00", "00:00", nil))
        #expect(schedule.isOpen(at: time(3, 12), utcOffset: utc))
        #expect(schedule.isOpen(at: time(6, 23, 59), utcOffset: utc))
    }

    @Test func severalWindows() throws {
        let schedule = try windows(("01:00", "02:00", [1]), ("12:00", "13:00", [1, 2]))
        #expect(schedule.nextOpening(after: time(1, 2), utcOffset: utc) == time(1, 12))
        #expect(schedule.nextOpening(after: time(1, 13), utcOffset: utc) == time(2, 12))
    }

    @Test func localTimeCounts() throws {
        let schedule = try windows(("09:00", "10:00", nil))
        #expect(schedule.isOpen(at: time(0, 7, 30), utcOffset: { _ in 2 * 3600 }))
        #expect(schedule.nextOpening(after: time(0, 0), utcOffset: { _ in -19_800 }) == time(0, 14, 30))
    }

    @Test func clocksThatChangeAreFollowed() throws {
        // On the second day at 01:00 UTC the local time jumps from 02:00 to 03:00.
        let change = time(1, 1)
        let offset: ScheduleWindows.UTCOffset = { $0 < change ? 3600 : 7200 }
        let schedule = try windows(("04:00", "05:00", nil))
        #expect(schedule.nextOpening(after: time(0, 12), utcOffset: offset) == time(1, 2))
        let skipped = try windows(("02:15", "02:45", nil))
        #expect(skipped.nextOpening(after: time(0, 12), utcOffset: offset) == time(2, 0, 15))
    }

    @Test func noWindowIsNoRestriction() throws {
        #expect(try ScheduleWindows([]).isOpen(at: time(0, 0), utcOffset: utc))
    }

    @Test(arguments: [
        ("9:00", "10:00"), ("09:00", "24:01"), ("25:00", "01:00"), ("ab:cd", "01:00"), ("", "01:00"),
        ("09:60", "10:00"),
    ])
    func malformedTimesAreRefused(_ from: String, _ to: String) {
        let error = #expect(throws: TransferError.self) { try windows((from, to, nil)) }
        #expect(error?.code == .badField)
    }

    @Test func malformedDaysAreRefused() {
        #expect(throws: TransferError.self) { try windows(("09:00", "10:00", [7])) }
        #expect(throws: TransferError.self) { try windows(("09:00", "10:00", [])) }
    }

    /// Full speed at night, and little by day; at noon on Mondays less.
    @Test func theLowestLimitOfTheOpenWindowsCounts() throws {
        var night = ScheduleWindow(begin: "22:00", end: "06:00")
        night.uploadRateLimit = 0
        var day = ScheduleWindow(begin: "06:00", end: "22:00")
        (day.downloadRateLimit, day.uploadRateLimit) = (500, 90)
        var noon = ScheduleWindow(begin: "12:00", end: "13:00")
        (noon.days, noon.downloadRateLimit, noon.uploadRateLimit) = ([1], 100, 200)
        var weekend = ScheduleWindow(begin: "23:00", end: "23:00")
        (weekend.days, weekend.downloadRateLimit) = ([6], 7)
        let schedule = try ScheduleWindows([night, day, noon, weekend])
        for (when, download, upload) in [
            (time(1, 5, 59), 0, 0), (time(1, 6), 500, 90), (time(1, 12), 100, 90), (time(1, 13), 500, 90),
            (time(2, 12), 500, 90), (time(1, 22), 0, 0), (time(6, 23), 7, 0), (time(0, 22, 59), 7, 0),
            (time(0, 23), 0, 0),
            (time(0, 21), 7, 90),
        ] as [(Timestamp, ByteRate, ByteRate)] {
            let rates = schedule.rates(at: when, utcOffset: utc)
            #expect(rates.download == download && rates.upload == upload, "\(when)")
        }
        #expect(schedule.rates(at: time(1, 5), utcOffset: { _ in 3600 }).download == 500)
        #expect(try ScheduleWindows([]).rates(at: time(0, 0), utcOffset: utc).download == .unlimited)
    }
}
