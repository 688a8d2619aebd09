import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TransferModel

/// The client's end of a connection: sends requests, matches answers to them, and passes on notifications.
package final class RPCClientConnection: Sendable {
    /// Why a request has no answer.
    package enum Failure: Error, Sendable {
        /// With the JSON text of the `error` object, unchanged.
        case refused([UInt8])
        /// The daemon went away, or sent something that is not JSON-RPC.
        case connectionLost(String)
    }

    private struct Waiting: Sendable {
        /// Runs on the event loop before anything after the answer is processed.
        var intercept: (@Sendable ([UInt8]) -> Void)?
        var continuation: CheckedContinuation<Result<[UInt8], Failure>, Never>
    }

    private struct State {
        var nextID: Int64 = 0
        var waiting: [Int64: Waiting] = [:]
        /// The daemon has refused the whole connection, or it is lost.
        var end: Failure?
        var peer: PeerIdentity?
    }

    /// The process that listens at the socket; nil if the kernel does not tell.
    package var peer: PeerIdentity? { state.withLockedValue { $0.peer } }

    /// One thread serves all connections. The process ends if the thread cannot get its three descriptors.
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private let state = NIOLockedValueBox(State())
    private let channel: any Channel

    private init(channel: any Channel) { self.channel = channel }

    /// - Parameters:
    ///   - longestLine: the longest answer in bytes. A longer one ends the connection.
    ///   - notified: gets each notification's method and parameters (JSON text), in order, on the event loop.
    ///   - closed: called once, with the reason, when the connection has ended.
    /// - Throws: the system's error of connect(2) as `IOError`; another error if the connection was made and lost
    ///   again.
    package static func connect(
        to path: String, longestLine: Int = 256 << 20, notified: @escaping @Sendable (String, [UInt8]) -> Void,
        closed: @escaping @Sendable (String) -> Void
    ) async throws -> RPCClientConnection {
        let made = NIOLockedValueBox<RPCClientConnection?>(nil)
        _ = try await open(path) { channel in
            let connection = RPCClientConnection(channel: channel)
            made.withLockedValue { $0 = connection }
            return channel.eventLoop.makeCompletedFuture {
                let handler = ClientChannelHandler(
                    connection: connection, longestLine: longestLine, notified: notified, closed: closed)
                try channel.pipeline.syncOperations.addHandler(handler)
            }
        }
        guard let connection = made.withLockedValue({ $0 }) else { throw ChannelError.inappropriateOperationForState }
        let channel = connection.channel
        let peer = try? await channel.eventLoop.flatSubmit { PeerIdentity.of(channel) }.get()
        connection.state.withLockedValue { $0.peer = peer }
        return connection
    }

    /// - Parameter prepare: adds the handler before the socket connects, because a daemon may refuse the connection and
    ///   close it at once.
    private static func open(
        _ path: String, _ prepare: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws -> any Channel {
        guard let place = SocketAddressPath(path) else { throw IOError(errnoCode: errno, reason: "open") }
        defer { place.close() }
        return try await ClientBootstrap(group: loops)
            .channelInitializer(prepare)
            .connect(unixDomainSocketPath: place.text).get()
    }

    package func request(
        _ method: String, _ parameters: [UInt8], intercept: (@Sendable ([UInt8]) -> Void)? = nil
    ) async throws(Failure) -> [UInt8] {
        let result = await withCheckedContinuation { continuation in
            let sent = state.withLockedValue { state -> Result<Int64, Failure> in
                if let end = state.end { return .failure(end) }
                state.nextID += 1
                state.waiting[state.nextID] = Waiting(intercept: intercept, continuation: continuation)
                return .success(state.nextID)
            }
            switch sent {
            case .failure(let failure): continuation.resume(returning: .failure(failure))
            case .success(let id):
                let line = RPCText.request(id: id, method: method, parameters: parameters) + [UInt8(ascii: "\n")]
                channel.writeAndFlush(ByteBuffer(bytes: line), promise: nil)
            }
        }
        return try result.get()
    }

    package func close() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
    }

    fileprivate func answered(_ id: Int64, _ result: Result<[UInt8], Failure>) {
        guard let waiting = state.withLockedValue({ $0.waiting.removeValue(forKey: id) }) else { return }
        if case .success(let text) = result { waiting.intercept?(text) }
        waiting.continuation.resume(returning: result)
    }

    /// Ends all requests of this connection, also later ones.
    fileprivate func end(_ failure: Failure) {
        let waiting = state.withLockedValue { state in
            state.end = state.end ?? failure
            defer { state.waiting = [:] }
            return state.waiting
        }
        for entry in waiting.values { entry.continuation.resume(returning: .failure(failure)) }
    }
}

/// Splits what the daemon sends into lines, and separates answers from notifications.
private final class ClientChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: RPCClientConnection
    private let notified: @Sendable (String, [UInt8]) -> Void
    private let closed: @Sendable (String) -> Void
    private var framer: LineFramer
    private var reason = ClientChannelHandler.closedByDaemon
    private static let closedByDaemon = "the daemon closed the connection"

    init(
        connection: RPCClientConnection, longestLine: Int, notified: @escaping @Sendable (String, [UInt8]) -> Void,
        closed: @escaping @Sendable (String) -> Void
    ) {
        framer = LineFramer(limit: longestLine)
        self.connection = connection
        self.notified = notified
        self.closed = closed
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        framer.append(unwrapInboundIn(data))
        while let piece = framer.next() {
            switch piece {
            case .line(let line):
                if dispatch(line) { continue }
                reason = "the daemon's answer is not JSON-RPC"
            case .overlong:
                reason = "the daemon's answer is longer than \(framer.limit) bytes; ask for less at once"
            }
            return context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection.end(.connectionLost(reason))
        closed(reason)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reason = Self.words(for: error)
        context.close(promise: nil)
    }

    /// A daemon that ends with unread requests resets the connection (unix(7)).
    private static func words(for error: any Error) -> String {
        guard let error = error as? IOError else { return "the connection broke" }
        switch error.errnoCode {
        case ECONNRESET, EPIPE: return closedByDaemon
        default: return "the connection broke: \(String(cString: strerror(error.errnoCode)))"
        }
    }

    private func dispatch(_ line: [UInt8]) -> Bool {
        guard let message = try? JSONTape(line).root, message.kind == .object else { return false }
        if let method = message.member("method")?.stringIfAny {
            notified(method, message.member("params").map { Array($0.text) } ?? Array("{}".utf8))
            return true
        }
        let id = message.member("id")?.integerIfAny(Int64.self)
        if let error = message.member("error").map({ Array($0.text) }) {
            let refused = RPCClientConnection.Failure.refused(error)
            guard let id else {
                // An error without a request: the daemon refuses the whole connection and closes it.
                reason = String(decoding: error, as: UTF8.self)
                connection.end(refused)
                return true
            }
            connection.answered(id, .failure(refused))
            return true
        }
        guard let result = message.find("result"), let id else { return false }
        connection.answered(id, .success(Array(result.text)))
        return true
    }
}
