import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// What one transfer leaves in a handle that another transfer uses later.
@Suite struct HandlePoolTests {
    private func origin() throws -> ScriptedServer {
        try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
    }

    @Test func credentialsOfOneTransferAreNotSentWithTheNext() async throws {
        let bench = try Bench()
        let origin = try origin()
        for name in ["plain", "secret", "plain"] {
            let outcome = try await bench.download(origin.url("/\(name)")) { exchange in
                exchange.headers = [HeaderField("X-Name", name)]
                guard name == "secret" else { return }
                exchange.headers.append(HeaderField("X-Token", "t"))
                exchange.network.username = "user"
                exchange.network.password = "password"
            }
            #expect(outcome.end == .finished)
        }
        #expect(origin.connectionCount == 1)
        #expect(origin.requests.map { $0.header("X-Name") } == ["plain", "secret", "plain"])
        #expect(origin.requests.map { $0.header("X-Token") } == [nil, "t", nil])
        #expect(origin.requests.map { $0.header("User-Agent") != nil } == [true, true, true])
        #expect(origin.requests[2].header("Authorization") == nil)
        await bench.engine.shutdown()
    }

    @Test func aMethodOfOneTransferIsNotTheNextOnes() async throws {
        let bench = try Bench()
        let origin = try origin()
        for method in ["GET", "REPORT", "GET"] {
            let outcome = try await bench.download(origin.url("/")) { $0.method = method }
            #expect(outcome.end == .finished)
        }
        #expect(origin.requests.map(\.method) == ["GET", "REPORT", "GET"])
        await bench.engine.shutdown()
    }

    @Test func theOptionsOfAnotherNetworkApply() async throws {
        let bench = try Bench()
        let origin = try origin()
        #expect(try await bench.download(origin.url("/")).end == .finished)
        let outcome = try await bench.download(origin.url("/")) { $0.network.proxy = "http://127.0.0.1:1" }
        guard case .transport(7, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(try await bench.download(origin.url("/")).end == .finished)
        await bench.engine.shutdown()
    }
}
