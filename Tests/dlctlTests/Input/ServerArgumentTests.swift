import Testing
import TransferModel

@testable import dlctl

@Suite struct ServerArgumentTests {
    @Test(arguments: [
        ("a.org", "https://a.org:443"), ("A.org:8443", "https://A.org:8443"), ("http://a.org", "http://a.org:80"),
        ("HTTPS://a.org:1/", "https://a.org:1"), ("[::1]:8080", "https://[::1]:8080"),
        ("http://[::1]", "http://[::1]:80"),
    ])
    func aServerIsRead(_ text: String, _ origin: String) {
        #expect(ServerArgument(argument: text)?.space.origin == origin)
    }

    @Test(arguments: ["", "http://", "ftp://a", "a/b", "u@a", "a:0", "a:x", "a:70000", "a b", "[::1", "a?b"])
    func whatIsNoneIsRefused(_ text: String) {
        #expect(ServerArgument(argument: text) == nil)
    }
}
