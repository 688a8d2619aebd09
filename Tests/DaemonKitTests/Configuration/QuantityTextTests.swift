import Testing

@testable import DaemonKit

@Suite struct QuantityTextTests {
    @Test(
        arguments: [
            ("0", 0), ("500", 500), ("500k", 512_000), ("2M", 2 << 20), ("1.5G", 3 << 29), ("1T", 1 << 40),
            ("3K", 3072),
        ] as [(String, Int64)])
    func sizesAreReadInPowersOf1024(text: String, bytes: Int64) {
        #expect(QuantityText.bytes(text) == bytes)
    }

    @Test(arguments: ["", "k", "-5k", "1e9", "0x10", "nan", "1.5", "5 M", "1..5k", "99999999999T", "5X"])
    func otherTextIsNoSize(text: String) {
        #expect(QuantityText.bytes(text) == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("1.5", 1.5), ("500ms", 0.5), ("90s", 90), ("15m", 900), ("12h", 43200), ("30d", 2_592_000),
            ("2w", 1_209_600),
        ] as [(String, Double)])
    func timesAreReadWithTheirUnit(text: String, seconds: Double) {
        #expect(QuantityText.seconds(text) == seconds)
    }

    @Test(arguments: ["", "s", "-1", "inf", "1y", "1h30m", "5 s"])
    func otherTextIsNoTime(text: String) {
        #expect(QuantityText.seconds(text) == nil)
    }

    @Test(arguments: [0, 1, 1023, 1024, 1536, 1 << 20, 3 << 30, (1 << 40) + 1] as [Int64])
    func sizesAreWrittenAsTheyAreRead(bytes: Int64) {
        #expect(QuantityText.bytes(QuantityText.text(bytes: bytes)) == bytes)
    }

    @Test(arguments: [0, 0.05, 0.5, 1, 59, 60, 90, 3600, 86400, 604_800, 2_592_000])
    func timesAreWrittenAsTheyAreRead(seconds: Double) {
        #expect(QuantityText.seconds(QuantityText.text(seconds: seconds)) == seconds)
    }
}
