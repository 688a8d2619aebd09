import Testing

@testable import TransferCore

struct CookieOctetsTests {
    private static let samples: [[UInt8]] = [
        [], Array("plain=1".utf8), Array("caf\u{e9}".utf8), [0x63, 0xE9], [0x80, 0xFF], [0xC3], [0xC3, 0x28],
        [0xE2, 0x82], [0xE2, 0x82, 0xAC, 0xE2], [0xF0, 0x9F, 0x98, 0x80], [0xF0, 0x9F, 0x98], [0xED, 0xA0, 0x80],
        // The characters that stand for octets.
        Array("\u{f7e9}".utf8), Array("\u{f780}\u{f7ff}".utf8) + [0xE9],
    ]

    @Test(arguments: samples) func octetsComeBack(octets: [UInt8]) {
        #expect(CookieOctets.octets(of: CookieOctets.text(of: octets)) == octets)
    }

    @Test func utf8StaysText() {
        #expect(CookieOctets.text(of: "a=\u{e9}\u{20ac}".utf8) == "a=\u{e9}\u{20ac}")
        #expect(CookieOctets.text(of: [0x61, 0xE9, 0x62]) == "a\u{f7e9}b")
    }

    /// A name is the same text, whatever the value is.
    @Test func textDependsOnNothingAround() {
        let (name, value): ([UInt8], [UInt8]) = (Array("\u{e9}=".utf8), [0xE9, 0x31])
        #expect(CookieOctets.text(of: name + value) == CookieOctets.text(of: name) + CookieOctets.text(of: value))
    }
}
