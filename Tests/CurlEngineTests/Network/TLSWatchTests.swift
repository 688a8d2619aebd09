import CCurl
import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// If the handshake fails, the outcome contains what the TLS server sent. A pinned key replaces verification for the
/// exchanges that pinned it.
@Suite(.enabled(if: Requirements.has("nginx", "openssl")))
struct TLSWatchTests {
    private func untrusted(_ outcome: ExchangeOutcome) throws -> (key: String, isAnother: Bool) {
        guard case .trust(let key, _, let isAnother, let certificates) = outcome.tls?.wish else {
            throw TestFailure("\(outcome.end)")
        }
        #expect(certificates.count == 1)
        return (key, isAnother)
    }

    private func asking(_ url: String, key: String? = nil) -> TLSDecisions {
        var decisions = TLSDecisions(isAsked: true)
        if let key { decisions.places = [TLSDecisions.Place(origin: url, key: key)] }
        return decisions
    }

    @Test func debiansLibcurlSharesOpenSSL() { #expect(dld_curl_shares_openssl()) }

    /// The first connection stays open, and only exchanges that trust the same key use it.
    @Test(arguments: [HTTPVersion.v11, .v2])
    func aConnectionThatWasTrustedIsNotUsedByOthers(version: HTTPVersion) async throws {
        let bench = try Bench()
        let server = try await Nginx.start(tls: true)
        try server.publish("file", bytes: pattern(4096))
        let url = server.tlsURL("file")
        func download(_ decisions: TLSDecisions?) async throws -> ExchangeOutcome {
            try await bench.download(url) {
                $0.network.tls = decisions
                $0.network.httpVersion = version
            }
        }
        let first = try await download(asking(url))
        let (key, isAnother) = try untrusted(first)
        #expect(!isAnother && !first.wasSent)
        for _ in 0..<2 { #expect(try await download(asking(url, key: key)).end == .finished) }
        // nginx writes its log after the answer.
        #expect(await eventually { server.accessLog.count == 2 })
        for decisions in [nil, asking(url), asking("https://localhost:1", key: key)] {
            let outcome = try await download(decisions)
            guard case .transport(60, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
            #expect((outcome.tls != nil) == (decisions != nil) && !outcome.wasSent)
        }
        let wrong = "sha256//" + [UInt8](repeating: 7, count: 32).base64
        let other = try await download(asking(url, key: wrong))
        guard case .transport(90, _) = other.end else { throw TestFailure("\(other.end)") }
        #expect(try untrusted(other) == (key, true))
        #expect(!other.wasSent && server.accessLog.count == 2)
        await bench.engine.shutdown()
    }

    @Test func aCertificateThatIsWantedEndsTheHandshake() async throws {
        let bench = try Bench()
        let server = try await Nginx.start(
            tls: true, extra: "ssl_verify_client optional; ssl_client_certificate ca.pem;")
        try server.publish("file", bytes: pattern(4096))
        let (url, authority) = (server.tlsURL("file"), server.certificates?.authority)
        func download(_ decisions: TLSDecisions?) async throws -> ExchangeOutcome {
            try await bench.download(url) {
                $0.network.trust(authority)
                $0.network.tls = decisions
            }
        }
        let outcome = try await download(asking(url))
        guard case .certificate(let authorities) = outcome.tls?.wish else { throw TestFailure("\(outcome.end)") }
        #expect(authorities.count == 1 && !outcome.wasSent && server.accessLog.isEmpty)
        // This server has another key than the trusted one. No client is asked for a certificate that the server would
        // get.
        let wrong = "sha256//" + [UInt8](repeating: 7, count: 32).base64
        let impostor = try await download(asking(url, key: wrong))
        #expect(try untrusted(impostor).isAnother && !impostor.wasSent && server.accessLog.isEmpty)
        var none = asking(url, key: nil)
        none.places = [TLSDecisions.Place(origin: url)]
        none.places[0].showsNone = true
        #expect(try await download(none).end == .finished)
        var quiet = asking(url)
        quiet.isAsked = false
        #expect(try await download(quiet).end == .finished)
        await bench.engine.shutdown()
    }
}
