import BrowserCookies
import Testing
import TransferModel

@testable import dlctl

struct CookieSourceTests {
    @Test(
        arguments: [
            ("firefox", .browser(.firefox, profile: nil)), ("firefox:work", .browser(.firefox, profile: "work")),
            ("chromium:/home/a:b/", .browser(.chromium, profile: "/home/a:b/")), ("./firefox", .file("./firefox")),
            ("cookies.txt", .file("cookies.txt")), ("-", .file("-")), ("firefox:", .file("firefox:")), ("", .file("")),
        ] as [(String, CookieSource)])
    func isReadAsMeant(text: String, source: CookieSource) { #expect(CookieSource(text) == source) }

    /// Cookies of other servers do not leave the profile.
    @Test(
        arguments: [
            ("https://www.example.org/a?b=//x", ["wide", "www"]), ("http://u:p@EXAMPLE.org:8080", ["wide", "own"]),
            ("example.org/x", ["wide", "own"]), ("https://notexample.org/", []), ("http://[::1]:80/", ["six"]),
            ("https://org/", []), ("https://example.org@evil.net/", []), ("", []),
        ] as [(String, [String])])
    func aTaskGetsThoseOfItsServer(url: String, names: [String]) {
        let all = [
            Cookie(name: "wide", value: "", domain: "example.org", hostOnly: false),
            Cookie(name: "own", value: "", domain: "example.org"),
            Cookie(name: "www", value: "", domain: "www.example.org"), Cookie(name: "six", value: "", domain: "::1"),
        ]
        #expect(CookieSource.cookies(all, for: url).map(\.name) == names)
    }
}
