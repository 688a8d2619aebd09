import Testing
import TransferModel

@testable import TransferCore

@Suite struct AuthenticationChallengeTests {
    private func schemes(_ value: String) -> [String] { AuthenticationChallenge.parse(value).map(\.scheme) }

    /// RFC 9110 section 11.6.1.
    @Test func severalChallengesStandInOneField() {
        let value = #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#
        #expect(
            AuthenticationChallenge.parse(value)
                == [.init(scheme: "newauth", realm: "apps"), .init(scheme: "basic", realm: "simple")])
    }

    @Test(arguments: [
        ("Basic", ["basic"]), ("Negotiate, NTLM", ["negotiate", "ntlm"]),
        ("NTLM TlRMTVNTUAACAAAA, Basic realm=x", ["ntlm", "basic"]),
        (
            "Negotiate abc==, Digest nonce=\"a, b\"",
            ["negotiate", "digest"]
        ),
        ("", []), (",,,", []), ("=", []), ("\"Basic\"", []), ("Basic realm", ["basic"]),
    ])
    func tokensAreNoSchemes(value: String, expected: [String]) { #expect(schemes(value) == expected) }

    @Test func noServerMakesAListWithoutEnd() {
        #expect(schemes(String(repeating: "Basic, ", count: 10_000)).count == 16)
    }

    private func space(
        _ headers: [(String, String)], status: Int = 401, url: String = "https://A.example/x", proxy: String? = nil
    ) -> ProtectionSpace? {
        spaces(headers, status: status, url: url, proxy: proxy).first
    }

    private func spaces(
        _ headers: [(String, String)], status: Int = 401, url: String = "https://A.example/x", proxy: String? = nil
    ) -> [ProtectionSpace] {
        ProtectionSpace.demands(
            status: status, headers: headers.map { HeaderField($0.0, $0.1) }, url: url, proxy: proxy)
    }

    @Test func digestGoesBeforeBasic() {
        let found = space([("WWW-Authenticate", "Basic realm=b"), ("www-authenticate", "Digest realm=\"d\", nonce=n")])
        #expect(found?.method == .httpDigest && found?.realm == "d")
        #expect(found?.origin == "https://a.example:443" && found?.isProxy == false)
    }

    @Test func ntlmGoesBeforeBasic() {
        let offered = [("WWW-Authenticate", "Basic realm=b"), ("WWW-Authenticate", "NTLM")]
        #expect(space(offered)?.method == .ntlm && space(offered)?.realm == nil)
        #expect(space(offered + [("WWW-Authenticate", "Digest realm=d, nonce=n")])?.method == .httpDigest)
    }

    /// The others are left, for those whom Kerberos does not help, and for credentials of one method alone.
    @Test func negotiateGoesBeforeAllOthers() {
        let offered = [
            ("WWW-Authenticate", "Basic realm=b"), ("WWW-Authenticate", "NTLM"), ("WWW-Authenticate", "Negotiate"),
        ]
        #expect(spaces(offered).map(\.method) == [.negotiate, .ntlm, .httpBasic])
        #expect(spaces(offered.dropLast(2) + offered.suffix(1)).map(\.realm) == [nil, "b"])
        #expect(spaces(offered.suffix(1)).map(\.method) == [.negotiate])
    }

    @Test func aTokenGoesOnWithWhatWasBegun() {
        let found = AuthenticationChallenge.parse("Negotiate oRQw==, Basic realm=x, NTLM")
        #expect(found.map(\.hasToken) == [true, false, false])
    }

    /// RFC 7616 section 3.3: a challenge with an unknown algorithm is ignored, and one without nonce cannot be answered.
    /// libcurl reads the first one of Digest only.
    @Test(
        arguments: [
            ("Digest realm=r, nonce=n, algorithm=FOO", nil), ("Digest realm=r", nil),
            ("Digest realm=r, nonce=n, algorithm=SHA-512-256", nil),
            ("Digest realm=r, nonce=n, algorithm=FOO, Digest realm=r, nonce=n, algorithm=MD5", nil),
            ("Digest realm=r, nonce=n", .httpDigest),
            ("Digest realm=r, nonce=\"\", algorithm=\"sha-256\"", .httpDigest),
            ("Digest nonce=n, algorithm=MD5-sess, Digest nonce=n, algorithm=FOO", .httpDigest),
        ] as [(String, AuthenticationMethod?)])
    func digestIsAnsweredAsItCanBe(challenge: String, method: AuthenticationMethod?) {
        #expect(space([("WWW-Authenticate", challenge)])?.method == method)
        #expect(space([("WWW-Authenticate", challenge + ", Basic realm=b")])?.method == method ?? .httpBasic)
    }

    @Test func whatCannotBeAnsweredIsNotAsked() {
        #expect(space([("WWW-Authenticate", "Bearer realm=b")]) == nil)
        #expect(space([]) == nil)
        #expect(space([("WWW-Authenticate", "Basic")], status: 403) == nil)
        #expect(space([("Proxy-Authenticate", "Basic")], status: 407) == nil)
        #expect(space([("Proxy-Authenticate", "Basic")], status: 407, proxy: "socks5://h:1") == nil)
        #expect(space([("WWW-Authenticate", "Basic")], url: "ftp://h/x") == nil)
    }

    /// libcurl's default port for a proxy URL without a port.
    @Test func aProxyIsAPlaceOfItsOwn() {
        let found = space([("Proxy-Authenticate", "Basic realm=p")], status: 407, proxy: "http://u:p@P.example")
        #expect(found?.origin == "http://p.example:1080" && found?.isProxy == true)
    }

    @Test func aRealmIsShortAndHasNoControlCharacters() {
        let realm = "a\u{1B}\u{202E}" + String(repeating: "é", count: 4000)
        let told = space([("WWW-Authenticate", "Basic realm=\"\(realm)\"")])?.realm ?? ""
        #expect(told.hasPrefix("a\u{FFFD}\u{FFFD}é") && told.unicodeScalars.count == Bounds.realm)
    }
}
