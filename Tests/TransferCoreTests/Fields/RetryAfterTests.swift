import Testing
import TransferModel

@testable import TransferCore

struct RetryAfterTests {
    private let now = Timestamp(milliseconds: 784_111_777_000)

    @Test(arguments: [
        ("0", 1.0), ("1", 1), (" 120 ", 120), ("86401", 86_400), ("99999999999999999999", 86_400),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sun, 06 Nov 1994 08:00:00 GMT", 1),
        ("Sun, 06 Nov 2094 08:00:00 GMT", 86_400),
    ])
    func clamped(_ text: String, _ seconds: Double) {
        #expect(RetryAfter.parse(text, now: now) == Seconds(seconds))
    }

    @Test(arguments: ["", "-5", "1.5", "soon", "5 s"])
    func refuses(_ text: String) {
        #expect(RetryAfter.parse(text, now: now) == nil)
    }

    /// RFC 9110 section 5.6.3: only spaces and tabs are blanks, whatever characters follow them.
    @Test(arguments: [
        ("", ""), (" ", ""), (" \t ", ""), ("a", "a"), ("\t a b\t", "a b"), ("  é ", "é"),
        ("\u{A0}a\u{A0}", "\u{A0}a\u{A0}"),
        ("a\n", "a\n"), (" \u{301}a", "\u{301}a"),
    ])
    func blanksAreTrimmed(_ text: String, _ rest: String) {
        #expect(Array(text.trimmed.utf8) == Array(rest.utf8))
        #expect(Array("<\(text)>".dropFirst().dropLast().trimmed.utf8) == Array(rest.utf8))
    }
}
