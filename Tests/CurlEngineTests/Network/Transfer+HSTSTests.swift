import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Knows some hosts, and records the fields that it gets.
final class KnownHosts: HSTSKeeping {
    private let names: Set<String>
    private let fields = Guarded<[String]>([])

    init(_ names: String...) { self.names = Set(names) }

    var heard: [String] { fields.withLock { $0 } }

    func isKnown(_ host: String) -> Bool { names.contains(host) }

    func receive(_ field: String, from host: String) { fields.withLock { $0.append("\(host): \(field)") } }
}

/// RFC 6797 section 8.3: the URL is changed before anything is sent, for the first request and for each redirect.
@Suite struct HSTSTests {
    private func request(
        _ url: String, _ hsts: KnownHosts? = KnownHosts("a.example"), _ change: (inout Exchange) -> Void = { _ in }
    ) throws -> RequestState {
        var exchange = Exchange(url: url, judge: Judge.taking())
        exchange.headers = [HeaderField("Authorization", "Own x"), HeaderField("X-Api-Key", "secret")]
        change(&exchange)
        return try RequestState(exchange, url: #require(CurlURL(exchange.url)), hsts)
    }

    @Test(arguments: [
        ("http://a.example/x?y", "https://a.example/x?y", "443"),
        ("http://A.Example:80/x", "https://a.example/x", "443"),
        ("http://a.example:8080/", "https://a.example:8080/", "8080"),
        ("https://a.example/", "https://a.example/", "443"),
        ("http://u:p@a.example/", "https://a.example/", "443"), ("http://b.example/", "http://b.example/", "80"),
        ("ftp://a.example/", "ftp://a.example/", "21"),
    ])
    func theFirstRequest(url: String, secured: String, port: String) throws {
        let state = try request(url)
        #expect(state.url.text.lowercased() == secured && state.url.port == port)
        #expect(state.url.scheme == (secured.hasPrefix("https") ? "https" : String(secured.prefix { $0 != ":" })))
        #expect((state.insecureURL != nil) == (secured.hasPrefix("https") && !url.hasPrefix("https")))
        #expect(try request(url, nil).insecureURL == nil)
    }

    /// The method, the body and everything that was meant for the host stay the same.
    @Test func nothingElseOfTheRequestChanges() throws {
        let state = try request("http://a.example/") {
            $0.method = "POST"
            $0.payload = .bytes([1])
            $0.network.answered = [
                NetworkOptions.OriginCredential(origin: "http://a.example:80", username: "plain", password: "p")
            ]
        }
        #expect(state.effectiveMethod == "POST" && state.sendsPayload && state.redirects == 0 && !state.isForeign)
        #expect(state.headers.map(\.name) == ["Authorization", "X-Api-Key"])
        // A credential that a client gave to the server over http is not for the server over https.
        #expect(state.credentials == nil)
        #expect(state.cookieURL.isSecure)
        let answered = try request("http://a.example/") {
            $0.network.answered = [
                NetworkOptions.OriginCredential(origin: "https://a.example:443", username: "tls", password: "p")
            ]
        }
        #expect(answered.credentials?.user == "tls")
    }

    @Test func eachRedirect() throws {
        var state = try request("https://b.example/")
        try state.follow(status: 307, location: "http://a.example:80/next")
        #expect(state.url.text == "https://a.example/next" && state.insecureURL == "http://a.example:80/next")
        #expect(state.isKnownHost && state.isForeign && state.headers.isEmpty)
        try state.follow(status: 307, location: "/again")
        #expect(state.url.text == "https://a.example/again" && state.insecureURL == nil && state.isKnownHost)
        try state.follow(status: 307, location: "http://b.example/")
        #expect(state.url.text == "http://b.example/" && !state.isKnownHost && state.insecureURL == nil)
    }

    /// The server may redirect to http on the same host. This is the same origin, and the fields that identify the
    /// caller are kept.
    @Test func aRedirectBackToHTTPIsTheSameOrigin() throws {
        var state = try request("http://a.example/")
        try state.follow(status: 302, location: "http://a.example/next")
        #expect(state.url.text == "https://a.example/next" && !state.isForeign)
        #expect(state.headers.map(\.name) == ["Authorization", "X-Api-Key"])
    }

    /// HSTS comes first. The rule about plaintext then judges the URL that would be requested.
    @Test func plaintextIsJudgedAfterwards() throws {
        var state = try request("http://a.example/") { $0.network.allowsPlaintext = false }
        try state.follow(status: 302, location: "http://a.example/next")
        let error = #expect(throws: TransferError.self) {
            try state.follow(status: 302, location: "http://b.example/")
        }
        #expect(error?.code == .plaintextRefused && error?.message.contains("b.example") == true)
    }

    @Test func anExceptionAllowsWhatTheSessionForbids() throws {
        let exceptions = TransportExceptions(["b.example": DomainException(allowsInsecureHTTPLoads: true)])
        var state = try request("http://b.example/") {
            ($0.network.allowsPlaintext, $0.network.exceptions) = (false, exceptions)
        }
        for location in ["http://c.example/", "http://x.b.example/"] {
            let error = #expect(throws: TransferError.self) { try state.follow(status: 302, location: location) }
            #expect(error?.code == .plaintextRefused)
        }
    }
}

/// What the engine learns from answers of a real server.
@Suite(.enabled(if: Requirements.has("nginx", "openssl")))
struct HSTSLearningTests {
    private static let server = """
        add_header Strict-Transport-Security "max-age=1000" always;
        add_header Strict-Transport-Security "max-age=0" always;
        location = /away { return 302 /file; }
        location = /refused { return 404; }
        """

    private func learned(
        _ url: (Nginx) -> String, _ hosts: KnownHosts = KnownHosts()
    ) async throws -> (heard: [String], outcome: ExchangeOutcome, redirects: [String]) {
        let nginx = try await Nginx.start(tls: true, extra: Self.server)
        try nginx.publish("file", Content(seed: 1, size: 100))
        let bench = try Bench(hsts: hosts)
        let outcome = try await bench.download(url(nginx)) { exchange in
            exchange.network.trust(nginx.certificates?.authority)
        }
        await bench.engine.shutdown()
        return (hosts.heard, outcome, bench.observer.heard.redirects)
    }

    /// Section 8.1: the first field of any answer counts.
    @Test(.timeLimit(.minutes(1)), arguments: ["file", "refused"])
    func theFirstFieldOfAnAnswerOverTLS(path: String) async throws {
        #expect(try await learned { $0.tlsURL(path) }.heard == ["localhost: max-age=1000"])
    }

    @Test(.timeLimit(.minutes(1))) func ofARedirectToo() async throws {
        #expect(try await learned { $0.tlsURL("away") }.heard == Array(repeating: "localhost: max-age=1000", count: 2))
    }

    @Test(.timeLimit(.minutes(1))) func nothingOverHTTP() async throws {
        let (heard, outcome, _) = try await learned { "http://localhost:\($0.port)/file" }
        #expect(heard.isEmpty && outcome.head?.values("strict-transport-security").count == 2)
    }

    /// The http URL of a known host is requested over https. The port stays the same unless it is 80.
    @Test(.timeLimit(.minutes(1))) func aKnownHostIsAskedOverTLS() async throws {
        let (_, outcome, redirects) = try await learned(
            { "http://localhost:\($0.tlsPort)/file" }, KnownHosts("localhost"))
        #expect(outcome.end == .finished && outcome.head?.url.hasPrefix("https://localhost:") == true)
        #expect(outcome.head?.redirects == 0 && redirects == ["hsts \(outcome.head?.url ?? "")"])
    }

    /// A key that a client trusts in place of verification proves no name (section 8.1). It does not help when the host
    /// is known (section 8.4).
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func aTrustedKeyIsNoVerification(isKnown: Bool) async throws {
        let key = { @Sendable (nginx: Nginx) async throws -> String in
            let pem = try #require(nginx.certificates?.certificate)
            let digest = try await Program.run([
                "sh", "-c",
                "openssl x509 -in '\(pem)' -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64 -A",
            ]).output
            return "sha256//" + digest
        }
        let nginx = try await Nginx.start(tls: true, extra: Self.server)
        try nginx.publish("file", Content(seed: 1, size: 100))
        let hosts = isKnown ? KnownHosts("localhost") : KnownHosts()
        let bench = try Bench(hsts: hosts)
        let trusted = try await key(nginx)
        let outcome = try await bench.download(nginx.tlsURL("file")) { exchange in
            var tls = TLSDecisions(isAsked: true)
            tls.places = [.init(origin: "https://localhost:\(nginx.tlsPort)", key: trusted)]
            exchange.network.tls = tls
        }
        #expect(hosts.heard.isEmpty && (outcome.end == .finished) == !isKnown, "\(outcome.end)")
        // No client is asked to accept the key.
        if isKnown { #expect(outcome.tls == nil) }
        await bench.engine.shutdown()
    }

    /// The oldest TLS version is the one for the host of each hop.
    @Test(.timeLimit(.minutes(1)), arguments: [("localhost", false), ("other.example", true)])
    func theOldestVersionIsTheHosts(domain: String, succeeds: Bool) async throws {
        let nginx = try await Nginx.start(
            tls: true,
            extra: """
                ssl_protocols TLSv1.2;
                location = /away { return 302 https://localhost:$server_port/file; }
                """)
        try nginx.publish("file", Content(seed: 1, size: 100))
        let bench = try Bench()
        for path in ["file", "away"] {
            let outcome = try await bench.download(nginx.tlsURL(path)) { exchange in
                exchange.network.trust(nginx.certificates?.authority)
                exchange.network.tlsMinimumVersion = .v12
                exchange.network.exceptions = TransportExceptions([domain: DomainException(minimumTLSVersion: .v13)])
            }
            #expect((outcome.end == .finished) == succeeds, "\(path): \(outcome.end)")
        }
        await bench.engine.shutdown()
    }
}
