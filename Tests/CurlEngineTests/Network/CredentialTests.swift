import Foundation
import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct CredentialTests {
    /// Asks for `scheme`, and is content with any Authorization that begins so.
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
