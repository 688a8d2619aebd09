import JSONRPC
import NIOConcurrencyHelpers
import TestSupport

/// A service for the tests of the wire.
///
/// `echo` answers with its parameters, `long` with 100,000 letters, and `fail` with an error. `hold` answers when it is
/// released, `burst` sends notifications, and `later` sends 100,000 with `sendLater`.
final class EchoHandler: RequestHandler {
    private struct State {
        var begun: [String] = []
        var held: [CheckedContinuation<Void, Never>] = []
        var isReleased = false
        var opened = 0
        var closed = 0
        var peer: PeerIdentity?
        var mostHeld = 0
        var isReady = true
        /// The connections that were told to wait, in order. A connection may be in it twice.
        var waiting: [RPCConnection] = []
    }
    private let state = NIOLockedValueBox(State())

    var begun: [String] { state.withLockedValue { $0.begun } }
    var held: Int { state.withLockedValue { $0.held.count } }
    var mostHeld: Int { state.withLockedValue { $0.mostHeld } }
    var opened: Int { state.withLockedValue { $0.opened } }
    var closed: Int { state.withLockedValue { $0.closed } }
    /// How many times a connection was told to wait and has not been called since.
    var waiting: Int { state.withLockedValue { $0.waiting.count } }
    var peer: PeerIdentity? { state.withLockedValue { $0.peer } }

    func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
        let parameters = request.parameters ?? Array("null".utf8)
        state.withLockedValue { state in
            state.begun.append(String(decoding: parameters, as: UTF8.self))
            state.peer = connection.peer
        }
        switch request.method {
        case "echo": return RPCAnswer(.success(parameters))
        case "fail":
            return RPCAnswer(
                .failure(RPCError(code: -32000, message: "No \"way\"\n.", cause: "task.not_found", retryable: true)))
        case "hold":
            await hold()
            return RPCAnswer(.success(Array("true".utf8)))
        case "long":
            return RPCAnswer(.success(Array("\"\(String(repeating: "x", count: 100_000))\"".utf8)))
        case "burst":
            return RPCAnswer(.success(Array("true".utf8))) {
                for number in 0..<1000 { connection.send(Array("{\"n\":\(number)}".utf8)) }
            }
        case "later":
            for number in 0..<100_000 { connection.sendLater { Array("{\"n\":\(number)}".utf8) } }
            return RPCAnswer(.success(Array("true".utf8)))
        case "flood":
            let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 16)
            var sent = 0
            while !connection.isClosed, sent < 1 << 14 {
                connection.send(chunk)
                sent += 1
            }
            return RPCAnswer(.success(Array("true".utf8)))
        default:
            return RPCAnswer(.failure(RPCError(code: -32601, message: "No such method.", cause: "rpc.unknown_method")))
        }
    }

    func isReady(for connection: RPCConnection) -> Bool {
        state.withLockedValue { state in
            if !state.isReady { state.waiting.append(connection) }
            return state.isReady
        }
    }

    /// Makes the requests of all connections wait, or calls the connections that wait.
    func setReady(_ isReady: Bool) {
        let called = state.withLockedValue { state in
            state.isReady = isReady
            guard isReady else { return [RPCConnection]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        called.forEach { $0.goOn() }
    }

    func opened(_ connection: RPCConnection) { state.withLockedValue { $0.opened += 1 } }

    func closed(_ connection: RPCConnection) { state.withLockedValue { $0.closed += 1 } }

    /// Lets every `hold` answer, including later ones.
    func release() {
        let held = state.withLockedValue { state in
            state.isReleased = true
            defer { state.held = [] }
            return state.held
        }
        held.forEach { $0.resume() }
    }

    private func hold() async {
        await withCheckedContinuation { continuation in
            let isReleased = state.withLockedValue { state in
                if !state.isReleased {
                    state.held.append(continuation)
                    state.mostHeld = max(state.mostHeld, state.held.count)
                }
                return state.isReleased
            }
            if isReleased { continuation.resume() }
        }
    }
}

/// Waits until `condition` is true. Returns false after a generous time.
func eventually(_ condition: () async -> Bool) async -> Bool {
    for _ in 0..<12_000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}

/// Runs `body` with a server of an `EchoHandler`, then stops the server.
func withServer(
    limits: RPCLimits = RPCLimits(),
    _ body: (_ socket: String, _ handler: EchoHandler, _ server: RPCServer) async throws -> Void
) async throws {
    let folder = try TemporaryFolder()
    let handler = EchoHandler()
    let server = try await RPCServer.start(
        on: .path(try SocketPath(folder.file("s"))), limits: limits, handler: handler)
    do {
        try await body(folder.file("s"), handler, server)
    } catch {
        handler.release()
        await server.stop()
        throw error
    }
    handler.release()
    await server.stop()
}
