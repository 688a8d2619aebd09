import TransferClient
import TransferModel
import TransferRPC

/// Checks that the daemon answers while its events are followed. A daemon that hangs sends nothing and keeps its
/// connections.
struct Pulse {
    private let task: Task<Void, any Error>

    /// - Parameter answered: called with each answer.
    init(
        _ client: any DaemonCalling, every interval: Duration = DaemonAccess.patience,
        _ answered: @escaping @Sendable (DaemonStats) -> Void = { _ in }
    ) {
        task = Task {
            while !Task.isCancelled {
                do {
                    answered(try await client.call(Methods.daemonStats, Nothing()))
                } catch is TransferError {
                    // A refusal is an answer, too.
                }
                try await Task.sleep(for: interval)
            }
        }
    }

    func cancel() { task.cancel() }

    /// Must be called when no more events come.
    /// - Throws: `ClientError` if the reason is that the daemon did not answer.
    func requireAnswer() async throws {
        task.cancel()
        if case .failure(let error as ClientError) = await task.result, error.isSilence { throw error }
    }
}
