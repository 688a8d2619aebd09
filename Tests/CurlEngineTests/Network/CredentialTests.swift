import Foundation
import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct CredentialTests {
    /// Sends the challenge, and accepts any Authorization field with its scheme.
    private func origin(_ challenge: String) throws -> ScriptedServer {
        let scheme = challenge.prefix { $0 != " " }
        return try ScriptedServer { request, connection in
            if request.header("Authorization")?.hasPrefix(scheme) == true {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            } else {
                connection.send(
                    "HTTP/1.1 401 No\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 6\r\n\r\ndenied")
            }
            return .keepAlive
        }
    }

    @Test(arguments: ["Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=MD5"])
    func answersAChallengeOnce(challenge: String) async throws {
        let bench = try Bench()
        let origin = try origin(challenge)
        let outcome = try await bench.download(origin.url("/x")) {
            $0.network.username = "user"
            $0.network.password = "p:ss"
            $0.headers = [HeaderField("Range", "bytes=0-")]
        }
        #expect(outcome.end == .finished)
        #expect(bench.observer.heard.heads.map(\.status) == [200])
        #expect(try bench.folder.read("part") == Array("ok".utf8))
        #expect(origin.requests.allSatisfy { $0.header("Range") == "bytes=0-" })
        if challenge.hasPrefix("Basic") {
            #expect(origin.requests.last?.header("Authorization") == "Basic dXNlcjpwOnNz")
        }
        await bench.engine.shutdown()
    }

    private func answered(
        _ origin: String, _ method: AuthenticationMethod? = .httpBasic
    ) -> NetworkOptions.OriginCredential {
        var known = NetworkOptions.OriginCredential(origin: origin, username: "user", password: "p:ss")
        known.method = method
        return known
    }

    /// A server that has asked for Basic gets the credential with the first request. For Digest the engine has to
    /// request the server's nonce first.
    @Test(arguments: [
        ("Basic realm=\"r\"", AuthenticationMethod.httpBasic, 1),
        ("Basic realm=\"r\"", nil, 2),
        ("Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=MD5", .httpDigest, 2),
    ])
    func whatIsKnownToBeWantedIsSentUnasked(challenge: String, method: AuthenticationMethod?, count: Int) async throws {
        let bench = try Bench()
        let origin = try origin(challenge)
        let place = "http://127.0.0.1:\(origin.port)"
        let known = answered(place, method)
        let outcome = try await bench.download(origin.url("/x")) { $0.network.answered = [known] }
        #expect(outcome.end == .finished && origin.requests.count == count)
        #expect(bench.observer.heard.heads.map(\.letPass) == [[place]])
        await bench.engine.shutdown()
    }

    /// When the server refuses a credential that was sent before a challenge, the refusal is final.
    @Test func whatWasSentUnaskedAndRefusedIsNotSentAgain() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            return .keepAlive
        }
        let known = answered("http://127.0.0.1:\(origin.port)")
        let outcome = try await bench.download(origin.url("/x")) { $0.network.answered = [known] }
        #expect(outcome.head?.status == 401 && outcome.head?.letPass == [] && origin.requests.count == 1)
        await bench.engine.shutdown()
    }

    /// Each hop gets only the credential that was accepted there.
    @Test func eachHopLetsItsOwnPass() async throws {
        let bench = try Bench()
        let last = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
        let target = last.url("/y")
        let first = try ScriptedServer { request, connection in
            let isKnown = request.header("Authorization") != nil
            connection.send(
                isKnown
                    ? "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            return .keepAlive
        }
        let places = [first, last].map { "http://127.0.0.1:\($0.port)" }
        // The second server sends no challenge, so it gets no credential.
        let known = [answered(places[0]), answered(places[1], .httpDigest), answered("http://other.invalid:80")]
        let outcome = try await bench.download(first.url("/x")) { $0.network.answered = known }
        #expect(outcome.end == .finished)
        #expect(bench.observer.heard.heads.map(\.letPass) == [[places[0]]])
        await bench.engine.shutdown()
    }

    @Test func showsTheJudgeAChallengeThatItCannotAnswer() async throws {
        let bench = try Bench()
        let origin = try origin("Bearer")
        let outcome = try await bench.download(origin.url("/x")) { $0.network.username = "user" }
        guard case .stopped(.failure) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(outcome.head?.status == 401)
        #expect(try bench.folder.read("part").isEmpty)
        await bench.engine.shutdown()
    }

    @Test func showsTheJudgeWrongCredentials() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            return .keepAlive
        }
        let outcome = try await bench.download(origin.url("/x").replacing("http://", with: "http://u:bad@"))
        #expect(outcome.head?.status == 401)
        #expect(outcome.head?.url == origin.url("/x"))
        #expect(origin.requests.count == 2)
        await bench.engine.shutdown()
    }

    @Test func readsANetrcOnlyWhereAsked() async throws {
        let bench = try Bench()
        let origin = try origin("Basic realm=\"r\"")
        try bench.folder.write("netrc", Array("machine 127.0.0.1 login n password p\n".utf8))
        let netrc = bench.folder.file("netrc")
        #expect(try await bench.download(origin.url("/x")).head?.status == 401)
        let outcome = try await bench.download(origin.url("/x")) { $0.network.netrcPath = netrc }
        #expect(outcome.end == .finished)
        #expect(origin.requests.last?.header("Authorization") == "Basic bjpw")
        await bench.engine.shutdown()
    }
}

@Suite struct ProxyTests {
    @Test func asksThroughAnHTTPProxyWithItsPassword() async throws {
        let bench = try Bench()
        let proxy = try ScriptedServer { request, connection in
            if request.header("Proxy-Authorization") == nil {
                connection.send(
                    "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            } else {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            return .keepAlive
        }
        let address = "http://u:p@127.0.0.1:\(proxy.port)"
        let outcome = try await bench.download("http://origin.invalid/x") { $0.network.proxy = address }
        #expect(outcome.end == .finished)
        #expect(proxy.requests.last?.target == "http://origin.invalid/x")
        #expect(proxy.requests.last?.header("Proxy-Authorization") == "Basic dTpw")
        await bench.engine.shutdown()
    }

    /// libcurl would convert the name by the locale of the process.
    @Test(arguments: ["１２７.0.0.1", "%31%32%37.0.0.1", "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1"])
    func itsHostMayBeBeyondASCII(host: String) async throws {
        let bench = try Bench()
        let proxy = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
        let address = "http://\(host):\(proxy.port)"
        let outcome = try await bench.download("http://origin.invalid/x") { $0.network.proxy = address }
        #expect(outcome.end == .finished && proxy.requests.map(\.target) == ["http://origin.invalid/x"])
        await bench.engine.shutdown()
    }

    @Test func answersAProxysChallengeToConnect() async throws {
        let bench = try Bench()
        let proxy = try ScriptedServer { request, connection in
            if request.header("Proxy-Authorization") == nil {
                connection.send(
                    "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
                return .keepAlive
            }
            connection.send("HTTP/1.1 200 Connected\r\n\r\nno TLS here")
            return .close
        }
        let address = "http://u:p@127.0.0.1:\(proxy.port)"
        let outcome = try await bench.download("https://origin.invalid/x") { $0.network.proxy = address }
        guard case .transport(35, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(outcome.proxyStatus == nil)
        #expect(proxy.requests.map(\.method) == ["CONNECT", "CONNECT"])
        #expect(proxy.requests.last?.target == "origin.invalid:443")
        #expect(proxy.requests.last?.header("Proxy-Authorization") == "Basic dTpw")
        await bench.engine.shutdown()
    }

    /// The outcome contains the challenge of a proxy before the connection, and the proxy's answer does not count as an
    /// answer of the server.
    @Test func tellsWhatAProxyAsksForAtConnect() async throws {
        let bench = try Bench()
        let proxy = try ScriptedServer { _, connection in
            connection.send(
                "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r1\"\r\nX: 1\r\nContent-Length: 6\r\n\r\ndenied")
            return .keepAlive
        }
        let address = "http://127.0.0.1:\(proxy.port)"
        let outcome = try await bench.download("https://origin.invalid/x") { $0.network.proxy = address }
        #expect(outcome.proxyStatus == 407 && outcome.head == nil && bench.observer.heard.heads.isEmpty)
        let asked = try #require(outcome.connectHead)
        #expect(ProtectionSpace.demands(asked, proxy: address).first?.realm == "r1")
        #expect(FailureClassifier.classify(outcome, url: "https://origin.invalid/x").challenge == asked)
        await bench.engine.shutdown()
    }

    /// A proxy that has asked for Basic gets the credential with the first CONNECT.
    @Test func aKnownCredentialGoesWithConnect() async throws {
        let bench = try Bench()
        let proxy = try ScriptedServer { request, connection in
            guard request.header("Proxy-Authorization") == "Basic dTpw" else {
                connection.send("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
                return .keepAlive
            }
            connection.send("HTTP/1.1 200 Connected\r\nX: y\r\n\r\nno TLS here")
            return .close
        }
        var known = NetworkOptions.OriginCredential(
            origin: "http://127.0.0.1:\(proxy.port)", username: "u", password: "p")
        known.method = .httpBasic
        let outcome = try await bench.download("https://origin.invalid/x") { [known] in
            $0.network.proxy = known.origin
            $0.network.proxyCredential = known
        }
        guard case .transport(35, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(outcome.connectHead == nil && proxy.requests.map(\.method) == ["CONNECT"])
        #expect(bench.observer.heard.heads.isEmpty)
        await bench.engine.shutdown()
    }

    @Test(arguments: [("http", 407), ("https", 407), ("https", 403)])
    func saysWhenTheProxyRefused(scheme: String, status: Int) async throws {
        let bench = try Bench()
        let proxy = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
            return .close
        }
        let address = "http://127.0.0.1:\(proxy.port)"
        let outcome = try await bench.download("\(scheme)://origin.invalid/x") { $0.network.proxy = address }
        #expect(outcome.proxyStatus == status)
        if scheme == "https" {
            #expect(outcome.head == nil)
            guard case .transport = outcome.end else { throw TestFailure("\(outcome.end)") }
        }
        await bench.engine.shutdown()
    }
}
