import TransferCore
import TransferModel

/// Performs exchanges for supervision: `CurlEngine`, or a scripted network in simulations.
package protocol ExchangePerforming: Sendable {
    /// nil if downloads resume only from checkpoints.
    var journal: OffsetJournal? { get }

    /// Starts one exchange. `report` is called once, on any thread, possibly before this returns. It must not block.
    ///
    /// The part file must stay open until then. `source` provides the bytes of the exchange's payload; if it changes
    /// after it was opened, the exchange stops with source.changed. A `segment` makes the exchange one of several for a
    /// file.
    func start(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, as segment: Segment?,
        context: TransferContext, then report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) -> RunningExchange

    /// What the exchanges share that fetch segments of one file.
    func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> PartBoard

    /// Later exchanges use no connection that was made before.
    func renewConnections()

    func setRateLimits(global rate: ByteRate)
    func setRateLimit(session: SessionKey, _ rate: ByteRate)
    func setRateLimit(task: TaskID, _ rate: ByteRate)
    func setUploadRateLimits(global rate: ByteRate)
    func setUploadRateLimit(session: SessionKey, _ rate: ByteRate)
    func setUploadRateLimit(task: TaskID, _ rate: ByteRate)
}

extension CurlEngine: ExchangePerforming {}

extension ExchangePerforming {
    package func renewConnections() {}

    /// Performs one exchange, like `start`. It ends with `.aborted` if the calling task is cancelled.
    package func perform(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource? = nil, context: TransferContext
    ) async -> ExchangeOutcome {
        let single = SingleExchange(self)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                single.start(exchange, into: part, sending: source, context: context) {
                    continuation.resume(returning: $0)
                }
            }
        } onCancel: {
            single.cancel()
        }
    }
}
