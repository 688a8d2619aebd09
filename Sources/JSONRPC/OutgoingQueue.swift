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
    private let limits: RPCLimits
    /// Called after bytes were sent.
    private let drained: @Sendable () -> Void

    init(channel: any Channel, limits: RPCLimits, drained: @escaping @Sendable () -> Void) {
        self.channel = channel
        self.limits = limits
        self.drained = drained
    }

    var bytes: Int { state.withLockedValue { $0.bytes } }
    var isCrowded: Bool { bytes > limits.outgoingHighWater }

    /// Appends bytes. If more than the limit are already waiting, closes the connection instead.
    func append(_ write: (inout ByteBuffer) -> Void) {
        let (schedule, overflow) = state.withLockedValue { state -> (Bool, Bool) in
            if state.isClosed { return (false, false) }
            if state.bytes > limits.outgoing { return (false, true) }
            let before = state.waiting.readableBytes
            write(&state.waiting)
            state.bytes += state.waiting.readableBytes - before
            defer { state.isFlushScheduled = true }
            return (!state.isFlushScheduled, false)
        }
        if overflow {
            close()
        } else if schedule {
            channel.eventLoop.execute { self.flush() }
        }
    }

    /// Suspends until only few bytes wait. Returns false if the connection is closed.
    func waitForRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLockedValue { state -> Bool? in
                if state.isClosed { return false }
                if state.bytes <= limits.outgoingHighWater { return true }
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
        let waiters = state.withLockedValue { state in
            state.isClosed = true
            state.waiting = ByteBuffer()
            defer { state.waiters = [] }
            return state.waiters
        }
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
        let (waiters, isDone) = state.withLockedValue { state in
            state.bytes -= count
            guard state.bytes <= limits.outgoingHighWater else {
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
