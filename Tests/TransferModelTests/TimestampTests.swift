import Foundation
import Testing
import TransferModel

struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:01.500Z", 1500), ("2026-01-31T08:00:00Z", 1_769_846_400_000),
        ("2026-01-31T09:00:00+01:00", 1_769_846_400_000), ("2024-02-29T00:00:00Z", 1_709_164_800_000),
    ])
    func parses(_ text: String, _ milliseconds: Int64) {
        #expect(Timestamp(text)?.rawValue == milliseconds)
    }

    @Test(arguments: [
        "", "today", "2026-01-31", "2026-13-01T00:00:00Z", "1769846400", "2026-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-01-00T00:00:00Z", "2026-01-31T24:00:00Z", "10000-01-01T00:00:00Z",
    ])
    func refuses(_ text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func printsMillisecondsInUTC() {
        #expect(Timestamp(milliseconds: 1_769_846_400_007).description == "2026-01-31T08:00:00.007Z")
    }

    @Test func everyMillisecondSurvivesTheWire() throws {
        for offset in 0..<1000 {
            let time = Timestamp(milliseconds: 1_769_846_400_000 + Int64(offset))
            let again = try JSONCoding.decode([Timestamp].self, from: JSONCoding.encode([time]))
            #expect(again == [time])
        }
    }

    /// A date that a request accepts must be readable after it is stored.
    @Test(arguments: [
        "9999-12-31T23:59:60Z", "9999-12-31T23:59:59.9995Z", "9999-12-31T23:59:59.9999Z", "9999-12-31T23:30:00-01:00",
        "9999-12-31T23:59:59.9994Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00",
        "0000-12-31T23:59:59Z", "0000-12-31T23:59:59-01:00", "1599-12-31T23:59:59.5Z", "1582-10-10T00:00:00Z",
        "2016-12-31T23:59:60Z",
    ])
    func whatIsReadCanBeWrittenAndReadAgain(_ text: String) {
        guard let time = Timestamp(text) else { return #expect(!text.hasPrefix("0001-01-01T00:00:00Z"), "\(text)") }
        #expect(Timestamp(time.description) == time, "\(text) became \(time)")
    }

    @Test func timesOutOfReachAreRefused() {
        for text in ["9999-12-31T23:59:60Z", "9999-12-31T23:59:59.9995Z", "9999-12-31T23:30:00-01:00"] {
            #expect(Timestamp(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [Int64.min, -62_135_769_600_001, 253_402_300_800_000, .max])
    func timesThatNobodyCanWriteAreTheNearestOnes(_ milliseconds: Int64) throws {
        let text = Timestamp(milliseconds: milliseconds).description
        #expect(text == (milliseconds < 0 ? "0001-01-01T00:00:00.000Z" : "9999-12-31T23:59:59.999Z"))
        #expect(Timestamp(text) != nil)
    }

    @Test func arithmetic() {
        let time = Timestamp(milliseconds: 1000)
        #expect(time.advanced(by: 1.5) == Timestamp(milliseconds: 2500))
        #expect(time.since(Timestamp(milliseconds: 3000)) == -2)
    }
}
