import JSONRPC
import TestSupport
import Threading
import TransferModel

@testable import dlctl

/// The control socket of a dld-web, for tests that run dlctl as a process.
final class FakeWeb: RequestHandler {
    static let link = "http://127.0.0.1:8353/login?key=K"

    private let requests = Guarded<[String]>([])
    private let server = Guarded<RPCServer?>(nil)

    /// - Parameter socket: its folder exists.
    func start(at socket: String) async throws {
        let started = try await RPCServer.start(on: .path(SocketPath(socket)), handler: self)
        server.withLock { $0 = started }
    }

    func stop() async { await server.withLock { $0 }?.stop() }

    /// Each request as its method and parameters.
    var asked: [String] { requests.withLock { $0 } }

    func closed(_ connection: RPCConnection) {}

    func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
        let parameters = String(decoding: request.parameters ?? [], as: UTF8.self)
        requests.withLock { $0.append("\(request.method) \(parameters)") }
        let value: JSONValue
        switch request.method {
        case "web.link":
            let fragment = JSONText.value(parameters)?["fragment"]?.stringValue.map { "#" + $0 } ?? ""
            value = ["url": .string(Self.link + fragment), "expiresAt": "2026-01-31T08:00:00.000Z"]
        case "web.sessions":
            let time: JSONValue = "2026-01-31T08:00:00.000Z"
            value = ["sessions": [["id": "ab12", "createdAt": time, "lastUsedAt": time]]]
        default: value = ["revoked": 2]
        }
        return RPCAnswer(.success(JSONCoding.encode(value)))
    }
}
