import Glibc
import JSONRPC
import NIOConcurrencyHelpers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(4)))
struct RPCClientConnectionTests {
    @Test func matchesAnswersToRequests() async throws {
        try await withServer { socket, _, _ in
            let client = try await RPCClientConnection.connect(to: socket) { _, _ in
            } closed: { _ in
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let text = Array("[\(number)]".utf8)
                        let answer = try await client.request("echo", text)
                        #expect(answer == text)
                    }
                }
                try await group.waitForAll()
            }
            await client.close()
        }
    }

    @Test func handsOnErrors() async throws {
        try await withServer { socket, _, _ in
            let client = try await RPCClientConnection.connect(to: socket) { _, _ in
            } closed: { _ in
            }
            do throws(RPCClientConnection.Failure) {
                _ = try await client.request("fail", Array("{}".utf8))
                Issue.record("not refused")
            } catch {
                guard case .refused(let text) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(String(decoding: text, as: UTF8.self).contains("task.not_found"))
            }
            await client.close()
        }
    }

    @Test func failsOpenRequestsWhenTheServerGoes() async throws {
        let reasons = NIOLockedValueBox([String]())
        try await withServer { socket, handler, server in
            let client = try await RPCClientConnection.connect(to: socket) { _, _ in
            } closed: { reason in
                reasons.withLockedValue { $0.append(reason) }
            }
            let held = Task { try await client.request("hold", Array("{}".utf8)) }
            #expect(await eventually { handler.held == 1 })
            await server.stop()
            await #expect(throws: RPCClientConnection.Failure.self) { try await held.value }
            await #expect(throws: RPCClientConnection.Failure.self) {
                try await client.request("echo", Array("{}".utf8))
            }
            #expect(await eventually { reasons.withLockedValue { $0 } == ["the daemon closed the connection"] })
        }
    }

    @Test func anAnswerThatIsTooLongIsCalledThat() async throws {
        try await withServer { socket, _, _ in
            let client = try await RPCClientConnection.connect(to: socket, longestLine: 1000) { _, _ in
            } closed: { _ in
            }
            let text = Array("[\"\(String(repeating: "a", count: 1000))\"]".utf8)
            do throws(RPCClientConnection.Failure) {
                _ = try await client.request("echo", text)
                Issue.record("answered")
            } catch {
                guard case .connectionLost(let reason) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(reason == "the daemon's answer is longer than 1000 bytes; ask for less at once")
            }
        }
    }

    @Test func refusesWhatIsNoJSONRPC() async throws {
        try await withServer { socket, _, _ in
            let reasons = NIOLockedValueBox([String]())
            let client = try await RPCClientConnection.connect(to: socket) { _, _ in
            } closed: { reason in
                reasons.withLockedValue { $0.append(reason) }
            }
            // The notifications of `burst` have no method.
            _ = try? await client.request("burst", Array("{}".utf8))
            #expect(await eventually { reasons.withLockedValue { $0 } == ["the daemon's answer is not JSON-RPC"] })
        }
    }

    /// A daemon that is killed leaves requests unread.
    @Test func aResetConnectionWasClosedByTheDaemon() async throws {
        let listener = try ResettingListener()
        let client = try await RPCClientConnection.connect(to: listener.path) { _, _ in
        } closed: { _ in
        }
        let request = Task { try await client.request("echo", Array("{}".utf8)) }
        try listener.resetFirst()
        let failure = await #expect(throws: RPCClientConnection.Failure.self) { try await request.value }
        guard case .connectionLost(let reason)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reason == "the daemon closed the connection")
    }
}

/// Closes each connection as soon as a request arrives, without reading it.
private final class ResettingListener: Sendable {
    let path: String
    private let folder: TemporaryFolder
    private let socket: Int32

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("s")
        socket = try listen(on: path)
    }

    deinit { close(socket) }

    func resetFirst() throws {
        let connection = accept(socket, nil, nil)
        guard connection >= 0 else { throw SupportError("accept: errno \(errno)") }
        var waiting = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        _ = poll(&waiting, 1, 60_000)
        close(connection)
    }
}
