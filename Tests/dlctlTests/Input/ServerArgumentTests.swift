import ArgumentParser
import Testing
import TransferModel

@testable import dlctl

@Suite struct ServerArgumentTests {
    @Test(arguments: [
        ("a.org", "https://a.org:443"), ("A.org:8443", "https://A.org:8443"), ("http://a.org", "http://a.org:80"),
        ("HTTPS://a.org:1/", "https://a.org:1"), ("[::1]:8080", "https://[::1]:8080"),
        ("http://[::1]", "http://[::1]:80"),
    ])
    func aServerIsRead(_ text: String, _ origin: String) throws {
        #expect(try ServerArgument(argument: text).reading.get().origin == origin)
    }

    /// The error gives the reason but not the argument, which may contain a password.
    @Test(arguments: [
        ("", "HOST"), ("http://", "HOST"), ("ftp://a", "http and https"), ("Zq7/b", "path"), ("u@Zq7", "--username"),
        ("https://u:Zq7@a.org", "--username"), ("a:0", "65535"), ("a:Zq7", "65535"), ("a:70000", "65535"),
        ("a b", "HOST"), ("[::1", "HOST"), ("a?Zq7", "path"), ("a#Zq7", "path"),
    ])
    func whatIsNoneIsRefused(_ text: String, why: String) throws {
        let argument = ServerArgument(argument: text)
        let error = #expect(throws: ValidationError.self) { try argument.reading.get() }
        let message = try #require(error?.message)
        #expect(message.contains(why) && !message.contains("Zq7"), "\(message)")
    }
}
