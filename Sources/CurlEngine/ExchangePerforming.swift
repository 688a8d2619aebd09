import Threading
import TransferCore
import TransferModel

/// Performs exchanges for supervision: `CurlEngine`, or a scripted network in simulations.
package protocol ExchangePerforming: Sendable {
    /// nil if resumption starts from checkpoints only.
    var journal: OffsetJournal? { get }

    /// Starts one exchange. `report` is called once, on any thread, maybe before this returns. It must not block.
    ///
    /// The part must stay open until then. If `source`, which the exchange's payload takes its bytes from, changes after
    /// it was opened, the exchange stops with source.changed. A `segment` makes it one of several parts of a file.
    func start(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, as segment: Segment?,
        context: TransferContext, then report: @escaping @Sendable (ExchangeOutcome) -> Void
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

extension ExchangePerforming {
    /// Performs one exchange, as `start`. It ends with `.aborted` if the calling task is cancelled.
    package func perform(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource? = nil, context: TransferContext
    ) async -> ExchangeOutcome {
        let state = Guarded(Awaited())
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else {
                    var outcome = ExchangeOutcome(end: .aborted, offset: exchange.startOffset)
                    outcome.wasSent = false
                    return continuation.resume(returning: outcome)
                }
                let running = start(exchange, into: part, sending: source, as: nil, context: context) {
                    continuation.resume(returning: $0)
                }
                let isCancelled = state.withLock { state in
                    state.running = running
                    return state.isCancelled
                }
                if isCancelled { running.cancel() }
            }
        } onCancel: {
            state.withLock { state in
                state.isCancelled = true
                return state.running
            }?.cancel()
        }
    }
}

/// An exchange that a task waits for.
private struct Awaited: Sendable {
    var running: RunningExchange?
    var isCancelled = false
}
