import Testing

@testable import dlctl

@Suite struct URLTextTests {
    @Test(arguments: [
        ("http://Example.org/x", "example.org"), ("https://u:p@a.org:8080?x", "a.org"), ("example.org", "example.org"),
        ("a.org:80/x", "a.org"), ("http://[::1]:80/", "::1"), ("http://", ""),
    ])
    func theHostOfAURLIsFound(url: String, host: String) {
        #expect(URLText.host(url) == host)
    }
}
