import CurlEngine
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferStore

/// Performs the exchanges of an upload or a data task: stores where the upload stands before each step that relies on
/// it, and whatever is known of it when the attempt ends.
///
/// A class, as the attempts that use it: a record is large, and each function that waits would hold copies of it.
final class RequestExchanges: Sendable {
    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    /// nil where nothing is sent.
    let sending: SendingFile?
    let logger: Logger

    init(
        record: TaskRecord, policy: EffectivePolicy, run: TransferRun, tools: AttemptTools, sending: SendingFile?,
        logger: Logger
    ) {
        self.record = record
        self.policy = policy
        self.run = run
        self.tools = tools
        self.sending = sending
        self.logger = logger
    }

    /// The answer that ends the task; nil where the run was stopped.
    /// - Throws: `FailedRequest`, `TransferError`.
    func perform() async throws -> UploadResult? {
        let recorder = RunRecorder(
            record: record, run: run, keepsAnswers: false, patience: tools.patience, keeper: tools.checkpoints,
            time: tools.time, logger: logger)
        let result: Result<UploadResult?, any Error>
        do {
            result = .success(try await exchanges(recorder))
        } catch {
            result = .failure(error)
        }
        await recorder.settle()
        return try result.get()
    }

    private func exchanges(_ recorder: RunRecorder) async throws -> UploadResult? {
        let pinned = try await tools.files.pinned(
            policy.$network, record.spec.url ?? "", owner: record.session.owner)
        defer { withExtendedLifetime(pinned) {} }
        var strategy = try StrategyRegistry.strategy(for: StrategyRequest(record, policy, pinned, tools.time))
        let context = TransferContext(
            task: record.id, session: record.session, counters: run.counters, observer: recorder)
        if let sending { run.counters.setToSend(sending.identity.size.rawValue) }
        var stored = record.upload
        var last: ExchangeOutcome?
        var announced = false
        var step = strategy.next(after: nil)
        while true {
            let exchange: Exchange
            switch step {
            case .run(let next): exchange = try await prepared(next)
            case .store(let progress, let next):
                // First what takes its time: an end meanwhile must not leave a question open.
                exchange = try await prepared(next)
                try await keep(progress)
                stored = progress
            case .restart(let cause, let next):
                try await restart(because: cause)
                stored = nil
                announced = true
                exchange = try await prepared(next)
            case .uploaded(let result): return result
            case .finished:
                throw TransferError(.internal, "A request took a step of downloads; please report it.")
            case .failed(let failure):
                throw failed(failure, strategy.upload, stored, last)
            }
            if !announced, !Task.isCancelled, let offset = exchange.payload.sourceOffset {
                announced = true
                try await announce(resumedAt: offset)
            }
            run.sends(canResume: ResumeProspects.mayResume(record.spec.kind, exchange, strategy.upload))
            recorder.begins(exchange)
            let outcome = await tools.engine.perform(exchange, into: nil, sending: sending?.file, context: context)
            step = strategy.next(after: outcome)
            if case .aborted = outcome.end {
                if strategy.upload != stored { try await keep(strategy.upload) }
                return nil
            }
            if outcome.head != nil { last = outcome }
        }
    }

    /// Adds the digests that the exchange wants sent along.
    private func prepared(_ exchange: Exchange) async throws -> Exchange {
        guard !exchange.digests.isEmpty else { return exchange }
        run.set(phase: .verifying)
        defer { run.set(phase: nil) }
        var exchange = exchange
        exchange.ownHeaders += try await tools.files.digestFields(of: exchange, sending)
        return exchange
    }

    // MARK: What is stored

    private func keep(_ progress: UploadProgress?) async throws {
        let id = record.id
        try await tools.patience.persistently { try $0.setUpload(id, progress) }
    }

    /// The attempt's end, with where the upload stands and what the server said last.
    private func failed(
        _ failure: AttemptFailure, _ progress: UploadProgress?, _ stored: UploadProgress?, _ last: ExchangeOutcome?
    ) -> FailedRequest {
        var notes = PendingNotes(record: record, time: tools.time.reading().wall)
        if progress != stored { notes.add(progress) }
        if let last, let head = last.head {
            notes.add(ResponseInfo(head, of: record, body: last.body, isTruncated: last.isBodyTruncated))
        }
        return FailedRequest(failure: failure, notes: notes)
    }

    private func restart(because cause: TransferError) async throws {
        run.restarted()
        let (record, now) = (record, tools.time.reading().wall)
        logger.info("restarted from 0", metadata: ["task": "\(record.id)", "code": "\(cause.code.rawValue)"])
        try await tools.patience.persistently { transaction in
            try transaction.setUpload(record.id, nil)
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskRestarted, session: record.session, task: record.id,
                    payload: ["code": .string(cause.code.rawValue), "message": .string(cause.message)]))
        }
    }

    private func announce(resumedAt offset: ByteCount) async throws {
        run.sends(from: offset)
        guard offset > .zero else { return }
        let (record, now) = (record, tools.time.reading().wall)
        let size = sending?.identity.size.rawValue ?? -1
        try await tools.patience.persistently { transaction in
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskResumed, session: record.session, task: record.id,
                    payload: ["offset": .integer(offset.rawValue), "expected": .integer(size)]))
        }
    }
}

extension StrategyRequest {
    /// What a strategy of an upload or a data task is given.
    init(_ record: TaskRecord, _ policy: EffectivePolicy, _ pinned: PinnedFiles, _ time: any TimeSource) {
        let spec = record.spec.isBodyKept ? Boxed(wrappedValue: record.spec.namingKeptBody) : record.$spec
        self.init(
            sharing: spec, pinned.$network,
            sessionHeaders: policy.sessionHeaders, now: time.reading().wall, source: record.source,
            upload: record.upload)
    }
}
