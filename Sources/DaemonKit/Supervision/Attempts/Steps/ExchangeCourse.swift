import TransferCore
import TransferModel

/// What follows an exchange: a step of the strategy, nil if the exchange was stopped, or why nothing can follow.
typealias NextStep<Yield: Sendable> = Result<Step<Yield>?, any Error>

/// One strategy at work: how its exchanges are performed, and what is stored between them.
///
/// `StepInterpreter` alone reads the steps. It calls one function at a time, but for `cancel`.
protocol ExchangeCourse<Yield>: AnyObject, Sendable {
    associatedtype Yield: Sendable

    /// Calls `then` once with the first step; maybe before it returns.
    func begin(then: @escaping @Sendable (NextStep<Yield>) -> Void)

    /// Performs an exchange, and what belongs to it. Calls `then` once, on any thread, maybe before it returns.
    func perform(_ exchange: Exchange, then: @escaping @Sendable (NextStep<Yield>) -> Void)

    /// Whether `perform` has to wait for `prepare`.
    func mustPrepare(_ exchange: Exchange) -> Bool
    /// Gets ready what the exchange needs, before anything is stored: a body that cannot be sent leaves no question open.
    func prepare(_ exchange: Exchange) async throws -> Exchange
    /// Called when all is stored that must be durable before the exchange.
    func willPerform(_ exchange: Exchange) async throws

    /// Makes `progress` durable.
    func store(_ progress: UploadProgress) async throws
    /// Drops what is held; everything begins anew.
    func restart(because cause: TransferError) async throws
    /// The exchange was stopped: stores what the strategy knows.
    func stopped() async throws
    /// Why the attempt fails, with what is to be stored together with that.
    func error(of failure: AttemptFailure) -> any Error

    /// Stops what runs, and what is performed later.
    func cancel()
}
