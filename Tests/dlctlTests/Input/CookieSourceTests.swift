import BrowserCookies
import Testing

@testable import dlctl

struct CookieSourceTests {
    @Test(
        arguments: [
            ("firefox", .browser(.firefox, profile: nil)), ("firefox:work", .browser(.firefox, profile: "work")),
            ("chromium:/home/a:b/", .browser(.chromium, profile: "/home/a:b/")), ("./firefox", .file("./firefox")),
            ("cookies.txt", .file("cookies.txt")), ("-", .file("-")), ("firefox:", .file("firefox:")), ("", .file("")),
        ] as [(String, CookieSource)])
    func isReadAsMeant(text: String, source: CookieSource) { #expect(CookieSource(text) == source) }
}
