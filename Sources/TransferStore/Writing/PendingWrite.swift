import TransferModel

/// One member of a grouped commit: the caller's body, and the continuation that waits for the commit.
protocol PendingWrite: AnyObject, Sendable {
    /// Runs the body inside a savepoint and keeps its value; may run again after the transaction was void.
    func run(_ transaction: StoreTransaction) throws
    /// Notes that the body alone failed, as its caller is told; the transaction goes on without it.
    func note(_ error: any Error)
    /// Resumes the caller with what the last run gave.
    func finish()
    /// Resumes the caller with the failure of the commit.
    func fail(_ error: any Error)
}

final class WriteRequest<Value: Sendable>: PendingWrite, @unchecked Sendable {
    private let body: @Sendable (StoreTransaction) throws -> Value
    private let continuation: CheckedContinuation<Result<Value, any Error>, Never>
    /// Touched by the writer thread only.
    private var result: Result<Value, any Error>?

    init(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value,
        _ continuation: CheckedContinuation<Result<Value, any Error>, Never>
    ) {
        self.body = body
        self.continuation = continuation
    }

    func run(_ transaction: StoreTransaction) throws {
        result = .success(try body(transaction))
    }

    func note(_ error: any Error) {
        result = .failure(error)
    }

    func finish() {
        continuation.resume(returning: result ?? .failure(TransferError(.internal, "A write did not run.")))
    }

    func fail(_ error: any Error) {
        continuation.resume(returning: .failure(error))
    }
}
