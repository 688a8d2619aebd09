import Glibc
import TestSupport
import Testing

@testable import JSONRPC

@Suite(.timeLimit(.minutes(4)))
struct ListenerFarewellTests {
    private static let error = RPCError(code: -32000, message: "It cannot start.", cause: "daemon.shutting_down")

    @Test func everybodyWhoWaitsHearsWhy() async throws {
        let folder = try TemporaryFolder()
        let path = try SocketPath(folder.file("socket"))
        let listener = try path.open().descriptor
        defer { close(listener) }
        var clients: [RPCClientConnection] = []
        for _ in 0..<5 {
            clients.append(
                try await RPCClientConnection.connect(to: path.path) { _, _ in
                } closed: { _ in
                })
        }
        // Some requests are on their way, others come later. All of them get the answer.
        let asked = clients.prefix(3).map { client in Task { await Self.refusal(client) } }
        let told = try await Threads.run { ListenerFarewell.refuse(waitingAt: listener, with: Self.error) }
        #expect(told == 5)
        for task in asked { #expect(await task.value.contains("It cannot start.")) }
        for client in clients { #expect(await Self.refusal(client).contains("daemon.shutting_down")) }
        var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        #expect(poll(&waiting, 1, 0) == 0, "somebody still waits, for whom the daemon would be started again")
    }

    @Test func whoNeverReadsOrClosesHoldsNobody() async throws {
        let folder = try TemporaryFolder()
        let path = try SocketPath(folder.file("socket"))
        let listener = try path.open().descriptor
        defer { close(listener) }
        let silent = try await LineClient.connect(to: path.path, reads: false)
        let told = try await Threads.run { ListenerFarewell.refuse(waitingAt: listener, with: Self.error) }
        #expect(told == 1)
        await silent.close()
    }

    @Test func nobodyIsWaitedFor() async throws {
        let folder = try TemporaryFolder()
        let listener = try SocketPath(folder.file("socket")).open().descriptor
        defer { close(listener) }
        #expect(ListenerFarewell.refuse(waitingAt: listener, with: Self.error) == 0)
    }

    /// Returns the text of the refusal, or an empty text if there is none.
    private static func refusal(_ client: RPCClientConnection) async -> String {
        do throws(RPCClientConnection.Failure) {
            _ = try await client.request("echo", Array("{}".utf8))
        } catch {
            if case .refused(let text) = error { return String(decoding: text, as: UTF8.self) }
        }
        return ""
    }
}
