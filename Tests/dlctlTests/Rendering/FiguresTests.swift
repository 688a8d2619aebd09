import Testing
import TransferModel

@testable import dlctl

@Suite struct FiguresTests {
    @Test(
        arguments: [
            (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (10_240, "10.0 KiB"),
            (102_348, "99.9 KiB"), (102_400, "100 KiB"), (1_048_063, "1023 KiB"), (1_048_575, "1.0 MiB"),
            (1 << 20, "1.0 MiB"), (3 << 29, "1.5 GiB"),
            (1 << 40, "1.0 TiB"), (Int64.max, "8.0 EiB"), (-5, "0 B"),
        ] as [(Int64, String)])
    func bytes(count: Int64, text: String) {
        #expect(Figures.bytes(ByteCount(count)) == text)
    }

    /// No size is wider than its column.
    @Test func sizesFitTheirColumn() {
        for shift in 0..<63 {
            for delta in [-1, 0, 1] as [Int64] {
                let value = (Int64(1) << shift) + delta
                #expect(Figures.bytes(ByteCount(value)).count <= 9)
                #expect(Figures.rate(ByteRate(value)).count <= TaskLine.Columns.rateWidth)
            }
        }
    }

    @Test(arguments: [
        (0, "0s"), (0.4, "0s"), (59, "59s"), (60, "1m 00s"), (200, "3m 20s"), (3599, "59m 59s"), (3600, "1h 00m"),
        (7500, "2h 05m"), (86400, "1d 0h"), (370_800, "4d 7h"), (-3, "0s"),
        (31_536_000, "1y 0d"), (3_153_500_000, "99y 363d"), (251_606_800_000, "over 100 years"),
        (Double.infinity, "over 100 years"), (Double.nan, "over 100 years"),
    ])
    func durations(seconds: Double, text: String) {
        #expect(Figures.duration(Seconds(rawValue: seconds)) == text)
    }

    @Test func percentIsHundredOnlyAtTheEnd() {
        #expect(Figures.percent(0, of: 100) == 0)
        #expect(Figures.percent(ByteCount(999_999), of: ByteCount(1_000_000)) == 99)
        #expect(Figures.percent(100, of: 100) == 100)
        #expect(Figures.percent(101, of: 100) == 100)
        #expect(Figures.percent(1, of: 0) == nil)
        #expect(Figures.percent(ByteCount(Int64.max - 1), of: ByteCount(Int64.max)) == 99)
    }

    @Test func agesHaveOneUnit() {
        #expect(Figures.age(5) == "5s")
        #expect(Figures.age(200) == "3m")
        #expect(Figures.age(Seconds(rawValue: 400_000)) == "4d")
        #expect(Figures.age(Seconds(rawValue: 400_000_000)) == "12y")
        #expect(Figures.age(Seconds(rawValue: 400_000_000_000)) == ">100y")
    }

    @Test func counts() {
        #expect(Figures.count(1, "task") == "1 task")
        #expect(Figures.count(0, "task") == "0 tasks")
        #expect(Figures.took(0.25) == "0.3s" || Figures.took(0.25) == "0.2s")
        #expect(Figures.took(75) == "1m 15s")
    }
}
