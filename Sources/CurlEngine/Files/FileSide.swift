import Threading
import TransferCore
import TransferModel

/// What exchanges store their bodies with; one per engine.
package final class FileSide: Sendable {
    package let journal: OffsetJournal?
    let devices: Devices
    let buffers: BufferPool
    let ledger = SinkLedger()
    let crowd = Crowd()
    /// Uploads that run.
    let uploads = Guarded(0)

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
        let board = board ?? PartBoard(part: part, alone: acceptance.offset, context: context, files: self)
        return board.sink(acceptance, isWrittenByHelper: isWrittenByHelper, onChange: onChange)
    }

    /// What the exchanges share that fetch segments of one file.
    /// - Parameter checkpoint: the held ranges of the part file.
    package func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> PartBoard {
        PartBoard(part: part, checkpoint: checkpoint, context: context, files: self)
    }

    /// An empty buffer with room for this many bytes; nil if the bound is reached.
    package func buffer(holding count: Int) -> Buffer? { buffers.acquire(BufferPool.Size(holding: count)) }

    /// The feed of what an exchange sends, which the caller starts and ends; nil if the exchange sends nothing.
    package func feed(_ exchange: Exchange, source: UploadSource?) -> PayloadFeed? {
        exchange.sentPayload.map { PayloadFeed($0, source: source, files: self) }
    }

    /// Bytes that each upload has in memory at a time.
    var uploadPiece: Int { Self.piece(of: uploads.withLock { $0 }) }

    /// The more uploads, the less each has, so total memory stays flat.
    static func piece(of uploads: Int) -> Int {
        switch uploads {
        case ...4: BufferPool.largeSize
        case ...32: BufferPool.smallSize
        default: 16 << 10
        }
    }
}
