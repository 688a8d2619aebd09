import TransferCore
import TransferModel

/// What performs exchanges for whoever supervises transfers: `CurlEngine`, or a scripted network under simulation.
package protocol ExchangePerforming: Sendable {
    /// nil where resumption starts from checkpoints only.
    var journal: OffsetJournal? { get }

    /// Performs one exchange; as `CurlEngine.perform`.
    func perform(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, context: TransferContext
    ) async -> ExchangeOutcome

    /// Begins one exchange that fetches a part of a file; as `CurlEngine.begin`.
    func begin(
        _ exchange: Exchange, into part: PartFile, as segment: Segment, context: TransferContext,
        _ completion: @escaping @Sendable (ExchangeOutcome) -> Void
    ) -> RunningExchange

    /// What the exchanges share that fetch parts of one file side by side.
    func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> SegmentBoard

    func setRateLimits(global rate: ByteRate)
    func setRateLimit(session: SessionKey, _ rate: ByteRate)
    func setRateLimit(task: TaskID, _ rate: ByteRate)
    func setUploadRateLimits(global rate: ByteRate)
    func setUploadRateLimit(session: SessionKey, _ rate: ByteRate)
    func setUploadRateLimit(task: TaskID, _ rate: ByteRate)
}

extension CurlEngine: ExchangePerforming {}
