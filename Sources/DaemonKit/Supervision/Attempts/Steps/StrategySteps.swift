import TransferCore
import TransferModel

/// A strategy, and what the store knows about the request or upload that it has begun.
struct StrategySteps<Yield: Sendable>: Sendable {
    var strategy: any TransferStrategy<Yield>
    var stored: UploadProgress?

    /// The step after `outcome`. The strategy learns of a stopped exchange too, but no step follows it.
    mutating func next(after outcome: ExchangeOutcome?) -> NextStep<Yield> {
        let step = strategy.next(after: outcome)
        if case .aborted? = outcome?.end { return .success(nil) }
        return .success(step)
    }

    /// What the strategy knows but the store does not; nil if they agree.
    var unstored: UploadProgress?? { strategy.upload == stored ? nil : .some(strategy.upload) }
}
