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
