import Threading
import TransferCore
import TransferModel

/// The current exchange of somebody who performs one exchange after another.
package final class SingleExchange: Sendable {
    private struct State {
        var running: RunningExchange?
        /// How many exchanges have begun, and the number of the last one that is over.
        var begun = 0
        var ended = 0
        var isCancelled = false
    }

    private let engine: any ExchangePerforming
    private let state = Guarded(State())

    package init(_ engine: any ExchangePerforming) { self.engine = engine }

    /// Calls `report` once. After `cancel`, nothing is sent.
    package func start(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, as segment: Segment? = nil,
        context: TransferContext, then report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) {
        guard !state.withLock({ $0.isCancelled }) else {
            return report(ExchangeOutcome(.aborted, before: exchange, continuing: context.continues != nil))
        }
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        let running = engine.start(exchange, into: part, sending: source, as: segment, context: context) { outcome in
            // Breaks a reference cycle: the running exchange holds what it reports to, which holds this object.
            self.state.withLock { ($0.running, $0.ended) = (nil, number) }
            report(outcome)
        }
        let isCancelled = state.withLock { state in
            guard state.ended < number else { return false }
            state.running = running
            return state.isCancelled
        }
        if isCancelled { running.cancel() }
    }

    /// The exchange that began last; nil while it begins, and after its end.
    package var running: RunningExchange? { state.withLock { $0.running } }
    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func cancel() {
        state.withLock { state in
            state.isCancelled = true
            return state.running
        }?.cancel()
    }
}
