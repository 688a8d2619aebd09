import Testing
import TransferModel

@testable import TransferCore

/// RFC 6265bis sections 5.7 (what a server may set) and 5.8.3 (what a request contains).
struct CookieJarTests {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    private func url(_ text: String) -> CookieURL {
        CookieURL(text) ?? CookieURL(host: "", text: text, isSecure: false)
    }

    private func jar(_ url: String, _ fields: String...) -> CookieJar {
        var jar = CookieJar()
        for field in fields { _ = jar.receive(field, from: self.url(url), at: Self.now) }
        return jar
    }

    private func sent(_ jar: CookieJar, _ url: String, after seconds: Seconds = 0) -> String? {
        var jar = jar
        return jar.field(for: CookieRequest(self.url(url)), at: Self.now.advanced(by: seconds))
    }

    /// Servers and clients may write a host in several ways. It has one jar.
    @Test(arguments: [
        ("[::1]", "http://[::1]/"), ("::1", "http://[0:0::1]/"), ("0:0:0::1", "http://[::1]:8080/"),
        ("bücher.example", "http://xn--bcher-kva.example/"), ("xn--bcher-kva.example", "http://BÜCHER.example/"),
    ])
    func aHostHasOneFormHoweverItIsWritten(domain: String, url: String) {
        var jar = jar(url, "of=server")
        _ = jar.put(Cookie(name: "of", value: "client", domain: domain), at: Self.now)
        #expect(sent(jar, url) == "of=client")
        #expect(Set(jar.all.map(\.domain)).count == 1)
    }

    /// Each row: the URL that sets the cookie, the field, the URL of a request, and the cookies that the request
    /// contains.
    @Test(
        arguments: [
            // 5.7 step 10, 5.8.3: host-only and domain.
            ("http://a.org/", "k=v", "http://a.org/", "k=v"), ("http://a.org/", "k=v", "http://b.a.org/", nil),
            ("http://a.org/", "k=v; domain=a.org", "http://b.a.org/", "k=v"),
            ("http://b.a.org/", "k=v; domain=.a.org", "http://a.org/", "k=v"),
            ("http://b.a.org/", "k=v; domain=c.a.org", "http://c.a.org/", nil),
            ("http://a.org/", "k=v; domain=b.org", "http://b.org/", nil),
            ("http://xa.org/", "k=v; domain=a.org", "http://a.org/", nil),
            ("http://a.org/", "k=v; domain=", "http://a.org/", "k=v"),
            // 5.7 step 8: beyond ASCII.
            ("http://a.org/", "k=v; domain=ä.org", "http://a.org/", nil),
            // 5.7 step 9: public suffixes.
            ("http://a.co.uk/", "k=v; domain=co.uk", "http://b.co.uk/", nil),
            ("http://a.co.uk/", "k=v; domain=co.uk", "http://a.co.uk/", nil),
            ("http://github.io/", "k=v; domain=github.io", "http://github.io/", "k=v"),
            ("http://github.io/", "k=v; domain=github.io", "http://x.github.io/", nil),
            ("http://localhost/", "k=v; domain=localhost", "http://localhost/", "k=v"),
            ("http://a.com./", "k=v; domain=com.", "http://b.com./", nil),
            ("http://127.0.0.1/", "k=v; domain=0.0.1", "http://9.0.0.1/", nil),
            ("http://127.0.0.1/", "k=v; domain=127.0.0.1", "http://127.0.0.1/", "k=v"),
            // 5.1.4, 5.6.4: paths.
            ("http://a.org/x/y", "k=v", "http://a.org/x/z", "k=v"), ("http://a.org/x/y", "k=v", "http://a.org/z", nil),
            ("http://a.org/", "k=v; path=/x", "http://a.org/xy", nil),
            ("http://a.org/q", "k=v; path=x", "http://a.org/z", "k=v"),
            // 5.7 steps 12 and 13, 5.8.3: secure. Ports and schemes do not separate cookies.
            ("https://a.org/", "k=v; secure", "https://a.org/", "k=v"),
            ("https://a.org/", "k=v; secure", "http://a.org/", nil),
            ("http://a.org/", "k=v; secure", "https://a.org/", nil),
            ("https://a.org/", "k=v", "http://a.org:81/", "k=v"),
            // 5.7 step 19: SameSite=None without Secure.
            ("https://a.org/", "k=v; samesite=none", "https://a.org/", nil),
            ("https://a.org/", "k=v; samesite=none; secure", "https://a.org/", "k=v"),
            ("http://a.org/", "k=v; samesite=strict", "http://a.org/", "k=v"),
            // 5.4, 5.7 steps 20 to 22: prefixes, in upper or lower case.
            ("https://a.org/", "__Secure-k=v", "https://a.org/", nil),
            ("https://a.org/", "__SECURE-k=v; secure", "https://a.org/", "__SECURE-k=v"),
            ("https://a.org/", "__Host-k=v; secure; path=/", "https://a.org/", "__Host-k=v"),
            ("https://a.org/", "__host-k=v; secure", "https://a.org/", nil),
            ("https://a.org/", "__Host-k=v; secure; path=/x", "https://a.org/x", nil),
            ("https://a.org/", "__Host-k=v; path=/", "https://a.org/", nil),
            ("https://a.org/", "__Host-k=v; secure; path=/; domain=a.org", "https://a.org/", nil),
            ("https://a.org/", "=__Host-k=v; secure; path=/", "https://a.org/", nil),
            ("https://a.org/", "__secure-k; secure", "https://a.org/", nil),
            // Cookies without a name (5.6 step 3, 5.8.3 step 4).
            ("http://a.org/", "v", "http://a.org/", "v"), ("http://a.org/", "=v", "http://a.org/", "v"),
            ("http://a.org/", "k=", "http://a.org/", "k="),
        ] as [(String, String, String, String?)])
    func setsAndSends(origin: String, field: String, target: String, sent expected: String?) {
        #expect(sent(jar(origin, field), target) == expected)
    }

    /// An address has no names below it (5.1.3), so its cookies are for the host alone.
    @Test func anAddressIsAHost() {
        #expect(jar("http://127.0.0.1/", "k=v; domain=127.0.0.1").all.map(\.hostOnly) == [true])
        #expect(jar("http://a.org/", "k=v; domain=a.org").all.map(\.hostOnly) == [false])
        var jar = CookieJar()
        _ = jar.put(Cookie(name: "k", value: "v", domain: "::1", hostOnly: false), at: Self.now)
        #expect(jar.all.map(\.hostOnly) == [true])
    }

    @Test func longPathsComeFirstThenTheOldest() {
        let jar = jar("http://a.org/", "a=1; path=/", "b=2; path=/x/y", "c=3; path=/x", "d=4; path=/x", "a=5; path=/")
        #expect(sent(jar, "http://a.org/x/y") == "b=2; c=3; d=4; a=5")
    }

    /// Step 23: a cookie replaces the cookie with the same name, domain, path and host-only flag, and keeps its
    /// position.
    @Test func oneReplacesAnother() {
        let jar = jar("http://a.org/", "a=1", "b=2", "a=3", "a=4; domain=a.org", "a=5; path=/x")
        #expect(jar.count == 4)
        #expect(sent(jar, "http://a.org/x") == "a=5; a=3; b=2; a=4")
    }

    @Test func whatHasEndedIsNotSentAndRemovesTheOldOne() {
        var jar = jar("http://a.org/", "a=1; max-age=10", "b=2")
        #expect(sent(jar, "http://a.org/", after: 9) == "a=1; b=2")
        #expect(sent(jar, "http://a.org/", after: 10) == "b=2")
        #expect(jar.receive("b=; max-age=0", from: CookieURL("http://a.org/")!, at: Self.now).count == 1)
        #expect(sent(jar, "http://a.org/") == "a=1")
        #expect(jar.expire(at: Self.now.advanced(by: 10)).count == 1)
        #expect(jar.isEmpty)
    }

    /// Step 16: an unencrypted cookie neither replaces nor hides a secure cookie, for any related domain.
    @Test func nothingUnencryptedHidesASecureCookie() {
        var jar = jar("https://a.org/", "k=1; secure; path=/x; domain=a.org")
        for (url, field) in [
            ("http://a.org/", "k=2; path=/x"), ("http://a.org/", "k=2; path=/x/y"), ("http://b.a.org/", "k=2; path=/x"),
            ("http://a.org/", "k=2; path=/x; domain=a.org"),
        ] {
            #expect(jar.receive(field, from: CookieURL(url)!, at: Self.now).isEmpty)
        }
        #expect(!jar.receive("k=2; path=/", from: CookieURL("http://a.org/")!, at: Self.now).isEmpty)
        #expect(!jar.receive("k=2; path=/x", from: CookieURL("https://a.org/")!, at: Self.now).isEmpty)
    }

    /// Section 5.2: after a redirect from another site, a request counts as a navigation from that site.
    @Test(arguments: [
        ("strict", true, false), ("lax", true, true), ("lax", false, false), ("odd", true, true),
        ("none; secure", false, true),
    ])
    func sameSite(value: String, isSafe: Bool, isSent: Bool) {
        var jar = jar("https://a.org/", "k=v; samesite=" + value)
        let url = CookieURL("https://a.org/")!
        let crossed = CookieRequest(url, isSafe: isSafe, crossedSites: true)
        #expect((jar.field(for: crossed, at: Self.now) != nil) == isSent)
        #expect(jar.field(for: CookieRequest(url, isSafe: false), at: Self.now) != nil)
    }

    @Test func namesOfTheCallerAreLeftOut() {
        var jar = jar("http://a.org/", "a=1", "b=2")
        #expect(jar.field(for: CookieRequest(CookieURL("http://a.org/")!), at: Self.now, without: ["a"]) == "b=2")
    }

    // MARK: Bounds

    /// Cookies that are not secure are removed first, then the cookies that were not used for the longest time.
    @Test func aSiteHas180Cookies() {
        var jar = jar("https://a.org/", "first=1", "safe=1; secure")
        for index in 0..<180 {
            _ = jar.receive("n\(index)=1", from: CookieURL("https://b\(index).a.org/")!, at: Self.now)
        }
        #expect(jar.count == 180)
        #expect(sent(jar, "https://a.org/") == "safe=1")
        #expect(sent(jar, "https://b0.a.org/") == nil && sent(jar, "https://b1.a.org/") == "n1=1")
    }

    /// 10,000 cookies of one site and a flood from many sites remove no cookie of another site.
    @Test func aFloodCostsOnlyItself() {
        var jar = jar("http://quiet.org/", "k=v")
        for index in 0..<10_000 { _ = jar.receive("n\(index)=1", from: CookieURL("http://loud.org/")!, at: Self.now) }
        #expect(jar.count == 181)
        for site in 0..<20 {
            for index in 0..<200 {
                _ = jar.receive("n\(index)=1", from: CookieURL("http://loud\(site).org/")!, at: Self.now)
            }
        }
        #expect(jar.count == 3000)
        #expect(sent(jar, "http://quiet.org/") == "k=v")
    }

    /// When the jar is over its limit, expired cookies are removed before any valid cookie.
    @Test func whatHasEndedMakesRoom() {
        var jar = CookieJar(most: 3)
        for (site, field) in [("a", "k=v"), ("a", "l=v"), ("b", "short=v; max-age=10")] {
            _ = jar.receive(field, from: url("http://\(site).org/"), at: Self.now)
        }
        let later = Self.now.advanced(by: 10)
        let changes = jar.receive("new=v", from: url("http://c.org/"), at: later)
        #expect(changes.map(\.key.name) == ["new", "short"])
        #expect(jar.all.map(\.name) == ["k", "l", "new"])
    }

    @Test func theFieldHasABound() throws {
        var jar = CookieJar()
        for index in 0..<100 {
            _ = jar.receive(
                "n\(index)=" + String(repeating: "x", count: 4000), from: CookieURL("http://a.org/")!, at: Self.now)
        }
        #expect(try #require(sent(jar, "http://a.org/")).utf8.count <= Bounds.cookieField)
    }

    @Test func changesTellWhatAStoreMustDo() {
        var jar = jar("http://a.org/", "a=1")
        let cookie = Cookie(name: "a", value: "2", domain: "a.org")
        let old = Cookie(name: "a", value: "1", domain: "a.org")
        #expect(jar.put(cookie, at: Self.now) == [.stored(cookie, created: 1, old: old)])
        #expect(jar.remove { $0.name == "a" } == [.removed(cookie.key)])
        jar.restore(cookie, created: 7)
        #expect(jar.put(Cookie(name: "b", value: "", domain: "a.org"), at: Self.now).count == 1)
        #expect(jar.all.map(\.name) == ["a", "b"])
    }
}
