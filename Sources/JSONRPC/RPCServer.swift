import Glibc
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
    private let file: (path: String, device: dev_t, inode: ino_t)?

    /// - Throws: `SocketPath.Unusable`, or the system's error of bind(2) or listen(2).
    package static func start(
        on address: Address, limits: RPCLimits = RPCLimits(), handler: any RequestHandler
    ) async throws -> RPCServer {
        // Raised for the hard limits of a service with a thousand clients; one thread serves 50,000 requests a second.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let registry = ConnectionRegistry(limits: limits)
            let bootstrap = bootstrap(on: group, registry: registry, handler: handler)
            switch address {
            case .adopted(let descriptor):
                let channel = try await bootstrap.withBoundSocket(descriptor).get()
                return RPCServer(group: group, channel: channel, registry: registry, file: nil)
            case .path(let path):
                try path.prepare()
                let channel = try await bootstrap.bind(unixDomainSocketPath: path.path).get()
                guard chmod(path.path, path.socketMode) == 0 else {
                    throw IOError(errnoCode: errno, reason: "chmod \(path.path)")
                }
                var status = stat()
                lstat(path.path, &status)
                let file = (path.path, status.st_dev, status.st_ino)
                return RPCServer(group: group, channel: channel, registry: registry, file: file)
            }
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private init(
        group: MultiThreadedEventLoopGroup, channel: any Channel, registry: ConnectionRegistry,
        file: (path: String, device: dev_t, inode: ino_t)?
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
        removeFile()
    }

    /// Ends everything: what is queued for the clients gets at most `grace` to leave.
    package func stop(grace: Duration = .milliseconds(200)) async {
        await stopAccepting()
        let deadline = ContinuousClock.now + grace
        while registry.all.contains(where: { $0.queuedBytes > 0 }), ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
        registry.all.forEach { $0.close() }
        try? await group.shutdownGracefully()
    }

    private func removeFile() {
        guard let file else { return }
        var status = stat()
        guard lstat(file.path, &status) == 0, status.st_dev == file.device, status.st_ino == file.inode else { return }
        unlink(file.path)
    }

    private static func bootstrap(
        on group: MultiThreadedEventLoopGroup, registry: ConnectionRegistry, handler: any RequestHandler
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
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
