import NIOConcurrencyHelpers
import NIOCore

/// Bytes on their way to one client: appended from any thread, flushed once per tick of the event loop, limited in
/// size.
final class OutgoingQueue: Sendable {
    private struct State {
        var waiting = ByteBuffer()
        /// Bytes that wait, and bytes that the channel has but the kernel has not taken yet.
        var bytes = 0
        var isFlushScheduled = false
        var isClosed = false
        var closesWhenEmpty = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = NIOLockedValueBox(State())
    private let channel: any Channel
    private let uid: UInt32
    private let registry: ConnectionRegistry
    private var limits: RPCLimits { registry.limits }
    /// Called after bytes were sent.
    private let drained: @Sendable () -> Void

    /// - Parameter uid: the user whose clients share a limit.
    init(channel: any Channel, of uid: UInt32, registry: ConnectionRegistry, drained: @escaping @Sendable () -> Void) {
        self.channel = channel
        self.uid = uid
        self.registry = registry
        self.drained = drained
    }

    var bytes: Int { state.withLockedValue { $0.bytes } }
    var isCrowded: Bool { isCrowded(bytes) }

    /// A user whose clients together read too little must read all that waits on a connection before it goes on.
    private func isCrowded(_ bytes: Int) -> Bool {
        bytes > limits.outgoingHighWater || bytes > 0 && registry.owesMuch(to: uid)
    }

    /// Appends bytes. Closes the connection instead if more than the limit are waiting on it, or many while far too many
    /// wait for all clients of the user.
    func append(_ write: (inout ByteBuffer) -> Void) {
        let isBeyond = registry.owesTooMuch(to: uid)
        let (schedule, overflow, count) = state.withLockedValue { state -> (Bool, Bool, Int) in
            if state.isClosed { return (false, false, 0) }
            if state.bytes > limits.outgoing || isBeyond && state.bytes > limits.outgoingHighWater / 4 {
                return (false, true, 0)
            }
            let before = state.waiting.readableBytes
            write(&state.waiting)
            let count = state.waiting.readableBytes - before
            state.bytes += count
            defer { state.isFlushScheduled = true }
            return (!state.isFlushScheduled, false, count)
        }
        registry.owe(count, to: uid)
        if overflow {
            close()
        } else if schedule {
            channel.eventLoop.execute { self.flush() }
        }
    }

    /// Suspends until only few bytes wait, or none if the user's clients leave much unread. Returns false if the connection is closed.
    func waitForRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLockedValue { state -> Bool? in
                if state.isClosed { return false }
                if !isCrowded(state.bytes) { return true }
                state.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func closeWhenEmpty() {
        let isEmpty = state.withLockedValue { state in
            state.closesWhenEmpty = true
            return state.bytes == 0
        }
        if isEmpty { channel.close(promise: nil) }
    }

    func close() {
        let (waiters, dropped) = state.withLockedValue { state in
            state.isClosed = true
            let dropped = state.waiting.readableBytes
            state.bytes -= dropped
            state.waiting = ByteBuffer()
            defer { state.waiters = [] }
            return (state.waiters, dropped)
        }
        registry.owe(-dropped, to: uid)
        waiters.forEach { $0.resume(returning: false) }
        channel.close(promise: nil)
    }

    private func flush() {
        let buffer = state.withLockedValue { state in
            state.isFlushScheduled = false
            defer { state.waiting = ByteBuffer() }
            return state.waiting
        }
        guard buffer.readableBytes > 0 else { return }
        let count = buffer.readableBytes
        channel.writeAndFlush(buffer).whenComplete { _ in self.left(count) }
    }

    private func left(_ count: Int) {
        registry.owe(-count, to: uid)
        let (waiters, isDone) = state.withLockedValue { state in
            state.bytes -= count
            guard !isCrowded(state.bytes) else {
                return ([CheckedContinuation<Bool, Never>](), false)
            }
            defer { state.waiters = [] }
            return (state.waiters, state.bytes == 0 && state.closesWhenEmpty)
        }
        waiters.forEach { $0.resume(returning: true) }
        if isDone {
            channel.close(promise: nil)
        } else {
            drained()
        }
    }
}
