import CurlEngine
import Logging
import TransferCore
import TransferModel
import TransferStore

/// One attempt at one download: opens the part file, lets the strategy say which exchange comes next, verifies and
/// delivers what arrived.
struct DownloadAttempt: Sendable {
    enum Ending: Sendable {
        /// Delivered, and stored so.
        case completed(TaskTransitions.Outcome)
        case failed(AttemptFailure)
        /// The bytes do not match a digest; they are dropped.
        case integrityFailed(TransferError)
        case blocked(WaitReason, TransferError)
        case aborted
    }

    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    let logger: Logger

    func perform() async -> Ending {
        do {
            try checkPlaintext()
            let plan = try DestinationPlan(record: record)
            let folder = try await tools.files.open(plan, for: record)
            defer { folder.close() }
            if let delivered = try await tools.files.alreadyDelivered(plan, folder, record) {
                return try await complete(delivered)
            }
            let held = try await tools.files.openPart(of: record, in: folder, engine: tools.engine)
            defer { held.part.close() }
            return try await transfer(held, plan, folder)
        } catch let failure as AttemptFailure {
            return .failed(failure)
        } catch let error as TransferError {
            return Self.ending(for: error)
        } catch is CancellationError {
            return .aborted
        } catch {
            return .failed(AttemptFailure(error: TransferError(.internal, "\(error)"), disposition: .permanent))
        }
    }

    /// Disk troubles wait, everything else that the daemon itself finds is final.
    private static func ending(for error: TransferError) -> Ending {
        switch error.code {
        case .diskFull, .diskQuota, .diskIO: .blocked(.disk, error)
        case .integrityChecksum: .integrityFailed(error)
        case .cancelled: .aborted
        default: .failed(AttemptFailure(error: error, disposition: .permanent))
        }
    }

    private func checkPlaintext() throws {
        guard !policy.network.allowsPlaintext else { return }
        let scheme = try URLRules.parse(record.spec.url ?? "").scheme
        if scheme == "http" || scheme == "ftp" {
            throw TransferError(
                .plaintextRefused, "\(scheme) is not encrypted and this task's session forbids that; use \(scheme)s.")
        }
    }

    // MARK: Transfer

    private func transfer(
        _ held: HeldPart, _ plan: DestinationPlan, _ folder: Folder
    ) async throws -> Ending {
        let recorder = RunRecorder(
            record: record, run: run, store: tools.store, time: tools.time, logger: logger)
        let recording = Task { await recorder.drain() }
        let arrival: Arrival?
        do {
            arrival = try await exchanges(held, recorder)
        } catch {
            recorder.close()
            await recording.value
            throw error
        }
        recorder.close()
        await recording.value
        guard let arrival else { return .aborted }
        return try await deliver(arrival, held, plan, folder)
    }

    /// Runs exchanges until the strategy has everything; nil where the run was stopped.
    private func exchanges(_ held: HeldPart, _ recorder: RunRecorder) async throws -> Arrival? {
        var strategy = try StrategyRegistry.strategy(
            for: StrategyRequest(
                spec: record.spec, checkpoint: held.checkpoint, network: policy.network,
                trustedDigest: record.spec.checksum != nil || held.checkpoint?.serverDigests.isEmpty == false,
                sessionHeaders: policy.headers, now: tools.time.reading().wall))
        let context = TransferContext(
            task: record.id, session: record.session, counters: run.counters, observer: recorder)
        var outcome: ExchangeOutcome?
        while true {
            if Task.isCancelled { return nil }
            var step = strategy.next(after: outcome)
            if case .restart(let cause, let exchange) = step {
                try await restart(held.part, because: cause)
                step = .run(exchange)
            }
            switch step {
            case .run(let exchange):
                run.set(phase: nil)
                outcome = await tools.engine.perform(exchange, into: held.part, context: context)
                if case .aborted? = outcome?.end { return nil }
            case .finished(let arrival): return arrival
            case .failed(let failure): throw failure
            case .restart: throw TransferError(.internal, "A restart led to a restart.")
            }
        }
    }

    private func restart(_ part: PartFile, because cause: TransferError) async throws {
        try await part.truncate(to: .zero)
        run.counters.reset()
        run.set(resumedFrom: nil)
        let record = record
        let now = tools.time.reading().wall
        logger.info("restarted from 0", metadata: ["task": "\(record.id)", "code": "\(cause.code.rawValue)"])
        try await tools.store.write { transaction in
            try transaction.setCheckpoint(record.id, nil)
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskRestarted, session: record.session, task: record.id,
                    payload: ["code": .string(cause.code.rawValue), "message": .string(cause.message)]))
        }
    }

    // MARK: Delivery

    private func deliver(
        _ arrival: Arrival, _ held: HeldPart, _ plan: DestinationPlan, _ folder: Folder
    ) async throws -> Ending {
        run.set(phase: .verifying)
        let verified = try await tools.files.verify(arrival, held.part, record, policy)
        guard run.enterCommit() else { return .aborted }
        run.set(phase: .finishing)
        let delivered = try await tools.files.deliver(
            verified, arrival, held.part, plan, folder, record, policy)
        return try await complete(delivered)
    }

    /// Tells the store, however long that takes: the file is at its place and must not be fetched again.
    private func complete(_ result: TaskResult) async throws -> Ending {
        let record = record
        let transitions = tools.transitions
        let started = record.status.startedAt ?? record.status.createdAt
        let duration = tools.time.reading().wall.since(started)
        let outcome = try await tools.persistently { transaction in
            try transaction.setResult(record.id, result)
            let outcome = try transitions.apply(
                .completed(result, duration: duration), to: record.id, in: transaction)
            try transaction.setCheckpoint(record.id, nil)
            return outcome
        }
        return .completed(outcome)
    }
}

/// A part file opened for this attempt, and what of it is proven.
struct HeldPart: Sendable {
    var part: PartFile
    /// With the offset proven by the journal; nil where nothing is held.
    var checkpoint: Checkpoint?
}
