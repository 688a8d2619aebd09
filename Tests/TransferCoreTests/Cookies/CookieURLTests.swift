import Testing

@testable import TransferCore

/// RFC 6265bis section 5.1.4.
struct CookieURLTests {
    @Test(arguments: [
        ("http://a.org", "/", "/"), ("http://a.org/", "/", "/"), ("http://a.org/x", "/x", "/"),
        ("http://a.org/x/", "/x/", "/x"), ("http://a.org/x/y?/z/", "/x/y", "/x"), ("http://a.org?x/y", "/", "/"),
        ("http://a.org//x", "//x", "/"),
    ])
    func paths(url: String, path: String, standard: String) throws {
        let url = try #require(CookieURL(url))
        #expect((url.path, url.defaultPath) == (path, standard))
    }

    @Test func hostAndScheme() throws {
        let url = try #require(CookieURL("https://User:x@WWW.Example.org:8443/"))
        #expect(url.host == "www.example.org" && url.isSecure)
        #expect(CookieURL("ftp://a.org/") == nil)
    }

    @Test(arguments: [
        ("/", "/", true), ("/x", "/", true), ("/x/y", "/x", true), ("/x/", "/x/", true), ("/xy", "/x", false),
        ("/x", "/x/", false), ("/X", "/x", false), ("/x/y", "/x/", true),
    ])
    func pathMatches(path: String, cookie: String, isMatch: Bool) {
        #expect(CookieURL.path(path, matches: cookie) == isMatch)
    }
}
