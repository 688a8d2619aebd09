import Testing
import TransferModel

@testable import TransferCore

/// RFC 6797 section 6.1, directive by directive. `HSTSOracle` compares many of these with curl(1).
struct StrictTransportSecurityTests {
    private static let longest = Int64(Bounds.longestTimeout)

    @Test(
        arguments: [
            // Section 6.2.
            ("max-age=31536000", 31_536_000, false), ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
            ("max-age=\"31536000\"", 31_536_000, false), ("max-age=0", 0, false),
            ("max-age=0; includeSubDomains", 0, true),
            // Names in any case, directives in any order (rules 1 and 3), empty directives, and blanks everywhere.
            ("MAX-AGE=5", 5, false), ("Max-Age=5;INCLUDESUBDOMAINS", 5, true),
            ("includeSubDomains; max-age=5", 5, true),
            (";;max-age=5;;", 5, false), (" max-age=5 ", 5, false), ("\tmax-age=5\t;\tincludesubdomains\t", 5, true),
            ("max-age = 5", 5, false), ("max-age= \"5\" ;", 5, false),
            // Unknown directives are ignored (rule 5), whatever they contain.
            ("max-age=5; preload", 5, false), ("preload; max-age=5; includeSubDomains", 5, true),
            ("max-age=5; x=\"a;b=\\\"c; includeSubDomains\"", 5, false), ("max-age=5; max-age2=9", 5, false),
            ("max-age=5; report-uri=\"https://a/;max-age=9\"", 5, false), ("max-age=5; x=y; z", 5, false),
            ("max-age=5; includeSubDomainsX", 5, false), ("!#$%&'*+-.^_`|~=1; max-age=5", 5, false),
            // Only digits, but any number of them.
            ("max-age=007", 7, false), ("max-age=\"\\5\"", 5, false),
            ("max-age=00000000000000000000000000005", 5, false),
            ("max-age=99999999999999999999999", longest, false), ("max-age=9223372036854775807", longest, false),
        ] as [(String, Int64, Bool)])
    func conforms(field: String, age: Int64, includesSubdomains: Bool) throws {
        let said = try #require(StrictTransportSecurity(field))
        #expect(said.maxAge == age && said.includesSubdomains == includesSubdomains, "\(said)")
    }

    /// A field that does not conform is ignored completely (section 8.1).
    @Test(arguments: [
        // max-age is required, and its value consists of digits (section 6.1.1).
        "", " ", ";", "includeSubDomains", "preload", "max-age", "max-age=", "max-age=\"\"", "max-age=-1", "max-age=+1",
        "max-age=1.5", "max-age=1e3", "max-age=0x10", "max-age=five", "max-age=\"five\"", "max-age=\" 5\"", "max-age=٥",
        "max-age='5'", "x-max-age=5", "max age=5", "\"max-age\"=5",
        // No directive occurs twice (rule 2), in any case, known or unknown.
        "max-age=5; max-age=5", "max-age=5; MAX-AGE=6", "max-age=0; max-age=5", "max-age=5; x; X",
        "max-age=5; includeSubDomains; includesubdomains", "max-age=5; x=1; x=2",
        // includeSubDomains has no value (section 6.1.2).
        "max-age=5; includeSubDomains=1", "max-age=5; includeSubDomains=\"\"", "max-age=5; includeSubDomains=",
        // The grammar: a name, "=", a token or quoted-string, and semicolons between directives.
        "max-age=5 includeSubDomains", "max-age=5, includeSubDomains", "max-age=5, max-age=6", "max-age=\"5",
        "max-age=5\"",
        "max-age=5; =", "max-age=5; =x", "max-age=5; x=", "max-age=5; x=;", "max-age=5; x=\"", "max-age=5; x=\"y\"z",
        "max-age=5; x=a b", "max-age=5; (x)", "max-age=5; ä", "max-age=5; x=\"\\", "max-age==5", "max-age=5=5",
        "max-age=5; x=\u{1}", "max-age=5\u{0}",
    ])
    func isIgnored(_ field: String) { #expect(StrictTransportSecurity(field) == nil) }

    /// A server may send hundreds of kilobytes.
    @Test func aLongFieldIsIgnored() {
        let start = "max-age=5; x=\""
        func field(_ length: Int) -> String {
            start + String(repeating: "y", count: length - start.utf8.count - 1) + "\""
        }
        #expect(StrictTransportSecurity(field(Bounds.strictTransportSecurity)) != nil)
        #expect(StrictTransportSecurity(field(Bounds.strictTransportSecurity + 1)) == nil)
    }

    /// Section 8.3: https, port 443 in place of 80, and no other change.
    @Test(arguments: [
        ("http://a.example/", "https://a.example/"), ("http://a.example:80/x", "https://a.example/x"),
        ("http://a.example:8080/x?y=:80#z", "https://a.example:8080/x?y=:80#z"),
        ("http://a.example", "https://a.example"),
        ("http://a.example:443/", "https://a.example:443/"), ("http://a.example:180/", "https://a.example:180/"),
        ("http://a.example/http://b.example:80/", "https://a.example/http://b.example:80/"),
        ("http://a.example:80?q", "https://a.example?q"),
    ])
    func theURLOverHTTPS(url: String, secured: String) {
        #expect(StrictTransportSecurity.secured(url) == secured)
    }

    @Test(arguments: ["https://a.example/", "ftp://a.example/", "httpx://a/", "file:///a", ""])
    func otherSchemesStay(_ url: String) { #expect(StrictTransportSecurity.secured(url) == nil) }
}
