import Testing

@testable import dlctl

struct FetchedBodyTests {
    @Test(
        arguments: [
            ([0x61, 0x0A], nil, false), ([0x61, 0x00], "text/plain", true), ([], nil, false),
            // UTF-8, even if the last character is cut.
            ([0xC3, 0xBC], nil, false), ([0x61, 0xE2, 0x82], "application/json", false),
            // Latin-1 is text only if the server says so.
            ([0xFC, 0x62], "text/html", false), ([0xFC, 0x62], "image/png", true), ([0xFC, 0x62], nil, true),
        ] as [([UInt8], String?, Bool)])
    func textGoesToATerminal(bytes: [UInt8], type: String?, isBinary: Bool) {
        #expect(FetchedBody.isBinary(bytes, type: type) == isBinary)
    }

    @Test func aTerminalIsShownNothingThatItObeys() {
        var text = TerminalText()
        let pieces = ["a\u{1B}]0;t\u{7}\tü\r\n".utf8.map(\.self), [0x7F, 0xC2], [0x9B, 0x32, 0x4A]]
        let shown = pieces.flatMap { text.harmless($0) }
        #expect(String(validating: shown, as: UTF8.self) == "a?]0;t?\tü\r\n?¿2J")
    }
}
