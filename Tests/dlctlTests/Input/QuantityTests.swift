import Testing
import TransferModel

@testable import dlctl

@Suite struct QuantityTests {
    @Test(
        arguments: [
            ("0", 0), ("none", 0), ("unlimited", 0), ("1", 1), ("1024", 1024), ("500k", 512_000), ("500K", 512_000),
            ("2M", 2 << 20), ("2MB", 2 << 20), ("2MiB", 2 << 20), ("2M/s", 2 << 20), ("2MiB/s", 2 << 20),
            ("1.5G", 3 << 29), ("0.5k", 512), ("1T", 1 << 40), ("8P", 8 << 50), ("100b", 100), ("7.0k", 7168),
        ] as [(String, Int64)])
    func readsSizes(text: String, bytes: Int64) {
        #expect(Quantity.bytes(text) == bytes)
    }

    @Test(arguments: [
        "", " ", "k", "M", "-1", "-1k", "+5", "1.5", "1..5k", ".5k", "5.k", "1e3", "1k5", "0x10", "5 k", "k5", "1Q",
        "١٢", "99999999999999999999", "9000000000000000000k", "8192P", "nan", "inf", "/s", "b",
    ])
    func refusesOthers(text: String) {
        #expect(Quantity.bytes(text) == nil)
    }

    @Test func ratesAreBytesPerSecond() {
        #expect(Quantity.rate("500k") == ByteRate(512_000))
        #expect(Quantity.rate("none")?.isUnlimited == true)
    }

    @Test(arguments: [
        ("0", 0), ("90", 90), ("90s", 90), ("1.5", 1.5), ("0.5s", 0.5), ("5m", 300), ("2h", 7200), ("7d", 604_800),
        ("1w", 604_800), ("1h30m", 5400), ("1d2h3m4s", 93784), ("500ms", 0.5), ("1s250ms", 1.25),
    ])
    func readsDurations(text: String, seconds: Double) {
        #expect(DurationText.seconds(text) == Seconds(rawValue: seconds))
    }

    @Test(arguments: [
        "", "m", "5x", "5mm", "5sm", "5ms1s", "30m1h", "99999999999999999999", "99999999999w", "1h1h", "-5m", "1h30",
        "5 m", "1e3",
        "+5m",
    ])
    func refusesOtherDurations(text: String) {
        #expect(DurationText.seconds(text) == nil)
    }
}
