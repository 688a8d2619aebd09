import Glibc
import JSONRPC
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A client that sends any bytes and reads lines. It can do what a well-behaved client never does.
final class LineClient: Sendable {
    private let channel: any Channel
    private let inbox: LineInbox

    private init(channel: any Channel, inbox: LineInbox) {
        self.channel = channel
        self.inbox = inbox
    }

    /// - Parameter reads: False for a client that never reads.
    static func connect(to path: String, reads: Bool = true) async throws -> LineClient {
        let inbox = LineInbox()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
                }
            }
            .connect(unixDomainSocketPath: path).get()
        return LineClient(channel: channel, inbox: inbox)
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Sends without waiting until the kernel has accepted the bytes.
    func post(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Returns the next line, or nil if the server closed the connection.
    func line() async -> String? { await inbox.next() }

    func shutOutput() async throws { try await channel.close(mode: .output).get() }

    func close() async { try? await channel.close().get() }
}

private final class LineInbox: Sendable {
    private struct State {
        var lines: [String] = []
        var isClosed = false
        var waiter: CheckedContinuation<String?, Never>?
    }
    private let state = NIOLockedValueBox(State())

    func add(_ line: String) {
        let waiter = state.withLockedValue { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.lines.append(line) }
            return state.waiter
        }
        waiter?.resume(returning: line)
    }

    func close() {
        let waiter = state.withLockedValue { state in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    func next() async -> String? {
        await withCheckedContinuation { continuation in
            let answer = state.withLockedValue { state -> String?? in
                if !state.lines.isEmpty { return state.lines.removeFirst() }
                if state.isClosed { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}

private final class InboxHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let inbox: LineInbox
    private var framer = LineFramer(limit: 64 << 20)

    init(_ inbox: LineInbox) { self.inbox = inbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        framer.append(unwrapInboundIn(data))
        while case .line(let line)? = framer.next() { inbox.add(String(decoding: line, as: UTF8.self)) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { inbox.close() }
    }

    func channelInactive(context: ChannelHandlerContext) { inbox.close() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
