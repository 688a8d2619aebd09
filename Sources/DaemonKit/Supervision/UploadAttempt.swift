import Logging
import TransferCore
import TransferModel

/// One attempt at one upload: opens the source, proves that it is the one the task was added with, and sends what the
/// strategy says until the server has all of it.
final class UploadAttempt: TransferAttempt {
    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    let logger: Logger

    init(record: TaskRecord, policy: EffectivePolicy, run: TransferRun, tools: AttemptTools, logger: Logger) {
        self.record = record
        self.policy = policy
        self.run = run
        self.tools = tools
        self.logger = logger
    }

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
