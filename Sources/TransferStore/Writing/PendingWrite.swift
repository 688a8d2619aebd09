import TransferModel

/// One member of a grouped commit: the caller's body, and how its result is reported.
protocol PendingWrite: AnyObject, Sendable {
    /// Runs the body and keeps its value. Runs again if the transaction was rolled back.
    func run(_ transaction: StoreTransaction) throws
    /// Notes that only this body failed, with the error for its caller; the transaction continues without it.
    func note(_ error: any Error)
    /// Reports the result of the last run to the caller.
    func finish()
    /// Reports the failure of the commit to the caller.
    func fail(_ error: any Error)
}

final class WriteRequest<Value: Sendable>: PendingWrite, @unchecked Sendable {
    private let body: @Sendable (StoreTransaction) throws -> Value
    private let then: @Sendable (Result<Value, any Error>) -> Void
    /// Used only on the writer's thread.
    private var result: Result<Value, any Error>?

    init(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        self.body = body
        self.then = then
    }

    func run(_ transaction: StoreTransaction) throws {
        result = .success(try body(transaction))
    }

    func note(_ error: any Error) {
        result = .failure(error)
    }

    func finish() {
        then(result ?? .failure(TransferError(.internal, "A write did not run.")))
    }

    func fail(_ error: any Error) {
        then(.failure(error))
    }
}
