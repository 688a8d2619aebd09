import TransferModel

/// One member of a grouped commit: the caller's body, and what hears of the commit.
protocol PendingWrite: AnyObject, Sendable {
    /// Runs the body inside a savepoint and keeps its value; may run again after the transaction was void.
    func run(_ transaction: StoreTransaction) throws
    /// Notes that the body alone failed, as its caller is told; the transaction goes on without it.
    func note(_ error: any Error)
    /// Tells the caller what the last run gave.
    func finish()
    /// Tells the caller of the failure of the commit.
    func fail(_ error: any Error)
}

final class WriteRequest<Value: Sendable>: PendingWrite, @unchecked Sendable {
    private let body: @Sendable (StoreTransaction) throws -> Value
    private let then: @Sendable (Result<Value, any Error>) -> Void
    /// Touched by the writer thread only.
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
