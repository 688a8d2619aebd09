import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

struct NetworkInterfaceTests {
    @Test func theLoopbackIsFoundByNameAndByAddress() {
        let index = if_nametoindex("lo")
        for name in ["lo", "if!lo"] {
            let found = NetworkInterface(name)
            #expect(found?.index == index && found?.address == nil, "\(name)")
        }
        let found = NetworkInterface("127.0.0.1")
        #expect(found?.index == index && found?.address == "127.0.0.1")
        for name in ["nosuch0", "192.0.2.77", "2001:db8::77", "a/b"] {
            #expect(NetworkInterface(name) == nil, "\(name)")
        }
    }

    /// A connection of one device serves no request that is bound to another, or to none, and the other way round.
    @Test func connectionsAreNotSharedWithOtherBindings() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
        for (count, name) in [
            (1, nil), (1, nil), (2, "lo"), (2, "if!lo"), (2, nil), (3, "127.0.0.1"), (3, "127.0.0.1"),
        ] {
            let outcome = try await bench.download(origin.url("/")) { $0.network.interface = name }
            #expect(outcome.end == .finished, "\(name ?? "none")")
            #expect(origin.connectionCount == count, "\(name ?? "none")")
        }
        await bench.engine.shutdown()
    }

    @Test func nothingIsSentWithoutTheDevice() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, _ in .close }
        let outcome = try await bench.download(origin.url("/")) { $0.network.interface = "nosuch0" }
        #expect(outcome.end == .stopped(.failure(.noInterface("nosuch0"), retryAfter: nil)))
        #expect(!outcome.wasSent && origin.connectionCount == 0)
        let helper = try await bench.download("scheme://place/") { $0.network.interface = "lo" }
        #expect(helper.end == .stopped(.failure(.unboundHelper("scheme"), retryAfter: nil)))
        await bench.engine.shutdown()
    }
}
