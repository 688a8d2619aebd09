import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct RedirectTests {
    /// Redirects `/` to `target`, and answers everything else with "ok".
    private func origin(status: Int = 302, body: String = "moved", to target: String) throws -> ScriptedServer {
        try ScriptedServer { request, connection in
            if request.target == "/" {
                let length = "Content-Length: \(body.utf8.count)\r\n"
                connection.send("HTTP/1.1 \(status) Moved\r\nLocation: \(target)\r\n\(length)\r\n\(body)")
            } else {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            return .keepAlive
        }
    }

    @Test func followsAndReportsWhereTheBytesCameFrom() async throws {
        let bench = try Bench()
        let origin = try origin(to: "/next")
        let outcome = try await bench.download(origin.url("/"))
        #expect(outcome.end == .finished)
        #expect(outcome.head?.url == origin.url("/next"))
        #expect(outcome.head?.redirects == 1)
        #expect(bench.observer.heard.redirects == ["302 \(origin.url("/next"))"])
        #expect(bench.observer.heard.heads.map(\.status) == [200])
        #expect(try bench.folder.read("part") == Array("ok".utf8))
        #expect(origin.connectionCount == 1)
        await bench.engine.shutdown()
    }

    @Test func doesNotReadALongBodyOfARedirect() async throws {
        let bench = try Bench()
        let origin = try origin(body: String(repeating: "x", count: 1 << 20), to: "/next")
        #expect(try await bench.download(origin.url("/")).end == .finished)
        #expect(try bench.folder.read("part") == Array("ok".utf8))
        await bench.engine.shutdown()
    }

    @Test func sendsOnlyHarmlessHeadersToAnotherOrigin() async throws {
        let bench = try Bench()
        let other = try origin(to: "/unused")
        let first = try origin(to: other.url("/target"))
        let outcome = try await bench.download(first.url("/")) { exchange in
            exchange.headers = [
                HeaderField("X-Api-Key", "k"), HeaderField("Accept", "x/y"), HeaderField("Range", "bytes=0-"),
            ]
            exchange.network.bearer = "token"
        }
        #expect(outcome.end == .finished)
        #expect(first.requests.first?.header("X-Api-Key") == "k")
        #expect(first.requests.first?.header("Authorization") == "Bearer token")
        let arrived = try #require(other.requests.first)
        #expect(arrived.header("X-Api-Key") == nil)
        #expect(arrived.header("Authorization") == nil)
        #expect(arrived.header("Accept") == "x/y")
        #expect(arrived.header("Range") == "bytes=0-")
        await bench.engine.shutdown()
    }

    @Test func stopsALoop() async throws {
        let bench = try Bench()
        let origin = try origin(to: "/")
        let outcome = try await bench.download(origin.url("/"))
        guard case .refusedRedirect(let error) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(error.code == .httpRedirectLimit)
        #expect(origin.requests.count == 21)
        await bench.engine.shutdown()
    }

    @Test(arguments: [("file:///etc/passwd", ErrorCode.httpProtocol), ("http://127.0.0.1:1/", .plaintextRefused)])
    func refusesForbiddenTargets(target: String, code: ErrorCode) async throws {
        let bench = try Bench()
        // Only the target is forbidden. The first request is plain HTTP, because the rule can be tested without TLS.
        var request = try RequestState(
            Exchange(url: "https://a.example/", judge: Judge.taking()).refusingPlaintext(),
            url: #require(CurlURL("https://a.example/")))
        let error = #expect(throws: TransferError.self) { try request.follow(status: 302, location: target) }
        #expect(error?.code == code)
        let origin = try origin(to: "file:///etc/passwd")
        guard case .refusedRedirect = try await bench.download(origin.url("/")).end else {
            throw TestFailure("followed")
        }
        #expect(try bench.folder.read("part").isEmpty)
        await bench.engine.shutdown()
    }

    @Test func turnsPostIntoGet() async throws {
        let bench = try Bench()
        let origin = try origin(status: 303, to: "/next")
        let outcome = try await bench.download(origin.url("/")) {
            $0.method = "POST"
            $0.payload = .bytes(Array("hello".utf8))
        }
        #expect(outcome.end == .finished)
        #expect(origin.requests.map(\.method) == ["POST", "GET"])
        #expect(origin.requests.map(\.body.count) == [5, 0])
        await bench.engine.shutdown()
    }

    @Test func keepsPostOn307() async throws {
        let bench = try Bench()
        let origin = try origin(status: 307, to: "/next")
        let outcome = try await bench.download(origin.url("/")) { $0.payload = .bytes(Array("hello".utf8)) }
        #expect(outcome.end == .finished)
        #expect(origin.requests.map(\.method) == ["POST", "POST"])
        #expect(origin.requests.map(\.body.count) == [5, 5])
        await bench.engine.shutdown()
    }
}

extension Exchange {
    fileprivate func refusingPlaintext() -> Exchange {
        var copy = self
        copy.network.allowsPlaintext = false
        return copy
    }
}
