import Glibc
import JSONRPC
import Logging
import Threading
import TransferModel
import TransferRPC

/// Finds the handler of a method, decodes its parameters strictly, and turns its errors into error answers.
package final class RequestRouter: RequestHandler {
    typealias Handler = @Sendable (_ parameters: [UInt8], _ context: RequestContext) async throws -> Reply<[UInt8]>

    private let handlers: [String: Handler]
    private let services: Services
    private let peers: PeerDirectory
    private let logger: Logger
    private let connections = Guarded(0)
    private let turns = LookTurns()

    package init(services: Services, peers: PeerDirectory, logger: Logger) {
        var table = HandlerTable()
        DaemonHandlers.register(in: &table, services)
        SettingsHandlers.register(in: &table, services)
        SessionHandlers.register(in: &table, services)
        TaskHandlers.register(in: &table, services)
        DecisionHandlers.register(in: &table, services)
        CookieHandlers.register(in: &table, services)
        CacheHandlers.register(in: &table, services)
        CredentialHandlers.register(in: &table, services)
        HSTSHandlers.register(in: &table, services)
        TrustHandlers.register(in: &table, services)
        ControlHandlers.register(in: &table, services)
        EventHandlers.register(in: &table, services)
        handlers = table.handlers
        self.services = services
        self.peers = peers
        self.logger = logger
    }

    /// The names of all methods.
    package var methods: Set<String> { Set(handlers.keys) }

    package func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
        do {
            let context = try context(of: connection)
            let reply = try await reply(to: request.method, request.parameters ?? Array("{}".utf8), context)
            return RPCAnswer(.success(reply.value), afterwards: reply.afterwards)
        } catch {
            return RPCAnswer(.failure(refusal(error, of: request)))
        }
    }

    /// False until the peer's rights are known. A user directory that hangs delays only its own connections.
    package func isReady(for connection: RPCConnection) -> Bool {
        let identity = connection.peer
        if peers.isKnown(uid: identity.uid, gid: identity.gid) { return true }
        return !peers.waits(uid: identity.uid, gid: identity.gid, client: connection.id) { connection.goOn() }
    }

    package func opened(_ connection: RPCConnection) { connections.withLock { $0 += 1 } }

    package func closed(_ connection: RPCConnection) {
        connections.withLock { $0 -= 1 }
        peers.forget(uid: connection.peer.uid, client: connection.id)
        services.feed.closed(connection.id)
        services.volatile.closed(connection.id)
    }

    /// - Throws: `permission.denied` if the daemon belongs to another user.
    private func context(of connection: RPCConnection) throws(TransferError) -> RequestContext {
        let identity = connection.peer
        let owner = getuid()
        switch services.facts.mode {
        case .user where identity.uid != owner && identity.uid != UserID.root.rawValue:
            throw TransferError(.permissionDenied, "This daemon serves user \(owner) only; start your own.")
        case .user, .system: break
        }
        return RequestContext(
            peer: peers.peer(uid: identity.uid, gid: identity.gid, pid: identity.pid), connection: connection,
            connections: connections.withLock { $0 })
    }

    /// Returns the encoded result of a method.
    /// - Throws: `rpc.unknown_method`, `request.*`, and what the method throws.
    func reply(
        to method: String, _ parameters: [UInt8], _ context: RequestContext
    ) async throws -> Reply<[UInt8]> {
        guard let handler = handlers[method] else {
            throw TransferError(.rpcUnknownMethod, "There is no method \(Self.shown(method)).")
        }
        guard parameters.first == UInt8(ascii: "{") else {
            throw TransferError(.badField, "params: name the parameters in an object.")
        }
        guard Self.looks.contains(method) else { return try await handler(parameters, context) }
        return try await turns.answer(context.peer.uid, on: context.connection) {
            try await handler(parameters, context)
        }
    }

    /// Methods that change nothing and may have long answers.
    private static let looks: Set<String> = [
        Methods.listTasks.name, Methods.getTask.name, Methods.readBody.name, Methods.listSessions.name,
        Methods.getSession.name, Methods.listEvents.name,
        Methods.listSettings.name, Methods.daemonStats.name, Methods.daemonMetrics.name, Methods.discover.name,
    ]

    private func refusal(_ error: any Error, of request: RPCRequest) -> RPCError {
        guard let error = error as? TransferError else {
            logger.error(
                "a request failed", metadata: ["method": "\(Self.shown(request.method))", "error": "\(error)"])
            return RPCError(TransferError(.internal, "The daemon could not do this; its log says why."))
        }
        logger.debug(
            "refused", metadata: ["method": "\(Self.shown(request.method))", "code": "\(error.code.rawValue)"])
        return RPCError(error)
    }

    /// A method's name, cut to the length that an error may repeat.
    private static func shown(_ method: String) -> String { String(method.prefix(100)) }
}

/// Collects the handlers.
struct HandlerTable {
    private(set) var handlers: [String: RequestRouter.Handler] = [:]

    /// Adds a method that does nothing after its answer.
    mutating func add<M: RPCMethod>(
        _ method: M, _ body: @escaping @Sendable (M.Parameters, RequestContext) async throws -> M.Result
    ) {
        add(replying: method) { Reply(try await body($0, $1)) }
    }

    /// Adds a method that writes its result itself, byte for byte as `M.Result` would be.
    mutating func add<M: RPCMethod>(
        writing method: M, _ body: @escaping @Sendable (M.Parameters, RequestContext) async throws -> [UInt8]
    ) {
        handlers[method.name] = { text, context in
            Reply(try await body(try JSONCoding.decode(M.Parameters.self, from: text), context))
        }
    }

    /// Adds a method that always gives the same answer, which is encoded once.
    mutating func add<M: RPCMethod>(fixed method: M, _ body: @escaping @Sendable () -> M.Result) {
        let written = Guarded<[UInt8]?>(nil)
        handlers[method.name] = { text, _ in
            _ = try JSONCoding.decode(M.Parameters.self, from: text)
            return Reply(
                written.withLock { written in
                    let answer = written ?? JSONCoding.encode(body())
                    written = answer
                    return answer
                })
        }
    }

    /// Adds a method that has work to do after its answer.
    mutating func add<M: RPCMethod>(
        replying method: M,
        _ body: @escaping @Sendable (M.Parameters, RequestContext) async throws -> Reply<M.Result>
    ) {
        handlers[method.name] = { text, context in
            let reply = try await body(try JSONCoding.decode(M.Parameters.self, from: text), context)
            return Reply(JSONCoding.encode(reply.value), afterwards: reply.afterwards)
        }
    }
}

extension RPCError {
    /// The error answer for an error of the shared vocabulary.
    ///
    /// It may repeat what a client sent, but not megabytes of it: such an answer would end the connection of any client
    /// that does not read it at once.
    init(_ error: TransferError) {
        let repeated = error.details.mapValues { value in
            value.stringValue.map { .string(Self.shortened($0, to: 4096)) } ?? value
        }
        let details = JSONCoding.encode(JSONValue.object(repeated))
        self.init(
            code: error.code.rpcCode, message: Self.shortened(error.message, to: 8192), cause: error.code.rawValue,
            retryable: error.retryable,
            details: details)
    }

    /// - Parameter limit: in Unicode scalars, because one character may have any number of them.
    private static func shortened(_ text: String, to limit: Int) -> String {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return text }
        return String(scalars[..<end]) + "…"
    }
}
