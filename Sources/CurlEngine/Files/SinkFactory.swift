import Threading
import TransferCore
import TransferModel

/// Tells the reactor when buffers come back; set once, because the reactor is made after the pool.
final class BufferWaker: Sendable {
    private struct Listener {
        var body: (@Sendable () -> Void)?
    }
    private let listener = Guarded(Listener())
    func onBuffersFreed(_ action: @escaping @Sendable () -> Void) { listener.withLock { $0.body = action } }
    func wake() { listener.withLock { $0.body }?() }
}

/// Makes sinks with what all of them share.
struct SinkFactory: Sendable {
    var lanes: DeviceLanes
    var journal: OffsetJournal?
    var buffers: BufferPool
    var ledger: SinkLedger
    var waker: BufferWaker
    let crowd = Crowd()

    /// `onChange` is called, on any thread, when the sink takes bytes again or its file failed.
    func make(
        _ part: PartFile, _ acceptance: Acceptance, _ context: TransferContext, on board: SegmentBoard? = nil,
        onChange: @escaping @Sendable () -> Void
    ) -> PartSink {
        PartSink(
            part: part, acceptance: acceptance, context: context, services: services(for: part), board: board,
            onChange: onChange)
    }

    func services(for part: PartFile) -> PartSink.Services {
        PartSink.Services(
            lane: lanes.lane(for: part.device), journal: journal, buffers: buffers, ledger: ledger, crowd: crowd
        ) { [waker] in waker.wake() }
    }
}
