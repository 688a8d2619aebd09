import CLinux
import Testing

@Suite struct CRC32CTests {
    private func crc(_ bytes: some Collection<UInt8>, after crc: UInt32 = 0) -> UInt32 {
        Array(bytes).withUnsafeBytes { dld_crc32c(crc, $0.baseAddress, $0.count) }
    }

    /// The vectors of RFC 3720 appendix B.4.
    @Test func matchesThePublishedVectors() {
        #expect(crc(Array("123456789".utf8)) == 0xE306_9283)
        #expect(crc([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(crc([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(crc([]) == 0)
    }

    @Test(arguments: [1, 7, 8, 9, 4095, 24575, 24576, 24577, 100_003])
    func theInstructionAgreesWithPortableCode(count: Int) {
        let bytes = pattern(count)
        let portable = bytes.withUnsafeBytes { dld_crc32c_portable(0, $0.baseAddress, $0.count) }
        #expect(crc(bytes) == portable)
    }

    @Test(arguments: [0, 1, 1000, 99_999])
    func aSuffixHasItsOwnChecksum(split: Int) {
        let bytes = pattern(100_000)
        let head = crc(bytes[..<split])
        let whole = crc(bytes[split...], after: head)
        #expect(whole == crc(bytes))
        #expect(dld_crc32c_suffix(head, whole, UInt64(100_000 - split)) == crc(bytes[split...]))
    }
}
