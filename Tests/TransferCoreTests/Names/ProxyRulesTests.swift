import Testing

@testable import TransferCore

@Suite struct ProxyRulesTests {
    @Test(arguments: [
        ("http://user:pass@word@proxy:3128/", "proxy:3128"), ("socks5h://127.0.0.1:9", "127.0.0.1:9"),
        ("https://proxy", "proxy:443"), ("proxy", "proxy:1080"), ("http://[::1]:8080", "[::1]:8080"),
        ("http://u:p@[::1]", "[::1]:1080"), ("none", nil), ("", nil),
    ])
    func anAddressHasNoCredentials(_ text: String, _ address: String?) {
        #expect(ProxyRules.address(text) == address)
    }

    /// Its host is the one that a URL with this name has; the rest stays as it is.
    @Test(arguments: [
        ("http://bücher.example:3128", "http://xn--bcher-kva.example:3128", "xn--bcher-kva.example:3128"),
        (
            "socks5h://ü%40:ä%2F@b%C3%BCcher.example/", "socks5h://ü%40:ä%2F@xn--bcher-kva.example/",
            "xn--bcher-kva.example:1080"
        ),
        ("https://%65xample.org", "https://example.org", "example.org:443"),
        ("http://ü:p@proxy:1", "http://ü:p@proxy:1", "proxy:1"),
        ("http://[fe80::1%25eth0]:1", "http://[fe80::1%25eth0]:1", "[fe80::1%25eth0]:1"),
        ("http://☃.net:1", "http://☃.net:1", "☃.net:1"),
    ])
    func aHostBeyondASCIIBecomesALabels(_ text: String, _ sent: String, _ address: String) {
        #expect(ProxyRules.ascii(text) == sent && ProxyRules.address(text) == address)
        #expect(ProxyRules.accepts(text) == !text.contains("☃"))
    }

    @Test func theEnvironmentsProxyIsNamedIfTheMessageIsAboutIt() {
        func address(_ variables: [String: String], _ scheme: String, _ message: String) -> String? {
            ProxyRules.address(inEnvironment: { variables[$0] }, scheme: scheme, concerning: message)
        }
        let named = ["http_proxy": "http://u:p@proxy:8", "ALL_PROXY": "socks5://other:9", "HTTP_PROXY": "http://cgi:1"]
        #expect(address(named, "http", "Failed to connect to proxy port 8") == "proxy:8")
        #expect(address(named, "http", "Failed to connect to origin port 80") == nil)
        #expect(address(named, "https", "Failed to connect to other port 9") == "other:9")
        // In CGI programs a request's header could set this variable, so libcurl ignores it.
        #expect(address(["HTTP_PROXY": "http://cgi:1"], "http", "Failed to connect to cgi port 1") == nil)
    }
}
