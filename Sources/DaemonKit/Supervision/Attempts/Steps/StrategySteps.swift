import TransferCore
import TransferModel

/// A strategy, and what the store knows of the request or upload that it has begun.
struct StrategySteps<Yield: Sendable>: Sendable {
    var strategy: any TransferStrategy<Yield>
    var stored: UploadProgress?

    init(_ strategy: any TransferStrategy<Yield>, stored: UploadProgress?) {
        self.strategy = strategy
        self.stored = stored
    }

    /// The step after `outcome`; no step follows a stopped exchange, of which the strategy hears all the same.
    mutating func next(after outcome: ExchangeOutcome?) -> NextStep<Yield> {
        let step = strategy.next(after: outcome)
        if case .aborted? = outcome?.end { return .success(nil) }
        return .success(step)
    }

    /// What the strategy knows and the store does not; nil if they agree.
    var unstored: Unstored? { strategy.upload == stored ? nil : Unstored(progress: strategy.upload) }

    struct Unstored: Sendable {
        var progress: UploadProgress?
    }
}
