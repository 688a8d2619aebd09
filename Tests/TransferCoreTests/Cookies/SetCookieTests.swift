import Testing
import TransferModel

@testable import TransferCore

/// RFC 6265bis section 5.6, step by step.
struct SetCookieTests {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    private func parse(_ field: String) -> SetCookie? { SetCookie(field, at: Self.now) }

    @Test(arguments: [
        ("a=b", "a", "b"), (" a\t=\tb ; x", "a", "b"), ("a=b=c", "a", "b=c"), ("a=", "a", ""), ("=b", "", "b"),
        ("b", "", "b"),
        ("a=\"b\"", "a", "\"b\""), ("a=b\tc", "a", "b\tc"), ("ä=ö", "ä", "ö"), ("a b=c d", "a b", "c d"),
        ("a,b=c,d", "a,b", "c,d"),
    ])
    func nameAndValue(field: String, name: String, value: String) throws {
        let set = try #require(parse(field))
        #expect((set.name, set.value) == (name, value))
    }

    /// Step 1 (control characters), section 5.7 step 2 (neither name nor value), step 5 (4096 bytes).
    @Test(arguments: [
        "", "=", " ; path=/", "a=b\u{0}", "a\u{1f}=b", "a=b; path=/\u{7f}", "a=b\r\nc",
        "a=" + String(repeating: "x", count: 4096), String(repeating: "x", count: 4097),
    ])
    func isIgnored(_ field: String) { #expect(parse(field) == nil) }

    @Test func aCookieMayHave4096Bytes() {
        #expect(parse("a=" + String(repeating: "x", count: 4095)) != nil)
    }

    @Test func attributesInAnyCase() throws {
        let set = try #require(parse("a=b; SECURE; httpONLY; SaMeSiTe=LAX; DOMAIN=.Example.ORG; path = /p ; unknown=1"))
        #expect(set.secure && set.httpOnly && set.sameSite == .lax && set.domain == "example.org" && set.path == "/p")
    }

    /// The last attribute with a name counts (section 5.7). An unreadable attribute counts as absent.
    @Test func theLastAttributeCounts() throws {
        #expect(try #require(parse("a=b; domain=x.org; domain=y.org")).domain == "y.org")
        #expect(try #require(parse("a=b; path=/x; path=y")).path == nil)
        #expect(try #require(parse("a=b; samesite=lax; samesite=odd")).sameSite == nil)
        #expect(try #require(parse("a=b; max-age=5; max-age=x")).expires == Self.now.advanced(by: 5))
    }

    /// Attributes of more than 1024 bytes are ignored.
    @Test func longAttributesAreIgnored() throws {
        let set = try #require(parse("a=b; path=/x; path=/" + String(repeating: "y", count: 1024)))
        #expect(set.path == "/x")
        #expect(try #require(parse("a=b; path=/" + String(repeating: "y", count: 1023))).path?.utf8.count == 1024)
    }

    /// Sections 5.6.1, 5.6.2 and 5.5: Max-Age comes before Expires, and no cookie lives longer than 400 days.
    @Test(arguments: [
        ("max-age=10", 10), ("expires=Thu, 01 Jan 2026 00:01:00 GMT", 60),
        ("expires=Thu, 01 Jan 2026 00:01:00 GMT; max-age=10", 10),
        ("max-age=10; expires=Thu, 01 Jan 2026 00:01:00 GMT", 10),
        ("max-age=99999999999999999999", 400 * 86_400), ("expires=Fri, 01 Jan 2100 00:00:00 GMT", 400 * 86_400),
    ])
    func ends(_ attributes: String, seconds: Double) throws {
        #expect(try #require(parse("a=b; " + attributes)).expires == Self.now.advanced(by: Seconds(seconds)))
    }

    @Test(arguments: [
        "max-age=0", "max-age=-1", "max-age=-99999999999999999999", "expires=Thu, 01 Jan 1970 00:00:00 GMT",
    ])
    func hasEnded(_ attributes: String) throws {
        #expect(try #require(parse("a=b; " + attributes)).expires! < Self.now)
    }

    @Test(arguments: ["max-age=", "max-age=+1", "max-age=1.5", "max-age=1 2", "expires=never", "max-age"])
    func doesNotSay(_ attributes: String) throws { #expect(try #require(parse("a=b; " + attributes)).expires == nil) }
}
