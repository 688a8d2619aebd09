import Testing

@testable import TransferCore

struct PublicSuffixesTests {
    @Test(arguments: ["com", "co.uk", "github.io", "localhost", "test", "com.", "xn--p1ai"])
    func nobodyOwns(_ domain: String) { #expect(PublicSuffixes.contains(domain)) }

    @Test(arguments: ["example.com", "example.co.uk", "me.github.io", "a.test", "127.0.0.1", "::1", "", "www.ck"])
    func somebodyOwns(_ domain: String) { #expect(!PublicSuffixes.contains(domain)) }

    @Test(arguments: [
        ("www.example.co.uk", "example.co.uk"), ("a.me.github.io", "me.github.io"), ("example.com", "example.com"),
        ("example.com.", "example.com"), ("com", "com"), ("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"), ("a.b.test", "b.test"),
    ])
    func site(host: String, site: String) { #expect(PublicSuffixes.site(of: host) == site) }

    /// RFC 6265bis section 5.1.3.
    @Test(arguments: [
        ("example.org", "example.org", true), ("a.example.org", "example.org", true),
        ("aexample.org", "example.org", false),
        ("example.org", "a.example.org", false), ("1.2.3.4", "3.4", false), ("1.2.3.4", "1.2.3.4", true),
        ("a.b", "", false), ("[::1]", "1]", false),
    ])
    func matches(host: String, domain: String, isMatch: Bool) {
        #expect(HostName.matches(host, domain: domain) == isMatch)
    }
}
