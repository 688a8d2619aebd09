import Testing

@testable import TransferModel

@Suite struct PrintableTests {
    @Test func escapeSequencesAreDisarmed() {
        #expect(Printable.text("a\u{1B}[2Jb") == "a\u{FFFD}[2Jb")
        #expect(Printable.text("a\r\nb") == "a\u{FFFD}\u{FFFD}b")
        #expect(Printable.text("\u{9B}31m") == "\u{FFFD}31m")
        #expect(Printable.text("exe\u{202E}gpj") == "exe\u{FFFD}gpj")
    }

    @Test func linesKeepTheirTabs() {
        #expect(Printable.lines("a\tb\u{9B}2J\n\tc\u{202E}\n") == "a\tb\u{FFFD}2J\n\tc\u{FFFD}\n")
    }

    @Test func jsonKeepsItsValue() throws {
        let text = "a\u{9B}31m\u{7F}\u{85}\u{202E}é日😀\u{E0041}"
        let json = Printable.json(
            String(decoding: JSONCoding.canonical(["x": .string(text)] as JSONValue), as: UTF8.self))
        #expect(json == #"{"x":"a\u009b31m\u007f\u0085\u202eé日😀\udb40\udc41"}"#)
        #expect((try JSONCoding.decode(JSONValue.self, from: Array(json.utf8)))["x"]?.stringValue == text)
    }

    @Test func ordinaryTextStays() {
        for text in ["", "file.iso", "日本語", "naïve café", "😀"] { #expect(Printable.text(text) == text) }
    }
}
