import TransferCore
import TransferModel

/// What exchanges store their bodies with: one for an engine.
package final class FileSide: Sendable {
    package let journal: OffsetJournal?
    let lanes: DeviceLanes
    let buffers: BufferPool
    let ledger = SinkLedger()
    let crowd = Crowd()
    /// Called, on any thread, when buffers come back that somebody waits for.
    let waker = BufferWaker()

    /// - Parameters:
    ///   - journal: nil if resumption starts from checkpoints only.
    ///   - bufferBound: bytes that bodies may take in memory before they reach their files.
    ///   - inPlace: whoever hands something over does it, without threads.
    package init(journal: OffsetJournal?, bufferBound: ByteCount, inPlace: Bool = false) {
        self.journal = journal
        lanes = DeviceLanes(ledger: ledger, inPlace: inPlace)
        buffers = BufferPool(bound: Int(bufferBound.rawValue))
    }

    /// `onChange` is called, on any thread, when the sink takes bytes again or its file failed.
    package func sink(
        _ part: PartFile, _ acceptance: Acceptance, _ context: TransferContext, on board: SegmentBoard? = nil,
        onChange: @escaping @Sendable () -> Void
    ) -> PartSink {
        PartSink(
            part: part, acceptance: acceptance, context: context, services: services(for: part), board: board,
            onChange: onChange)
    }

    /// What the exchanges share that fetch parts of one file side by side.
    /// - Parameter checkpoint: what of the part is held.
    package func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> SegmentBoard {
        SegmentBoard(part: part, checkpoint: checkpoint, context: context, services: services(for: part))
    }

    /// An empty buffer with room for so many bytes; nil if the bound is reached.
    package func buffer(holding count: Int) -> Buffer? { buffers.acquire(BufferPool.Size(holding: count)) }

    /// Hands out what an exchange sends, to be started and ended by whoever asks; nil if that is nothing.
    package func feed(_ exchange: Exchange, source: UploadSource?) -> PayloadFeed? {
        FeedFactory(self).make(exchange, source: source)
    }

    private func services(for part: PartFile) -> PartSink.Services {
        PartSink.Services(
            lane: lanes.lane(for: part.device), journal: journal, buffers: buffers, ledger: ledger, crowd: crowd
        ) { [waker] in waker.wake() }
    }
}
