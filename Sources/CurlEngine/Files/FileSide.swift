import TransferCore
import TransferModel

/// What exchanges store their bodies with; one per engine.
package final class FileSide: Sendable {
    package let journal: OffsetJournal?
    let devices: Devices
    let buffers: BufferPool
    let ledger = SinkLedger()
    let crowd = Crowd()
    /// Called, on any thread, when buffers come back and a transfer waits for one.
    let waker = BufferWaker()

    /// - Parameters:
    ///   - journal: nil if downloads resume only from checkpoints.
    ///   - bufferBound: bytes of memory that bodies may take before they reach their files.
    ///   - inPlace: work is done on the thread that hands it over, without threads of its own.
    package init(journal: OffsetJournal?, bufferBound: ByteCount, inPlace: Bool = false) {
        self.journal = journal
        devices = Devices(ledger: ledger, inPlace: inPlace)
        buffers = BufferPool(bound: Int(bufferBound.rawValue))
    }

    /// `onChange` is called, on any thread, when the sink accepts bytes again or its file failed.
    /// - Parameter isWrittenByHelper: another process writes the bytes into the file; the sink only hears how far they are.
    package func sink(
        _ part: PartFile, _ acceptance: Acceptance, _ context: TransferContext, on board: PartBoard? = nil,
        isWrittenByHelper: Bool = false, onChange: @escaping @Sendable () -> Void
    ) -> PartSink {
        func alone() -> PartBoard {
            PartBoard(part: part, alone: acceptance.offset, context: context, services: services(for: part))
        }
        return (board ?? alone()).sink(acceptance, isWrittenByHelper: isWrittenByHelper, onChange: onChange)
    }

    /// What the exchanges share that fetch segments of one file.
    /// - Parameter checkpoint: the held ranges of the part file.
    package func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> PartBoard {
        PartBoard(part: part, checkpoint: checkpoint, context: context, services: services(for: part))
    }

    /// An empty buffer with room for this many bytes; nil if the bound is reached.
    package func buffer(holding count: Int) -> Buffer? { buffers.acquire(BufferPool.Size(holding: count)) }

    /// The feed of what an exchange sends, which the caller starts and ends; nil if the exchange sends nothing.
    package func feed(_ exchange: Exchange, source: UploadSource?) -> PayloadFeed? {
        FeedFactory(self).make(exchange, source: source)
    }

    private func services(for part: PartFile) -> PartBoard.Services {
        PartBoard.Services(
            threads: devices.threads(for: part.device), journal: journal, buffers: buffers, ledger: ledger, crowd: crowd
        ) { [waker] in waker.wake() }
    }
}
