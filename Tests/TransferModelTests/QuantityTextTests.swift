import Testing

@testable import TransferModel

@Suite struct QuantityTextTests {
    @Test(
        arguments: [
            ("0", 0), ("none", 0), ("unlimited", 0), ("1", 1), ("1024", 1024), ("500k", 512_000), ("500K", 512_000),
            ("2M", 2 << 20), ("2MB", 2 << 20), ("2MiB", 2 << 20), ("2M/s", 2 << 20), ("2MiB/s", 2 << 20),
            ("1.5G", 3 << 29), ("0.5k", 512), ("1T", 1 << 40), ("8P", 8 << 50), ("100b", 100), ("7.0k", 7168),
        ] as [(String, Int64)])
    func readsSizes(text: String, bytes: Int64) {
        #expect(QuantityText.bytes(text) == bytes)
    }

    @Test(arguments: [
        "", " ", "k", "M", "-1", "-1k", "+5", "1.5", "1..5k", ".5k", "5.k", "1e3", "1k5", "0x10", "5 k", "k5", "1Q",
        "١٢", "99999999999999999999", "9000000000000000000k", "8192P", "nan", "inf", "/s", "b",
    ])
    func refusesOthers(text: String) {
        #expect(QuantityText.bytes(text) == nil)
    }

    @Test(arguments: [
        ("0", 0), ("90", 90), ("90s", 90), ("1.5", 1.5), ("0.5s", 0.5), ("5m", 300), ("2h", 7200), ("7d", 604_800),
        ("1w", 604_800), ("1h30m", 5400), ("1d2h3m4s", 93784), ("500ms", 0.5), ("1s250ms", 1.25),
    ])
    func readsDurations(text: String, seconds: Double) {
        #expect(QuantityText.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", "m", "5x", "5mm", "5sm", "5ms1s", "30m1h", "99999999999999999999", "99999999999w", "1h1h", "-5m", "1h30",
        "5 m", "1e3",
        "+5m",
    ])
    func refusesOtherDurations(text: String) {
        #expect(QuantityText.seconds(text) == nil)
    }

    @Test(arguments: [0, 1, 1023, 1024, 1536, 1 << 20, 3 << 30, (1 << 40) + 1, 5 << 50] as [Int64])
    func sizesAreWrittenAsTheyAreRead(bytes: Int64) {
        #expect(QuantityText.bytes(QuantityText.text(bytes: bytes)) == bytes)
    }

    @Test(arguments: [0, 0.05, 0.5, 1, 59, 60, 90, 3600, 86400, 604_800, 2_592_000])
    func timesAreWrittenAsTheyAreRead(seconds: Double) {
        #expect(QuantityText.seconds(QuantityText.text(seconds: seconds)) == seconds)
    }

    @Test func theLongestUnitThatFitsIsWritten() {
        #expect([512, 3072, 3 << 29, 1 << 50].map(QuantityText.text(bytes:)) == ["512", "3k", "1536M", "1P"])
        #expect([0.05, 90, 120, 7200, 604_800].map(QuantityText.text(seconds:)) == ["50ms", "90s", "2m", "2h", "7d"])
    }
}
