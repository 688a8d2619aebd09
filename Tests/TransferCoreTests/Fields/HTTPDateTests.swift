import Testing

@testable import TransferCore

struct HTTPDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "sun, 06 nov 1994 08:49:37 gmt", "Sun, 06-Nov-1994 08:49:37 GMT",
    ])
    func threeFormats(_ text: String) {
        #expect(HTTPDate.parse(text) == 784_111_777)
    }

    /// Only exact dates count where an invalid one has a meaning of its own (RFC 9111 section 5.3).
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", true), ("Sunday, 06-Nov-94 08:49:37 GMT", true),
        ("Sun Nov  6 08:49:37 1994", true), ("Sun Nov 16 08:49:37 1994", true),
        ("Sun, 06 Nov 1994 08:49:37 UTC", false),
        ("Sun 06 Nov 1994 08:49:37 GMT", false), ("Sun, 6 Nov 1994 08:49:37 GMT", false),
        ("Sun, 06 Nov 1994 8:49:37 GMT", false), ("Sun,  06 Nov 1994 08:49:37 GMT", false),
        ("Sun, 06-Nov-1994 08:49:37 GMT", false), ("Sun, 06-Nov-94 08:49:37 GMT", false), ("", false),
    ])
    func exactFormats(_ text: String, isExact: Bool) { #expect(HTTPDate.isExact(text) == isExact) }

    @Test(arguments: [
        "", "yesterday", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "784111777",
        "0", "Su\rn, 06 Nov 1994 08:49:37 GMT", "\u{1}, 06 Nov 1994 08:49:37 GMT",
    ])
    func refuses(_ text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test func formatsAndParsesBack() {
        #expect(HTTPDate.format(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.format(951_782_400) == "Tue, 29 Feb 2000 00:00:00 GMT")
        var generator = SeededGenerator(state: 11)
        for _ in 0..<2000 {
            let seconds = Int64.random(in: -60_000_000_000...200_000_000_000, using: &generator)
            #expect(HTTPDate.parse(HTTPDate.format(seconds)) == seconds)
        }
    }
}
