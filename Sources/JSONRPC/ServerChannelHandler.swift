import NIOCore

/// Turns the bytes of one accepted socket into lines, and stops reading while the connection is busy.
final class ServerChannelHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: RPCConnection
    private let registry: ConnectionRegistry
    private var framer: LineFramer
    /// The bytes that this connection has taken from the common memory.
    private var borrowed = 0
    private var isRefused = false

    init(connection: RPCConnection, registry: ConnectionRegistry) {
        self.connection = connection
        self.registry = registry
        framer = LineFramer(limit: registry.limits.line)
    }

    func read(context: ChannelHandlerContext) {
        borrow()
        if connection.mayRead() { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        framer.append(unwrapInboundIn(data))
        while let piece = framer.next() {
            switch piece {
            case .line(let line): connection.receive(line)
            case .overlong:
                refuse(.tooLarge("A line has at most \(framer.limit) bytes; send the tasks in several calls."))
            }
        }
        borrow()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed {
            connection.inputEnded()
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        registry.repay(borrowed, of: connection.peer.uid)
        registry.remove(connection)
        connection.channelClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func refuse(_ error: RPCError) {
        isRefused = true
        connection.refuse(error)
    }

    /// Limits the memory for lines of all connections together.
    private func borrow() {
        let wanted = max(0, framer.heldBytes + connection.heldBytes - (64 << 10))
        guard wanted != borrowed else { return }
        registry.repay(borrowed, of: connection.peer.uid)
        borrowed = 0
        if registry.borrow(wanted, for: connection.peer.uid) {
            borrowed = wanted
        } else if !isRefused {
            framer = LineFramer(limit: registry.limits.line)
            refuse(.limitReached("Too many long lines arrive at the same time; try again later."))
        }
    }
}
