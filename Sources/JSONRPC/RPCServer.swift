import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Serves JSON-RPC on Unix sockets: accepts, identifies and counts clients; the handler does the rest.
package final class RPCServer: Sendable {
    package enum Address: Sendable {
        /// Bound here, and removed at the end.
        case path(SocketPath)
        /// As `path`, but open already.
        case open(OpenSocket)
        /// A listening socket that somebody else made (sd_listen_fds(3)); its file, where it has one to be seen from here, is theirs.
        case adopted(descriptor: Int32, path: String? = nil)
    }

    private let group: MultiThreadedEventLoopGroup
    private let registry: ConnectionRegistry
    private let handler: any RequestHandler
    private let acceptFailed: @Sendable (_ errno: Int32) -> Void
    private let listeners = NIOLockedValueBox<[RPCListener]>([])
    private let isStopped = NIOLockedValueBox(false)

    /// Serves nobody until it listens somewhere.
    /// - Parameter acceptFailed: hears of each accept(2) that fails; they come once a second.
    package init(
        limits: RPCLimits = RPCLimits(), handler: any RequestHandler,
        acceptFailed: @escaping @Sendable (_ errno: Int32) -> Void = { _ in }
    ) {
        self.acceptFailed = acceptFailed
        // One thread moves the bytes of 50,000 requests a second; decoding and answering happen elsewhere.
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        registry = ConnectionRegistry(limits: limits)
        self.handler = handler
    }

    /// A server that listens in one place.
    /// - Throws: as `listen`.
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
        // NIO would remove whatever has the socket's name at the end, also another daemon's: bind it here.
        case .path(let path): return try await listen(on: .open(try path.open()))
        case .open(let socket): (descriptor, file) = (socket.descriptor, socket.file)
        }
        let channel = try await bootstrap().withBoundSocket(descriptor).get()
        // NIO has just called listen(2) with its own 128, whatever the options say; more clients at once met EAGAIN.
        _ = Glibc.listen(descriptor, OpenSocket.backlog)
        let listener = RPCListener(channel: channel, file: file, isOurs: isOurs)
        listeners.withLockedValue { $0.append(listener) }
        return listener
    }

    /// Accepts nobody there any more; connections made there stay open.
    package func close(_ listener: RPCListener) async {
        listeners.withLockedValue { $0.removeAll { $0 === listener } }
        await listener.close()
    }

    /// Open connections.
    package var connectionCount: Int { registry.count }

    /// Accepts nobody any more; open connections stay open.
    package func stopAccepting() async {
        let all = listeners.withLockedValue { listeners in
            defer { listeners = [] }
            return listeners
        }
        for listener in all { await listener.close() }
    }

    /// Ends everything, once: what is queued for the clients gets at most `grace` to leave.
    package func stop(grace: Duration = .milliseconds(200)) async {
        // A channel of a group that is shut down never answers.
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
            // Without descriptors accept(2) fails at once, again and again, while somebody waits: a second's rest between.
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
    /// The socket's file as it was made: another one of that name is not ours to remove. nil of a socket without a file.
    private let file: SocketFile?
    /// An adopted socket's file is not, either.
    private let isOurs: Bool

    init(channel: any Channel, file: SocketFile?, isOurs: Bool) {
        self.channel = channel
        self.file = file
        self.isOurs = isOurs
    }

    /// Whether clients that go to its path come here; true of a socket without a file. May block.
    package var isInPlace: Bool { file?.isInPlace ?? true }

    func close() async {
        try? await channel.close().get()
        if isOurs { file?.remove() }
    }
}

/// Tells of an accept(2) that failed, and keeps it from ending the listener.
private final class AcceptFailureHandler: ChannelInboundHandler {
    typealias InboundIn = Channel

    private let failed: @Sendable (Int32) -> Void

    init(failed: @escaping @Sendable (Int32) -> Void) { self.failed = failed }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError { failed(error.errnoCode) } else { context.fireErrorCaught(error) }
    }
}

/// Says one line to a client over the limit and closes.
///
/// The client may be sending its first request meanwhile. With a closed socket in front of it the request would fail before
/// the line is read, so only the sending side is closed until the client has closed its own.
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
