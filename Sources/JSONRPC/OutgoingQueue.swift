import NIOConcurrencyHelpers
import NIOCore

/// Bytes on their way to one client: appended from any thread, flushed once per tick of the event loop, limited in
/// size.
final class OutgoingQueue: Sendable {
    private struct State {
        var waiting = ByteBuffer()
        /// Lines that are made when few bytes wait, in this order.
        var later = CircularBuffer<@Sendable () -> [UInt8]>()
        /// Bytes that wait, and bytes that the channel has but the kernel has not taken yet. Each line in `later` counts
        /// as `limits.laterLine`.
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
        add { state in
            guard madeBytes(state) <= limits.outgoing else { return false }
            let before = state.waiting.readableBytes
            write(&state.waiting)
            state.bytes += state.waiting.readableBytes - before
            return true
        }
    }

    /// Appends a line that is made when only few bytes wait, after all earlier such lines. Many of them may wait:
    /// together with the bytes, twice what all clients of a user may leave unread.
    func appendLater(_ line: @escaping @Sendable () -> [UInt8]) {
        add { state in
            guard state.bytes <= 2 * limits.outgoingPerUser else { return false }
            state.later.append(line)
            state.bytes += limits.laterLine
            makeLines(&state)
            return true
        }
    }

    /// - Parameter add: returns false if too much waits already.
    private func add(_ add: (inout State) -> Bool) {
        let isBeyond = registry.owesTooMuch(to: uid)
        let (schedule, overflow, count) = state.withLockedValue { state -> (Bool, Bool, Int) in
            if state.isClosed { return (false, false, 0) }
            let before = state.bytes
            if isBeyond && before > limits.outgoingHighWater / 4 || !add(&state) { return (false, true, 0) }
            return (mustFlush(&state), false, state.bytes - before)
        }
        registry.owe(count, to: uid)
        if overflow {
            close()
        } else if schedule {
            channel.eventLoop.execute { self.flush() }
        }
    }

    /// The bytes without the lines that are not made yet.
    private func madeBytes(_ state: State) -> Int { state.bytes - state.later.count * limits.laterLine }

    /// Makes lines as long as only few bytes wait.
    private func makeLines(_ state: inout State) {
        while madeBytes(state) <= limits.outgoingHighWater, let line = state.later.popFirst()?() {
            state.waiting.writeBytes(line)
            state.waiting.writeInteger(UInt8(ascii: "\n"))
            state.bytes += line.count + 1 - limits.laterLine
        }
    }

    /// Tells whether the caller must schedule a flush.
    private func mustFlush(_ state: inout State) -> Bool {
        guard !state.isFlushScheduled, state.waiting.readableBytes > 0 else { return false }
        state.isFlushScheduled = true
        return true
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
            let dropped = state.waiting.readableBytes + state.later.count * limits.laterLine
            state.bytes -= dropped
            state.waiting = ByteBuffer()
            state.later.removeAll()
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
        let (made, schedule) = state.withLockedValue { state in
            state.bytes -= count
            let before = state.bytes
            makeLines(&state)
            return (state.bytes - before, mustFlush(&state))
        }
        registry.owe(made - count, to: uid)
        if schedule { channel.eventLoop.execute { self.flush() } }
        let (waiters, isDone) = state.withLockedValue { state in
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
