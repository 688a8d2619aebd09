import Glibc
import JSONRPC
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import TransferClient

@Suite(.timeLimit(.minutes(4)))
struct DaemonClientTests {
    @Test func callsAMethod() async throws {
        try await withDaemon { client, daemon in
            let added = try await client.call(Methods.addTasks, .init(session: "work", tasks: [TaskSpec()]))
            #expect(added.tasks == [.init(id: TaskID(1), state: .queued)])
            #expect(daemon.requests.first?.contains("\"session\":\"work\"") == true)
        }
    }

    @Test func errorsArriveWhole() async throws {
        try await withDaemon { client, _ in
            let error = await #expect(throws: TransferError.self) {
                try await client.call(Methods.getTask, .init(id: TaskID(9)))
            }
            #expect(error == TransferError(.taskNotFound, "There is no task 9.", details: ["task": 9]))
        }
    }

    /// However early the daemon closes, and whatever the client has sent before.
    @Test func aRefusedConnectionSaysWhy() async throws {
        let folder = try TemporaryFolder()
        let daemon = FakeDaemon()
        var limits = RPCLimits()
        limits.connections = 0
        let server = try await RPCServer.start(
            on: .path(try SocketPath(folder.file("s"))), limits: limits, handler: daemon)
        daemon.serve(server)
        for _ in 0..<300 {
            let client = try await DaemonClient.connect(to: folder.file("s"))
            let error = await #expect(throws: TransferError.self) {
                try await client.call(Methods.getSettings, .init())
            }
            #expect(error?.code == .limitReached)
            await client.close()
        }
        await daemon.stop()
    }

    @Test func saysWhenAnAnswerIsNotUnderstood() async throws {
        try await withDaemon { client, _ in
            let error = await #expect(throws: ClientError.self) { try await client.call(Methods.getSettings, .init()) }
            guard case .protocolMismatch(let method, _)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(method == "settings.get")
        }
    }

    @Test func streamsEveryEventInOrder() async throws {
        try await withDaemon { client, _ in
            let (name, head, events) = try await client.subscribe(.init(after: .start))
            #expect(name == "s1" && head == SequenceNumber(FakeDaemon.eventCount))
            var next: Int64 = 1
            for try await event in events {
                #expect(event.sequence?.rawValue == next && event.type == .taskAdded)
                next += 1
                if next > FakeDaemon.eventCount { break }
            }
            #expect(next == FakeDaemon.eventCount + 1)
        }
    }

    @Test func piecesOfABodyGoToWhoWaitsForThem() async throws {
        try await withDaemon { client, _ in
            let (body, other) = (client.body(of: TaskID(7)), client.body(of: TaskID(8)))
            #expect(try await client.call(Methods.giveCredit, .init(id: TaskID(7), bytes: 3)).credit == 0)
            client.endBody(of: TaskID(7))
            client.endBody(of: TaskID(8))
            var pieces: [TaskData] = []
            for try await piece in body { pieces.append(piece) }
            #expect(pieces.map(\.offset) == [0, 1, 2] && pieces.allSatisfy { $0.base64 == "eA==" })
            for try await _ in other { Issue.record("a piece of another body") }
        }
    }

    @Test func endsAStreamWhenUnsubscribed() async throws {
        try await withDaemon { client, daemon in
            let (name, _, events) = try await client.subscribe(.init())
            try await client.unsubscribe(name)
            var count: Int64 = 0
            for try await _ in events { count += 1 }
            #expect(count == FakeDaemon.eventCount)
            #expect(daemon.requests.last?.contains(name) == true)
        }
    }

    @Test func unsubscribesWhenTheReaderIsCancelled() async throws {
        try await withDaemon { client, daemon in
            let (name, _, events) = try await client.subscribe(.init())
            let reader = Task { for try await _ in events {} }
            reader.cancel()
            _ = try? await reader.value
            #expect(await eventually { daemon.requests.last?.contains("\"subscription\":\"\(name)\"") == true })
        }
    }

    @Test func tellsWhenTheDaemonGoes() async throws {
        try await withDaemon { client, daemon in
            let (_, _, events) = try await client.subscribe(.init())
            let pending = Task { try await client.call(Methods.daemonInfo, .init()) }
            #expect(await eventually { daemon.requests.contains { $0.hasPrefix("daemon.info") } })
            await daemon.stop()
            let error = await #expect(throws: ClientError.self) { try await pending.value }
            #expect(error == .connectionLost("the daemon closed the connection"))
            await #expect(throws: ClientError.self) { for try await _ in events {} }
            await #expect(throws: ClientError.self) { try await client.call(Methods.daemonInfo, .init()) }
        }
    }

    /// The daemon accepts connections, but never answers.
    @Test func aSilentDaemonIsGivenUp() async throws {
        try await withDaemon(patience: .seconds(2)) { client, _ in
            let error = await #expect(throws: ClientError.self) { try await client.call(Methods.daemonInfo, .init()) }
            #expect(error == .noAnswer(socket: client.socketPath, method: "daemon.info", seconds: 3))
            #expect(error?.description.contains(client.socketPath) == true)
        }
    }

    @Test func aBusyDaemonIsWaitedFor() async throws {
        // A test with a sanitizer on a busy machine may take seconds for an answer, too.
        try await withDaemon(patience: .seconds(24)) { client, daemon in
            daemon.answersInfo()
            let pending = Task { try await client.call(Methods.daemonStats, .init()) }
            for count in 1...2 {
                #expect(await eventually { daemon.requests.count { $0.hasPrefix("daemon.info") } >= count })
            }
            daemon.release()
            // The client does not understand the empty object, which shows that it has arrived.
            let error = await #expect(throws: ClientError.self) { try await pending.value }
            guard case .protocolMismatch? = error else { Issue.record("\(String(describing: error))"); return }
            _ = try await client.call(Methods.addTasks, .init(session: "work", tasks: [TaskSpec()]))
        }
    }

    @Test func saysWhyThereIsNoDaemon() async throws {
        let absent = await #expect(throws: ClientError.self) { try await DaemonClient.connect(to: "/nonexistent/s") }
        #expect(absent?.description == "No daemon at /nonexistent/s: the socket does not exist.")
        let long = "/" + String(repeating: "a", count: 200)
        let refused = await #expect(throws: ClientError.self) { try await DaemonClient.connect(to: long) }
        #expect(refused?.description.contains("200 bytes") == true)
    }
}

/// A daemon that answers some methods with fixed texts.
final class FakeDaemon: RequestHandler {
    static let eventCount: Int64 = 5000

    private struct State {
        var requests: [String] = []
        var server: RPCServer?
        var held: [CheckedContinuation<Void, Never>] = []
        var answersInfo = false
    }
    private let state = NIOLockedValueBox(State())

    /// The method and the parameters of each request.
    var requests: [String] { state.withLockedValue { $0.requests } }

    func serve(_ server: RPCServer) { state.withLockedValue { $0.server = server } }

    func stop() async {
        await state.withLockedValue { $0.server }?.stop()
        release()
    }

    /// Answers each held request with an empty object.
    func release() {
        state.withLockedValue { state in
            defer { state.held = [] }
            return state.held
        }.forEach { $0.resume() }
    }

    func answersInfo() { state.withLockedValue { $0.answersInfo = true } }

    func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
        let parameters = String(decoding: request.parameters ?? [], as: UTF8.self)
        state.withLockedValue { $0.requests.append("\(request.method) \(parameters)") }
        switch request.method {
        case Methods.addTasks.name:
            return RPCAnswer(.success(Array("{\"tasks\":[{\"id\":1,\"state\":\"queued\",\"new\":0}]}".utf8)))
        case Methods.getTask.name:
            return RPCAnswer(
                .failure(
                    RPCError(
                        code: -32000, message: "There is no task 9.", cause: "task.not_found",
                        details: Array("{\"task\":9}".utf8))))
        case Methods.subscribe.name:
            let head = Self.eventCount
            return RPCAnswer(.success(Array("{\"subscription\":\"s1\",\"head\":\(head)}".utf8))) {
                for number in 1...head { connection.send(Self.event(number)) }
                connection.send(
                    Array(
                        "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"subscription\":\"s1\",\"type\":\"task.new\"}}"
                            .utf8))
            }
        case Methods.giveCredit.name:
            for offset in 0..<3 {
                connection.send(
                    Array(
                        #"{"jsonrpc":"2.0","method":"task.data","params":{"task":7,"offset":\#(offset),"base64":"eA=="}}"#
                            .utf8))
            }
            return RPCAnswer(.success(Array("{\"credit\":0}".utf8)))
        case Methods.daemonInfo.name where state.withLockedValue({ $0.answersInfo }):
            return RPCAnswer(.success(Array("{}".utf8)))
        case Methods.daemonInfo.name, Methods.daemonStats.name:
            await withCheckedContinuation { continuation in state.withLockedValue { $0.held.append(continuation) } }
            return RPCAnswer(.success(Array("{}".utf8)))
        case Methods.getSettings.name: return RPCAnswer(.success(Array("[]".utf8)))
        default: return RPCAnswer(.success(Array("{}".utf8)))
        }
    }

    func closed(_ connection: RPCConnection) {}

    private static func event(_ number: Int64) -> [UInt8] {
        Array(
            """
            {"jsonrpc":"2.0","method":"event","params":{"subscription":"s1","sequence":\(number),\
            "time":"2026-01-01T00:00:00.000Z","type":"task.added","session":"shared","owner":0,"task":\(number)}}
            """.utf8)
    }
}

/// Waits until `condition` is true. Returns false after a generous time.
func eventually(_ condition: () async -> Bool) async -> Bool {
    for _ in 0..<3000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}

/// Runs `body` with a client of a fake daemon, then ends both.
func withDaemon(
    patience: Duration? = nil, _ body: (_ client: DaemonClient, _ daemon: FakeDaemon) async throws -> Void
) async throws {
    let folder = try TemporaryFolder()
    let daemon = FakeDaemon()
    let server = try await RPCServer.start(on: .path(try SocketPath(folder.file("s"))), handler: daemon)
    daemon.serve(server)
    let client = try await DaemonClient.connect(to: folder.file("s"), patience: patience)
    do {
        try await body(client, daemon)
    } catch {
        await client.close()
        await daemon.stop()
        throw error
    }
    await client.close()
    await daemon.stop()
}
