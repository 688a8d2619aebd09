import Logging
import TransferCore
import TransferModel

/// One attempt at one upload or data task: opens what is sent, proves that it is what the task was added with, and makes
/// the requests that the strategy says until the server has all of it. The whole answer to a data task is kept with it.
final class RequestAttempt: TransferAttempt {
    let record: TaskRecord
    let policy: EffectivePolicy
    private let run: TransferRun
    private let tools: AttemptTools
    private let logger: Logger

    init(record: TaskRecord, policy: EffectivePolicy, run: TransferRun, tools: AttemptTools, logger: Logger) {
        self.record = record
        self.policy = policy
        self.run = run
        self.tools = tools
        self.logger = logger
    }

    func begin() async -> AttemptProgress { .goesOn(after: nil) { await self.perform() } }

    private func perform() async -> AttemptEnding {
        await .of {
            let sending = try await tools.files.openSending(of: record, store: tools.patience.store)
            let requests = RequestExchanges(
                record: record, policy: policy, run: run, tools: tools, sending: sending, logger: logger)
            guard let answer = try await requests.perform(), run.enterCommit() else { return .aborted }
            run.set(phase: .finishing)
            let kept = record.spec.kind == .data ? answer.body : nil
            let length = kept.map { ByteCount(Int64($0.count)) } ?? answer.total
            return try await tools.complete(
                record, began: run.startedAt, with: TaskResult(bytes: length, verified: false), answer, keeping: kept)
        }
    }
}
