import Logging
import TransferCore
import TransferModel

/// One attempt at one data task: a short request whose whole answer is kept with the task.
final class DataAttempt: TransferAttempt {
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
            let length = ByteCount(Int64(result.body.count))
            return try await tools.complete(
                record, with: TaskResult(bytes: length, verified: true), result, keeping: result.body)
        }
    }
}
