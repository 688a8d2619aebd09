import TransferCore
import TransferModel

/// What follows an exchange: a step of the strategy, nil if the exchange was stopped, or the reason why nothing can
/// follow.
typealias NextStep<Yield: Sendable> = Result<Step<Yield>?, any Error>

/// How the exchanges of one strategy are performed, and what is stored between them.
///
/// Only `StepInterpreter` reads the steps. It calls one function at a time, except for `cancel`.
protocol ExchangeCourse<Yield>: AnyObject, Sendable {
    associatedtype Yield: Sendable

    /// Calls `then` once with the first step, possibly before it returns.
    func begin(then: @escaping @Sendable (NextStep<Yield>) -> Void)

    /// Performs an exchange and what belongs to it. Calls `then` once, on any thread, possibly before it returns.
    func perform(_ exchange: Exchange, then: @escaping @Sendable (NextStep<Yield>) -> Void)

    /// Tells whether `perform` must wait for `prepare`.
    func mustPrepare(_ exchange: Exchange) -> Bool
    /// Prepares what the exchange needs, before anything is stored: a body that cannot be sent must not leave a request
    /// marked as in progress.
    func prepare(_ exchange: Exchange) async throws -> Exchange
    /// Called after everything is stored that must be durable before the exchange.
    func willPerform(_ exchange: Exchange) async throws

    /// Makes `progress` durable.
    func store(_ progress: UploadProgress) async throws
    /// Drops what is held, and everything starts over.
    func restart(because cause: TransferError) async throws
    /// Stores what the strategy knows after the exchange was stopped.
    func stopped() async throws
    /// Returns the error with which the attempt fails, and what must be stored with it.
    func error(of failure: AttemptFailure) -> any Error

    /// Stops what runs, and whatever is performed later.
    func cancel()
}
