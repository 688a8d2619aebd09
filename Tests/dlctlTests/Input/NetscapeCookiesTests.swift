import Testing
import TransferModel

@testable import dlctl

struct NetscapeCookiesTests {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    private func parse(_ text: String) -> NetscapeCookies.Contents { NetscapeCookies.parse(text, at: Self.now) }

    /// A value is never changed silently, and a byte order mark belongs to no domain.
    @Test func whatIsNotUTF8IsRefused() {
        let line = Array("a.org\tFALSE\t/\tFALSE\t0\tname\t".utf8)
        let text = [0xEF, 0xBB, 0xBF] + line + Array("v\n".utf8) + line + [0x61, 0xE9, 0xFF, 10]
        let contents = NetscapeCookies.parse(text, at: Self.now)
        #expect(contents.cookies == [Cookie(name: "name", value: "v", domain: "a.org")])
        #expect(contents.refusals.map(\.line) == [2] && contents.refusals.first?.name == "name")
    }

    @Test func readsWhatCurlWrites() {
        let contents = parse(
            """
            # Netscape HTTP Cookie File
            # https://curl.se/docs/http-cookies.html

            a.org\tFALSE\t/\tFALSE\t0\tname\tvalue
            #HttpOnly_.B.org\tTRUE\t/x\tTRUE\t2000000000\tk\ta=b c\r
            .c.org\tTRUE\t/\tFALSE\t0\tempty\t
            .c.org\tTRUE\t/\tFALSE\t0\tshort
            """)
        #expect(contents.refusals.isEmpty)
        #expect(
            contents.cookies == [
                Cookie(name: "name", value: "value", domain: "a.org"),
                Cookie(
                    name: "k", value: "a=b c", domain: "b.org", path: "/x",
                    expires: Timestamp(milliseconds: 2_000_000_000_000),
                    secure: true, httpOnly: true, hostOnly: false),
                Cookie(name: "empty", value: "", domain: "c.org", hostOnly: false),
                Cookie(name: "short", value: "", domain: "c.org", hostOnly: false),
            ])
    }

    @Test(arguments: [
        ("a.org", "1 field;"), ("\tFALSE\t/\tFALSE\t0\tn\tv", "domain"),
        ("a.org\tYES\t/\tFALSE\t0\tn\tv", "TRUE or FALSE"), ("a.org\tTRUE\t/", "3 fields"),
        ("a.org\tTRUE\t/\tFALSE\tsoon\tn\tv", "time"), ("a.org\tTRUE\t/\tFALSE\t1\tn\tv", "expired"),
        ("a.org\tTRUE\t/\tFALSE\t1e300\tn\tv", "time"), ("a.org\tTRUE\t/\tFALSE\tnan\tn\tv", "time"),
    ])
    func saysWhyACookieIsNotRead(line: String, why: String) throws {
        let contents = parse("\n" + line + "\nb.org\tFALSE\t/\tFALSE\t0\tn\tv\n")
        #expect(contents.cookies.map(\.domain) == ["b.org"])
        let refusal = try #require(contents.refusals.first)
        #expect(refusal.line == 2 && refusal.why.contains(why), "\(refusal)")
    }

    /// curl writes the greatest number that it has for a cookie that never ends.
    @Test(arguments: [
        "253402300799", "253402300800", "13350000000000000", "9223372036854775807", "99999999999999999999",
        "0099999999999999999999", String(repeating: "9", count: 400),
    ])
    func anEndBeyondTheCalendarIsItsLastSecond(seconds: String) {
        let contents = parse("a.org\tFALSE\t/\tFALSE\t\(seconds)\tn\tv")
        #expect(contents.refusals.isEmpty)
        #expect(contents.cookies.map(\.expires) == [Timestamp(milliseconds: 253_402_300_799_000)])
        #expect(parse(NetscapeCookies.text(contents.cookies)).cookies == contents.cookies)
    }

    /// The refusal names the cookie and its line.
    @Test func refusalsNameTheCookie() {
        let contents = parse("b.org\tFALSE\t/\tFALSE\t0\tn\tv\n\na.org\tTRUE\t/\tFALSE\t1\told\tv\nx\n")
        #expect(contents.lines == [1])
        #expect(contents.refusals.map(\.line) == [3, 4] && contents.refusals.map(\.name) == ["old", nil])
        #expect(!contents.isOther && parse("<html>\n<body>\n").isOther && !parse("# nothing\n").isOther)
        #expect(!parse("a.org\tTRUE\t/\tFALSE\t1\told\tv\n").isOther)
    }

    /// Whatever characters begin a line or a name.
    @Test(arguments: [
        ".#a.org", "#HttpOnly_.#a.org", "\u{301}a.org", ".\u{301}a.org", "#HttpOnly_\u{301}a.org", "#\u{301}a.org",
    ])
    func oddNamesAreReadBackOrRefused(domain: String) {
        for names in ["TRUE", "FALSE"] {
            let read = parse("\(domain)\t\(names)\t/\tFALSE\t0\tk\tv")
            let again = parse(NetscapeCookies.text(read.cookies))
            #expect(again.cookies == read.cookies && again.refusals.isEmpty, "\(names)")
        }
    }

    @Test func whatIsWrittenIsReadBack() {
        let cookies = [
            Cookie(name: "", value: "v", domain: "a.org"),
            Cookie(
                name: "n", value: "v", domain: "b.org", path: "/x", expires: Timestamp(milliseconds: 1_800_000_000_000),
                secure: true, httpOnly: true, hostOnly: false),
        ]
        #expect(parse(NetscapeCookies.text(cookies)).cookies == cookies)
    }
}
