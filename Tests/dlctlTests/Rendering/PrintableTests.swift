import Testing

@testable import dlctl

@Suite struct PrintableTests {
    @Test func escapeSequencesAreDisarmed() {
        #expect(Printable.text("a\u{1B}[2Jb") == "a\u{FFFD}[2Jb")
        #expect(Printable.text("a\r\nb") == "a\u{FFFD}\u{FFFD}b")
        #expect(Printable.text("\u{9B}31m") == "\u{FFFD}31m")
        #expect(Printable.text("exe\u{202E}gpj") == "exe\u{FFFD}gpj")
    }

    @Test func ordinaryTextStays() {
        for text in ["", "file.iso", "日本語", "naïve café", "😀"] { #expect(Printable.text(text) == text) }
    }
}
