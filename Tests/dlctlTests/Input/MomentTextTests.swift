import Glibc
import Testing
import TransferModel

@testable import dlctl

@Suite struct MomentTextTests {
    /// 2026-03-10 12:34:56 UTC.
    private let now = Timestamp(milliseconds: 1_773_146_096_000)

    private func local(_ time: Timestamp) -> tm {
        var seconds = time_t(time.rawValue / 1000)
        var result = tm()
        localtime_r(&seconds, &result)
        return result
    }

    @Test func readsRFC3339() throws {
        #expect(Timestamp.typed("2026-03-10T12:34:56Z", now: now) == now)
        #expect(Timestamp.typed("2026-03-10T13:34:56+01:00", now: now) == now)
        #expect(Timestamp.typed("2026-03-10T12:34:56.500Z", now: now)?.rawValue == now.rawValue + 500)
    }

    @Test func relativeOnesCountFromNow() {
        #expect(Timestamp.typed("now", now: now) == now)
        #expect(Timestamp.typed("+30m", now: now) == now.advanced(by: 1800))
        #expect(Timestamp.typed("+2h", now: now) == now.advanced(by: 7200))
        #expect(Timestamp.typed("+90", now: now) == now.advanced(by: 90))
    }

    /// In every time zone: the next such time of day, within 24 hours (25 if a clock went back).
    @Test func timesOfDayAreTheNextOnes() throws {
        for hour in 0..<24 {
            for minute in [0, 5, 34, 59] {
                let text = "\(hour):\(minute < 10 ? "0" : "")\(minute)"
                let moment = try #require(Timestamp.typed(text, now: now))
                #expect(moment > now)
                #expect(moment.since(now) <= Seconds(rawValue: 25 * 3600))
                let shown = local(moment)
                #expect(Int(shown.tm_hour) == hour && Int(shown.tm_min) == minute && shown.tm_sec == 0)
            }
        }
    }

    @Test func tomorrowIsNotToday() throws {
        let today = try #require(Timestamp.typed("today 23:59:59", now: now))
        let tomorrow = try #require(Timestamp.typed("tomorrow 23:59:59", now: now))
        #expect(local(today).tm_yday + 1 == local(tomorrow).tm_yday)
    }

    @Test(arguments: [
        "", "24:00", "12:60", "12", "1234", "12:3:4:5", "-30m", "+", "+x", "yesterday 10:00", "12:", ":30", "1a:00",
        "2026-13-01T00:00:00Z", "2026-01-01", "tomorrow", "١٢:٣٠",
    ])
    func refusesOthers(text: String) {
        #expect(Timestamp.typed(text, now: now) == nil)
    }
}
