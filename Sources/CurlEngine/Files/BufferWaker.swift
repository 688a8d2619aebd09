import Threading

/// Tells the reactor when buffers come back; set once, because the reactor is made after the pool.
final class BufferWaker: Sendable {
    private struct Listener {
        var body: (@Sendable () -> Void)?
    }
    private let listener = Guarded(Listener())
    func onBuffersFreed(_ action: @escaping @Sendable () -> Void) { listener.withLock { $0.body = action } }
    func wake() { listener.withLock { $0.body }?() }
}
