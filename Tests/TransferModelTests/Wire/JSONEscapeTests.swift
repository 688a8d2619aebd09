import Testing

@testable import TransferModel

@Suite struct JSONEscapeTests {
    /// The search looks at eight bytes together. It must miss no byte at the end of a text or between two steps.
    @Test(arguments: 0...26) func everyByteIsEscapedWhereverItStands(length: Int) {
        var wrong: [[UInt8]] = []
        for place in 0..<max(1, length) {
            for byte in UInt8(0)..<128 {
                var text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                if length > 0 { text[place] = byte }
                var quoted: [UInt8] = []
                JSONEscape.quote(String(decoding: text, as: UTF8.self), into: &quoted)
                if quoted != Array("\"".utf8) + text.flatMap(escaped) + Array("\"".utf8) { wrong.append(text) }
            }
        }
        #expect(wrong.isEmpty)
    }

    private func escaped(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
        case 0..<0x20: Array("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
        default: [byte]
        }
    }

    @Test func otherScriptsStayAsTheyAre() {
        var quoted: [UInt8] = []
        JSONEscape.quote("äöü €𝄞 and more", into: &quoted)
        #expect(String(decoding: quoted, as: UTF8.self) == "\"äöü €𝄞 and more\"")
    }
}
