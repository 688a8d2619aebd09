import TestSupport
import Testing
import TransferModel

/// The transport policy of sessions beside HSTS: unencrypted transfers and versions of TLS.
extension EndToEnd.Remembering.HSTS {
    /// HSTS comes before the session's rule about http, and a redirect is judged like a first request.
    @Test(.timeLimit(.minutes(1))) func plaintextIsRefusedUnlessHSTSMakesItHTTPS() async throws {
        let house = try await House()
        try await house.open("strict", ["allowsArbitraryLoads": false])
        let first = try await house.add(house.insecure("file"), to: "first", session: "strict")
        let failed = try await house.scene.probe.wait(for: first, "failed")
        #expect(failed.errorCode == "policy.plaintext_refused" && failed["attempts"] == 1, "\(failed)")
        try await house.learn(session: "strict")
        #expect(try await house.scene.probe.control("retry", first))
        try await house.scene.probe.wait(for: first, "completed")
        // An address is never a known host.
        let address = try await house.add("http://127.0.0.1:\(house.server.port)/plain", to: "b", session: "strict")
        #expect(
            try await house.scene.probe.wait(for: address, "failed").errorCode == "policy.plaintext_refused")
    }

    @Test(.timeLimit(.minutes(1))) func exceptionsAreOfDomains() async throws {
        let house = try await House()
        house.scene.origin.serve("/file", .redirect(to: "http://localhost:\(house.server.port)/plain"))
        house.scene.origin.serve("/good", .status(200, [], body: "plain"))
        try await house.open(
            "exceptions",
            [
                "allowsArbitraryLoads": false, "hsts": false,
                "exceptionDomains": ["127.0.0.1": ["allowsInsecureHTTPLoads": true]],
            ])
        let allowed = try await house.scene.add("/good", to: "allowed", session: "exceptions")
        try await house.scene.probe.wait(for: allowed, "completed")
        let redirected = try await house.scene.add(to: "redirected", session: "exceptions")
        let failed = try await house.scene.probe.wait(for: redirected, "failed")
        #expect(failed.errorCode == "policy.plaintext_refused", "\(failed)")
        try await house.scene.probe.call(
            "session.open",
            [
                "id": "exceptions",
                "configuration": [
                    "exceptionDomains": [
                        "LOCALHOST": ["allowsInsecureHTTPLoads": true],
                        "127.0.0.1": ["allowsInsecureHTTPLoads": true],
                    ]
                ],
            ])
        #expect(try await house.scene.probe.control("retry", redirected))
        try await house.scene.probe.wait(for: redirected, "completed")
    }

    @Test(.timeLimit(.minutes(1))) func theOldestTLSVersionIsOfDomains() async throws {
        let house = try await House(extra: "ssl_protocols TLSv1.2;")
        try await house.open("new", ["exceptionDomains": ["localhost": ["minimumTLSVersion": "1.3"]]])
        let refused = try await house.add(
            house.server.tlsURL("file"), to: "refused", ["retry": ["attempts": 1]], session: "new")
        #expect(try await house.scene.probe.wait(for: refused, "failed").errorCode == "tls.failed")
        try await house.open("other", ["exceptionDomains": ["example.org": ["minimumTLSVersion": "1.3"]]])
        let taken = try await house.add(house.server.tlsURL("file"), to: "taken", session: "other")
        try await house.scene.probe.wait(for: taken, "completed")
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (
                ["example.org": ["minimumTLSVersion": "1.4"]],
                "configuration.exceptionDomains[\"example.org\"].minimumTLSVersion"
            ),
            (["example.org": ["unknown": true]], "configuration.exceptionDomains[\"example.org\"].unknown"),
            (["*.example.org": [:]], "configuration.exceptionDomains[\"*.example.org\"]"),
            (["::1": ["includesSubdomains": true]], "configuration.exceptionDomains[\"::1\"].includesSubdomains"),
        ] as [(JSONValue, String)])
    func aMistakeIsNamed(domains: JSONValue, field: String) async throws {
        let scene = try await Scene()
        do {
            try await scene.probe.call(
                "session.open", ["id": "x", "configuration": ["exceptionDomains": domains]])
            Issue.record("it was taken")
        } catch let failure as RPCFailure {
            let code = field.hasSuffix(".unknown") ? "request.unknown_field" : "request.bad_field"
            #expect(failure.code == code && failure.message.hasPrefix(field), "\(failure)")
        }
    }
}
