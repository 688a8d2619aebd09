import Foundation
import JSONRPC
import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct RequestRouterTests {
    @Test func answersEveryDeclaredMethodAndNoOther() async throws {
        let bench = try await Bench()
        #expect(bench.router.methods == Set(Methods.all.map { $0.name }))
    }

    @Test func refusesWhatItCannotRead() async throws {
        let bench = try await Bench()
        let context = RequestContext(peer: Bench.user, connection: FakeSink(), connections: 1)
        func code(_ method: String, _ text: String) async -> ErrorCode? {
            do {
                _ = try await bench.router.reply(to: method, Array(text.utf8), context)
                return nil
            } catch {
                return (error as? TransferError)?.code
            }
        }
        #expect(await code("task.sing", "{}") == .rpcUnknownMethod)
        #expect(await code("task.get", "[1]") == .badField)
        #expect(await code("task.get", "{\"id\":\"one\"}") == .badField)
        #expect(await code("task.get", "{\"id\":1,\"verbose\":true}") == .unknownField)
        #expect(await code("settings.set", "{\"speed\":1}") == .unknownField)
    }

    /// An unexpected answer of megabytes would end the connection of a client that does not read at once.
    @Test func refusalsAreShortWhateverWasSaid() async throws {
        let long = String(repeating: "e\u{301}", count: 1 << 20)
        let error = TransferError(
            .sessionNotFound, "There is no session \(long).", details: ["session": .string(long), "n": 1])
        let said = RPCError(error)
        #expect(said.message.hasPrefix("There is no session e\u{301}") && said.message.hasSuffix("…"))
        #expect(said.message.utf8.count < 20_000)
        #expect(said.details.count < 20_000)
        let short = RPCError(TransferError(.taskNotFound, "There is no task 7.", details: ["task": 7]))
        #expect(short.message == "There is no task 7." && short.details == Array("{\"task\":7}".utf8))
    }

    /// The whole path: socket, identity from the kernel, router, feed.
    @Test func servesAClient() async throws {
        let bench = try await Bench(mode: .user)
        let folder = try TemporaryFolder()
        let socket = folder.file("s")
        let server = try await RPCServer.start(on: .path(try SocketPath(socket)), handler: bench.router)
        let events = FakeSink()
        let client = try await RPCClientConnection.connect(to: socket) { method, parameters in
            events.send(
                Array("{\"jsonrpc\":\"2.0\",\"method\":\"\(method)\",\"params\":".utf8), parameters, Array("}".utf8))
        } closed: { _ in
        }
        _ = try await client.request("events.subscribe", Array("{\"after\":\"start\"}".utf8))
        _ = try await client.request("task.add", Array("{\"tasks\":[{\"url\":\"https://example.org\"}]}".utf8))
        #expect(await events.events(1).first?.type == .taskAdded)
        let info = try await client.request("daemon.stats", Array("{}".utf8))
        #expect(try JSONCoding.decode(DaemonStats.self, from: info, lenient: true).connections == 1)
        await #expect(throws: RPCClientConnection.Failure.self) {
            try await client.request("task.get", Array("{\"id\":99}".utf8))
        }
        await client.close()
        #expect(await eventually { bench.feed.subscriptionCount == 0 })
        await server.stop()
    }
}
