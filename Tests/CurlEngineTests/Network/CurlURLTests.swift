import Testing
import TransferCore

@testable import CurlEngine

@Suite struct CurlURLTests {
    @Test func takesAURLApart() throws {
        let url = try #require(CurlURL("HTTPS://us%40er:p%3Aw@Host.Example/a/../b?q=1#f"))
        #expect(url.text == "https://Host.Example/b?q=1" || url.text == "https://host.example/b?q=1")
        #expect(url.scheme == "https")
        #expect(url.host == "host.example")
        #expect(url.port == "443")
        #expect(url.user == "us@er")
        #expect(url.password == "p:w")
    }

    /// A Location may have it too, as written or percent-encoded.
    @Test func aHostBeyondASCIIBecomesALabels() throws {
        let base = try #require(CurlURL("http://a.example/x"))
        for text in ["//bücher.example/y", "http://BÜCHER.example/y", "http://b%C3%BCcher.example/y"] {
            let url = try #require(base.resolving(text))
            #expect(url.text == "http://xn--bcher-kva.example/y" && url.host == "xn--bcher-kva.example")
        }
        #expect(base.resolving("http://☃.net/") == nil)
    }

    @Test func knowsOrigins() throws {
        let url = try #require(CurlURL("http://a.example/"))
        #expect(url.hasSameOrigin(as: try #require(CurlURL("http://A.example:80/other"))))
        #expect(!url.hasSameOrigin(as: try #require(CurlURL("http://a.example:81/"))))
        #expect(!url.hasSameOrigin(as: try #require(CurlURL("https://a.example:80/"))))
        #expect(try #require(CurlURL("http://[::1]:8080/x")).port == "8080")
    }

    /// The shortcut for known origins gives the same result as libcurl for every URL.
    @Test(arguments: [
        "/a/b.c-d_e", "/", "//a//", "/a/../b", "/a/./b", "/.a", "/a.", "/a..b/c", "/%2e%2e/b", "/a?b=c", "/a#b", "",
        "?q",
        "/a b", "/ä",
    ])
    func whatIsBeneathAKnownOriginIsReadAsLibcurlReadsIt(path: String) throws {
        let other = try #require(CurlURL("https://other.example/"))
        for origin in ["http://H.example", "HTTP://h.example:80", "http://[::1]:8080", "http://127.1", "ftp://u:p@h"] {
            for text in [origin + "/known", origin + path, origin + "/known/", origin + path] {
                #expect(CurlURL(text) == other.resolving(text), "\(text)")
            }
        }
    }

    /// RFC 3986 section 5.2.2.
    @Test(arguments: ["", "#f", "#"]) func aReferenceWithoutPathAndQueryIsTheSameDocument(reference: String) throws {
        let base = try #require(CurlURL("http://h.example/a/b/c/d;p?q"))
        #expect(base.resolving(reference)?.text == "http://h.example/a/b/c/d;p?q")
    }

    /// The Location of an upload resource leads where a redirect with the same Location would.
    @Test(arguments: ["/a b?c d", "x  y", "?q r", "http://h.example/a b/c d", "//h.example/ x?y z"])
    func aReferenceWithSpacesIsReadAsElsewhere(reference: String) throws {
        let base = "http://h.example/a/b"
        #expect(
            try CurlURL(base)?.resolving(reference)?.text
                == URLRules.resolve(reference, against: base).requestURL)
    }

    @Test(arguments: ["", "http://", "no scheme", "http://a b/", "http://h:99999/", "http://h\n/"])
    func refusesWhatLibcurlRefuses(text: String) {
        #expect(CurlURL(text) == nil)
    }
}
