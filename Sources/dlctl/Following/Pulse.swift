import TransferClient
import TransferModel
import TransferRPC

/// Asks the daemon whether it answers while its events are followed: one that hangs tells nothing, and keeps its connections.
struct Pulse {
    private let task: Task<Void, any Error>

    /// - Parameter answered: is told each answer.
    init(
        _ client: any DaemonCalling, every interval: Duration = DaemonAccess.patience,
        _ answered: @escaping @Sendable (DaemonStats.Result) -> Void = { _ in }
    ) {
        task = Task {
            while !Task.isCancelled {
                do {
                    answered(try await client.call(DaemonStats.self, Nothing()))
                } catch is TransferError {
                    // An answer, too.
                }
                try await Task.sleep(for: interval)
            }
        }
    }

    func cancel() { task.cancel() }

    /// Called when there are no more events.
    /// - Throws: `ClientError` if that is because the daemon did not answer.
    func requireAnswer() async throws {
        task.cancel()
        if case .failure(let error as ClientError) = await task.result, error.isSilence { throw error }
    }
}
