import Logging
import TransferCore
import TransferModel

/// One attempt at one upload: opens the source, proves that it is the one the task was added with, and sends what the
/// strategy says until the server has all of it.
struct UploadAttempt: TransferAttempt {
    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    let logger: Logger

    func perform() async -> AttemptEnding {
        await .of {
            let sending = try await tools.files.openSending(of: record, store: tools.patience.store)
            let requests = RequestExchanges(
                record: record, policy: policy, run: run, tools: tools, sending: sending, logger: logger)
            guard let result = try await requests.perform(), run.enterCommit() else { return .aborted }
            run.set(phase: .finishing)
            return try await tools.complete(record, with: TaskResult(bytes: result.total, verified: true), result)
        }
    }
}
