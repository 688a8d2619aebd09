import Foundation
import Testing

@testable import TransferModel

struct PlainTimeTests {
    private func formatted(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: (Double(milliseconds) + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    @Test func writesWhatTheFormatterWrites() {
        var generator = SystemRandomNumberGenerator()
        let edges: [Int64] = [
            0, -1, 1, 86_399_999, 86_400_000, 951_782_400_000, 951_868_800_000, 4_107_542_400_000, -86_400_001,
            253_402_300_799_999,
        ]
        let random = (0..<2000).map { _ in
            Int64.random(in: -11_600_000_000_000...253_402_300_799_999, using: &generator)
        }
        for time in edges + random {
            #expect(PlainTime.text(time) == formatted(time))
            #expect(PlainTime.text(time).flatMap(PlainTime.parse) == time)
        }
        #expect(PlainTime.text(.max) == nil)
        #expect(PlainTime.text(.min) == nil)
    }

    @Test(arguments: [
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-32T00:00:00Z",
        "2026-04-31T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00+01:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00.0000Z", "2026-01-01T00:00:00.00Z",
        "2026-01-01T00:00:0aZ", "", "Z",
    ])
    func leavesOtherFormsAlone(text: String) {
        #expect(PlainTime.parse(text) == nil)
    }

    @Test func leapDaysExist() {
        #expect(PlainTime.parse("2028-02-29T23:59:59.999Z").flatMap(PlainTime.text) == "2028-02-29T23:59:59.999Z")
        #expect(PlainTime.parse("2000-02-29T00:00:00Z") == 951_782_400_000)
        #expect(PlainTime.parse("2100-02-29T00:00:00Z") == nil)
    }
}
