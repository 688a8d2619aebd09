import Testing
import TransferModel

@testable import TransferCore

struct TransportExceptionsTests {
    private static let domains: [String: DomainException] = [
        "example.org": DomainException(
            includesSubdomains: true, allowsInsecureHTTPLoads: true, minimumTLSVersion: .v10),
        "strict.example.org": DomainException(allowsInsecureHTTPLoads: false, minimumTLSVersion: .v13),
        "bare.example": DomainException(), "Bücher.example": DomainException(allowsInsecureHTTPLoads: true),
        "127.0.0.1": DomainException(allowsInsecureHTTPLoads: true),
        "0:0::1": DomainException(allowsInsecureHTTPLoads: true),
    ]

    private func network(_ allows: Bool?, _ change: (inout TaskSpec) -> Void = { _ in }) -> Boxed<NetworkOptions> {
        var session = SessionConfiguration()
        session.allowsArbitraryLoads = allows
        session.exceptionDomains = Self.domains
        session.tlsMinimumVersion = .v12
        var spec = TaskSpec()
        change(&spec)
        return EffectivePolicy(spec: spec, session: session).$network
    }

    /// As in NSExceptionDomains, a listed domain follows its exception, and all others follow the session.
    @Test(arguments: [
        ("example.org", true), ("EXAMPLE.org.", true), ("a.b.example.org", true), ("strict.example.org", false),
        ("a.strict.example.org", true), ("bare.example", false), ("xn--bcher-kva.example", true),
        ("bücher.example", true), ("127.0.0.1", true), ("[::1]", true), ("::1", true),
    ])
    func anExceptionDecidesWhateverTheSessionSays(host: String, allows: Bool) {
        for session in [true, false, nil] {
            #expect(network(session).allowsPlaintext(to: host) == allows, "\(host), session \(session as Any)")
        }
    }

    @Test(arguments: ["other.org", "org", "notexample.org", "a.bare.example", "127.0.0.2", "::2", "a.bücher.example"])
    func othersFollowTheSession(_ host: String) {
        #expect(network(true).allowsPlaintext(to: host) && network(nil).allowsPlaintext(to: host))
        #expect(!network(false).allowsPlaintext(to: host))
        #expect(network(true).wrappedValue.minimumTLSVersion(of: host) == .v12)
    }

    @Test func theOldestTLSVersionIsTheDomains() {
        let network = network(nil)
        #expect(network.wrappedValue.minimumTLSVersion(of: "a.example.org") == .v10)
        #expect(network.wrappedValue.minimumTLSVersion(of: "strict.example.org") == .v13)
        #expect(network.wrappedValue.minimumTLSVersion(of: "bare.example") == .v12)
    }

    @Test func whatTheTaskSaysGoesBefore() {
        let refusing = network(true) { $0.allowsArbitraryLoads = false }
        #expect(!refusing.allowsPlaintext(to: "example.org"))
        #expect(refusing.wrappedValue.minimumTLSVersion(of: "example.org") == .v10)
        let own = network(false) { ($0.allowsArbitraryLoads, $0.tlsMinimumVersion) = (true, .v13) }
        #expect(
            own.allowsPlaintext(to: "strict.example.org")
                && own.wrappedValue.minimumTLSVersion(of: "example.org") == .v13)
    }

    /// With HSTS an http URL may still use https, so only the engine refuses it. FTP has no HSTS.
    @Test func onlyTheEngineKnowsWhatIsKnown() throws {
        var options = Boxed(wrappedValue: NetworkOptions())
        options.wrappedValue.allowsPlaintext = false
        let (http, ftp) = (try URLRules.parse("http://a.org/"), try URLRules.parse("ftp://a.org/"))
        #expect(options.refuses(http) && options.refuses(ftp))
        options.wrappedValue.obeysHSTS = true
        #expect(!options.refuses(http) && options.refuses(ftp))
        #expect(!options.refuses(try URLRules.parse("https://a.org/")))
    }

    @Test(arguments: [(SessionKind.background, false), (.default, true), (.ephemeral, true)])
    func hstsIsObeyedByKind(kind: SessionKind, isObeyed: Bool) {
        var session = SessionConfiguration()
        #expect(EffectivePolicy(session: session, kind: kind).network.obeysHSTS == isObeyed)
        for said in [true, false] {
            session.hsts = said
            #expect(EffectivePolicy(session: session, kind: kind).network.obeysHSTS == said)
        }
    }

    @Test(arguments: [
        ("http://a.org/", "https://a.org:443"), ("http://a.org:8080/", "https://a.org:8080"),
        ("http://[::1]:80/", "https://[::1]:443"), ("https://a.org/", nil), ("ftp://a.org/", nil),
    ])
    func theSameServerOverHTTPS(url: String, key: String?) throws {
        #expect(try URLRules.parse(url).securedHostKey == key)
    }

    // MARK: What a session may say

    private func refusal(_ domains: [String: DomainException]) -> JSONValue? {
        var configuration = SessionConfiguration()
        configuration.exceptionDomains = domains
        do {
            try SpecRules(path: "configuration").check(configuration)
            return nil
        } catch {
            #expect(error.code == .badField && error.message.hasPrefix("configuration.exceptionDomains"))
            return error.details["field"]
        }
    }

    @Test func namesAndAddressesAreTaken() {
        #expect(refusal(Self.domains) == nil)
        #expect(refusal(["localhost": DomainException(), "_x.a-b.example.": DomainException()]) == nil)
    }

    @Test(arguments: [
        "", ".", "a..org", ".example.org", "*.example.org", "example.org:80", "http://example.org", "a/b", "a b", "a@b",
        "1.2.3", "256.1.1.1", "a.123", "[::1", "::1::", String(repeating: "a", count: 64) + ".org",
        String(repeating: "a.", count: 127) + "org", "a\u{0}b", "e\u{1F600}\u{0}",
    ])
    func othersAreRefusedByName(_ domain: String) {
        #expect(
            refusal([domain: DomainException()]) == .string("configuration.exceptionDomains[\"\(domain.prefix(60))\"]"))
    }

    @Test func anAddressHasNoSubdomains() {
        for address in ["127.0.0.1", "::1"] {
            #expect(
                refusal([address: DomainException(includesSubdomains: true)])
                    == .string("configuration.exceptionDomains[\"\(address)\"].includesSubdomains"))
        }
    }

    @Test func aDomainIsNamedOnce() {
        let twice = ["Example.org": DomainException(), "example.org": DomainException()]
        #expect(refusal(twice) == "configuration.exceptionDomains[\"example.org\"]")
        #expect(refusal(["bücher.org": .init(), "xn--bcher-kva.org": .init()]) != nil)
        let many = Dictionary(
            uniqueKeysWithValues: (0...Bounds.exceptionDomains).map { ("n\($0).org", DomainException()) })
        #expect(refusal(many) == "configuration.exceptionDomains")
    }
}
