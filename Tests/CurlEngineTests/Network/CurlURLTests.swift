import Testing

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

    @Test func knowsOrigins() throws {
        let url = try #require(CurlURL("http://a.example/"))
        #expect(url.hasSameOrigin(as: try #require(CurlURL("http://A.example:80/other"))))
        #expect(!url.hasSameOrigin(as: try #require(CurlURL("http://a.example:81/"))))
        #expect(!url.hasSameOrigin(as: try #require(CurlURL("https://a.example:80/"))))
        #expect(try #require(CurlURL("http://[::1]:8080/x")).port == "8080")
    }

    @Test(arguments: ["", "http://", "no scheme", "http://a b/", "http://h:99999/", "http://h\n/"])
    func refusesWhatLibcurlRefuses(text: String) {
        #expect(CurlURL(text) == nil)
    }
}
