import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Serves JSON-RPC on Unix sockets: accepts, identifies and counts clients. The handler does the rest.
package final class RPCServer: Sendable {
    package enum Address: Sendable {
        /// Created here, and removed at the end.
        case path(SocketPath)
        /// Like `path`, but already open.
        case open(OpenSocket)
        /// A listening socket made by another program (sd_listen_fds(3)). Its file, if it is visible here, belongs to
        /// that program.
        case adopted(descriptor: Int32, path: String? = nil)
    }

    private let group: MultiThreadedEventLoopGroup
    private let registry: ConnectionRegistry
    private let handler: any RequestHandler
    private let acceptFailed: @Sendable (_ errno: Int32) -> Void
    private let listeners = NIOLockedValueBox<[RPCListener]>([])
    private let isStopped = NIOLockedValueBox(false)

    /// The server serves nobody until it listens somewhere.
    /// - Parameter acceptFailed: called for each accept(2) that fails, at most once a second.
    package init(
        limits: RPCLimits = RPCLimits(), handler: any RequestHandler,
        acceptFailed: @escaping @Sendable (_ errno: Int32) -> Void = { _ in }
    ) {
        self.acceptFailed = acceptFailed
        // One thread moves the bytes of 50,000 requests a second. Decoding and answering happen elsewhere.
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        registry = ConnectionRegistry(limits: limits)
        self.handler = handler
    }

    /// Returns a server that listens in one place.
    /// - Throws: what `listen` throws.
    package static func start(
        on address: Address, limits: RPCLimits = RPCLimits(), handler: any RequestHandler
    ) async throws -> RPCServer {
        let server = RPCServer(limits: limits, handler: handler)
        do {
            _ = try await server.listen(on: address)
        } catch {
            await server.stop()
            throw error
        }
        return server
    }

    /// Listens in one more place.
    /// - Throws: `SocketPath.Unusable`, or the system's error if an adopted descriptor is not a listening socket.
    @discardableResult
    package func listen(on address: Address) async throws -> RPCListener {
        let descriptor: Int32
        var file: SocketFile?
        var isOurs = true
        switch address {
        case .adopted(let adopted, let path):
            (descriptor, isOurs) = (adopted, false)
            file = path.map { SocketFile(path: $0) }.flatMap { $0.isInPlace ? $0 : nil }
        // NIO would finally remove whatever has the socket's name, even another daemon's socket. So it is bound here.
        case .path(let path): return try await listen(on: .open(try path.open()))
        case .open(let socket): (descriptor, file) = (socket.descriptor, socket.file)
        }
        let channel = try await bootstrap().withBoundSocket(descriptor).get()
        // NIO has just called listen(2) with its own 128, whatever the options say. With more clients at once, connects
        // failed with EAGAIN.
        _ = Glibc.listen(descriptor, OpenSocket.backlog)
        let listener = RPCListener(channel: channel, file: file, isOurs: isOurs)
        listeners.withLockedValue { $0.append(listener) }
        return listener
    }

    /// Stops accepting clients there. Open connections stay open.
    package func close(_ listener: RPCListener) async {
        listeners.withLockedValue { $0.removeAll { $0 === listener } }
        await listener.close()
    }

    /// The number of open connections.
    package var connectionCount: Int { registry.count }

    /// Stops accepting clients. Open connections stay open.
    package func stopAccepting() async {
        let all = listeners.withLockedValue { listeners in
            defer { listeners = [] }
            return listeners
        }
        for listener in all { await listener.close() }
    }

    /// Ends everything, once. Queued bytes have at most `grace` to be sent.
    package func stop(grace: Duration = .milliseconds(200)) async {
        // A channel never answers after its group was shut down.
        let isFirst = isStopped.withLockedValue { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        await stopAccepting()
        let deadline = ContinuousClock.now + grace
        while registry.all.contains(where: { $0.queuedBytes > 0 }), ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
        registry.all.forEach { $0.close() }
        try? await group.shutdownGracefully()
    }

    private func bootstrap() -> ServerBootstrap {
        let (registry, handler, acceptFailed) = (registry, handler, acceptFailed)
        return ServerBootstrap(group: group)
            // Without free descriptors, accept(2) fails at once and again as long as a client waits, so it pauses for a
            // second each time.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: true),
                        AcceptFailureHandler(failed: acceptFailed),
                    ])
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 4)
            .childChannelInitializer { channel in
                PeerIdentity.of(channel).flatMap { peer in
                    let connection = RPCConnection(
                        id: registry.nextID(), peer: peer, channel: channel, registry: registry, handler: handler)
                    if let refusal = registry.add(connection) {
                        return Self.refuse(channel, with: refusal, registry)
                    }
                    handler.opened(connection)
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            ServerChannelHandler(connection: connection, registry: registry))
                    }
                }
            }
    }

    private static func refuse(
        _ channel: any Channel, with error: RPCError, _ registry: ConnectionRegistry
    ) -> EventLoopFuture<Void> {
        let line = RPCText.answer(id: nil, error: error) + [UInt8(ascii: "\n")]
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
                FarewellHandler(line: ByteBuffer(bytes: line), registry: registry))
        }
    }
}

/// One place where a server listens.
package final class RPCListener: Sendable {
    private let channel: any Channel
    /// The socket's file when it was made. Another file of that name is not ours to remove. nil for a socket without a
    /// file.
    private let file: SocketFile?
    /// The file of an adopted socket is not ours either.
    private let isOurs: Bool

    init(channel: any Channel, file: SocketFile?, isOurs: Bool) {
        self.channel = channel
        self.file = file
        self.isOurs = isOurs
    }

    /// Tells whether clients that use its path reach this socket; true for a socket without a file. May block.
    package var isInPlace: Bool { file?.isInPlace ?? true }

    func close() async {
        try? await channel.close().get()
        if isOurs { file?.remove() }
    }
}

/// Reports a failed accept(2), and keeps it from ending the listener.
private final class AcceptFailureHandler: ChannelInboundHandler {
    typealias InboundIn = Channel

    private let failed: @Sendable (Int32) -> Void

    init(failed: @escaping @Sendable (Int32) -> Void) { self.failed = failed }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError { failed(error.errnoCode) } else { context.fireErrorCaught(error) }
    }
}

/// Sends one line to a client above the limit, and closes.
///
/// The client may be sending its first request at that time. If the socket were closed, the request would fail before
/// the client reads the line. So only the sending side is closed until the client has closed its own.
private final class FarewellHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let patience = TimeAmount.seconds(1)

    private let line: ByteBuffer
    private let registry: ConnectionRegistry
    private var lingers = false

    init(line: ByteBuffer, registry: ConnectionRegistry) {
        self.line = line
        self.registry = registry
    }

    func channelActive(context: ChannelHandlerContext) {
        lingers = registry.beginFarewell()
        let mode: CloseMode = lingers ? .output : .all
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(line)).whenComplete { _ in channel.close(mode: mode, promise: nil) }
        if lingers { context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) } }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if lingers { registry.endFarewell() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
