import Testing
import TransferModel

@testable import TransferCore

/// RFC 6265bis section 5.1.1.
struct CookieDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "6 november 1994 8:49:37", "08:49:37 06 Nov 94", "1994 6 nov 8:49:37 PST", "06-Nov-1994-08:49:37",
        "6th Nov 1994 08:49:37.5", "06 Nov 1994 08:49:37 2001", "\u{e9} 06 Nov 1994 08:49:37",
    ])
    func findsTheDate(_ text: String) {
        #expect(HTTPDate.ofCookie(text) == Timestamp(milliseconds: 784_111_777_000))
    }

    /// Years of two digits are between 1970 and 2069 (steps 3 and 4).
    @Test(arguments: [("70", "1970"), ("99", "1999"), ("00", "2000"), ("69", "2069"), ("1601", "1601")])
    func yearsOfTwoDigits(short: String, long: String) {
        #expect(HTTPDate.ofCookie("1 Feb \(short) 00:00:00") == Timestamp("\(long)-02-01T00:00:00Z"))
    }

    /// The first number of two digits is the day, so the remaining one is the year.
    @Test(arguments: [
        "", "yesterday", "06 Nov 1994", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37",
        "32 Nov 1994 08:49:37",
        "30 Feb 2024 00:00:00", "29 Feb 2023 00:00:00", "0 Nov 1994 08:49:37", "06 Nov 1600 08:49:37",
        "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "06 Nov 1994 08:49",
        "06 Nov 10000 08:49:37",
        "006 Nov 1994 08:49:37", "06 Nov 1994 008:49:37",
    ])
    func refuses(_ text: String) {
        #expect(HTTPDate.ofCookie(text) == nil)
    }
}
