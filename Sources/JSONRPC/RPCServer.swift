import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Serves JSON-RPC on a Unix socket: accepts, identifies and counts clients; the handler does the rest.
package final class RPCServer: Sendable {
    package enum Address: Sendable {
        /// Bound here, and removed at the end.
        case path(SocketPath)
        /// A listening socket that somebody else made (sd_listen_fds(3)); its file is theirs.
        case adopted(descriptor: Int32)
    }

    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    private let registry: ConnectionRegistry
    /// The socket's file as it was made: another one of that name is not ours to remove.
    private let file: SocketFile?
    private let isStopped = NIOLockedValueBox(false)

    /// - Throws: `SocketPath.Unusable`, or the system's error where an adopted descriptor is no listening socket.
    package static func start(
        on address: Address, limits: RPCLimits = RPCLimits(), handler: any RequestHandler
    ) async throws -> RPCServer {
        // One thread moves the bytes of 50,000 requests a second; decoding and answering happen elsewhere.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let registry = ConnectionRegistry(limits: limits)
            let bootstrap = bootstrap(on: group, registry: registry, handler: handler)
            switch address {
            case .adopted(let descriptor):
                let channel = try await adopt(descriptor, by: bootstrap)
                return RPCServer(group: group, channel: channel, registry: registry, file: nil)
            case .path(let path):
                // NIO would remove whatever has the socket's name at the end, also another daemon's: bind it here.
                let (descriptor, file) = try path.listen(backlog: backlog)
                let channel = try await adopt(descriptor, by: bootstrap)
                return RPCServer(group: group, channel: channel, registry: registry, file: file)
            }
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private init(
        group: MultiThreadedEventLoopGroup, channel: any Channel, registry: ConnectionRegistry,
        file: SocketFile?
    ) {
        self.group = group
        self.channel = channel
        self.registry = registry
        self.file = file
    }

    /// Open connections.
    package var connectionCount: Int { registry.count }

    /// Accepts nobody any more; open connections go on.
    package func stopAccepting() async {
        try? await channel.close().get()
        file?.remove()
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

    /// Connections the kernel holds until they are accepted: enough for many clients at once.
    private static let backlog: Int32 = 1024

    private static func adopt(_ descriptor: Int32, by bootstrap: ServerBootstrap) async throws -> any Channel {
        let channel = try await bootstrap.withBoundSocket(descriptor).get()
        // NIO has just called listen(2) with its own 128, whatever the options say; more clients at once met EAGAIN.
        _ = listen(descriptor, backlog)
        return channel
    }

    private static func bootstrap(
        on group: MultiThreadedEventLoopGroup, registry: ConnectionRegistry, handler: any RequestHandler
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            // Without descriptors accept(2) fails at once, again and again, while somebody waits: a second's rest between.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 4)
            .childChannelInitializer { channel in
                PeerIdentity.of(channel).flatMap { peer in
                    let connection = RPCConnection(
                        id: registry.nextID(), peer: peer, channel: channel, limits: registry.limits, handler: handler)
                    if let refusal = registry.add(connection) {
                        return refuse(channel, with: refusal)
                    }
                    handler.opened(connection)
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            ServerChannelHandler(connection: connection, registry: registry))
                    }
                }
            }
    }

    private static func refuse(_ channel: any Channel, with error: RPCError) -> EventLoopFuture<Void> {
        let line = RPCText.answer(id: nil, error: error) + [UInt8(ascii: "\n")]
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(FarewellHandler(line: ByteBuffer(bytes: line)))
        }
    }
}

/// Says one line to a client over the limit and closes.
private final class FarewellHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let line: ByteBuffer

    init(line: ByteBuffer) { self.line = line }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(line)).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
