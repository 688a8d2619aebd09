import CurlEngine
import Logging
import TransferCore
import TransferModel
import TransferStore

/// One attempt at one download: opens the part file, lets the strategy say which exchange comes next, verifies and
/// delivers what arrived.
struct DownloadAttempt: TransferAttempt {
    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    let logger: Logger

    func perform() async -> AttemptEnding {
        await .of {
            let plan = try DestinationPlan(record.spec.destination, directory: nil)
            let folder = try await tools.files.open(plan, for: record)
            if let delivered = try await tools.files.alreadyDelivered(plan, folder, record, policy) {
                return try await tools.complete(record, with: delivered)
            }
            try await tools.files.requireSpace(in: folder, leaving: tools.minimumFreeSpace())
            let held = try await tools.files.openPart(of: record, plan, in: folder, engine: tools.engine)
            defer { held.part.close() }
            if let checkpoint = held.checkpoint { run.holds(checkpoint.held, of: checkpoint.total) }
            do {
                let ending = try await transfer(held, plan, folder)
                if case .aborted = ending { await tools.files.removeIfEmpty(held.part, from: folder) }
                return ending
            } catch {
                await tools.files.removeIfEmpty(held.part, from: folder)
                throw error
            }
        }
    }

    // MARK: Transfer

    private func transfer(
        _ held: HeldPart, _ plan: DestinationPlan, _ folder: Folder
    ) async throws -> AttemptEnding {
        let recorder = RunRecorder(
            record: record, run: run, part: held.part, patience: tools.patience, time: tools.time, logger: logger)
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
        let pinned = try await tools.files.pinned(
            policy.network, record.spec.url ?? "", owner: record.session.owner)
        defer { withExtendedLifetime(pinned) {} }
        var spec = record.spec
        spec.url = pinned.url
        let request = StrategyRequest(
            spec: spec, checkpoint: held.checkpoint, network: pinned.network,
            trustedDigest: record.spec.checksum != nil || held.checkpoint?.serverDigests.isEmpty == false,
            sessionHeaders: policy.sessionHeaders, now: tools.time.reading().wall)
        if let segmented = try StrategyRegistry.segmented(for: request, policy.connections) {
            return try await segments(segmented, held, recorder)
        }
        var strategy = try StrategyRegistry.strategy(for: request)
        let context = TransferContext(
            task: record.id, session: record.session, counters: run.counters, observer: recorder)
        var step = strategy.next(after: nil)
        while !Task.isCancelled {
            switch step {
            case .run(let exchange), .restart(_, then: let exchange):
                if case .restart(let cause, _) = step { try await restart(held.part, because: cause) }
                let outcome = await tools.engine.perform(exchange, into: held.part, context: context)
                if case .aborted = outcome.end { return nil }
                step = strategy.next(after: outcome)
            case .finished(let arrival): return arrival
            case .failed(let failure): throw failure
            case .store, .uploaded:
                throw TransferError(.internal, "A download took a step of uploads; please report it.")
            }
        }
        return nil
    }

    /// As `exchanges`, for several at a time.
    private func segments(
        _ machine: SegmentedDownload, _ held: HeldPart, _ recorder: RunRecorder
    ) async throws -> Arrival? {
        // What the journal alone knew is stored before its claims give way to those of this attempt.
        if let checkpoint = held.checkpoint, checkpoint != record.checkpoint {
            let id = record.id
            try await tools.patience.persistently { try $0.setCheckpoint(id, checkpoint) }
        }
        if held.checkpoint != nil { tools.engine.journal?.forget(record.id) }
        let conductor = SegmentConductor(
            machine, held: held, recorder: recorder, run: run, engine: tools.engine, hosts: tools.hosts,
            time: tools.time)
        return try await conductor.arrival { try await restart(held.part, because: $0) }
    }

    private func restart(_ part: PartFile, because cause: TransferError) async throws {
        try await tools.files.truncate(part)
        run.restarted()
        let record = record
        let now = tools.time.reading().wall
        logger.info("restarted from 0", metadata: ["task": "\(record.id)", "code": "\(cause.code.rawValue)"])
        try await tools.patience.persistently { transaction in
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
    ) async throws -> AttemptEnding {
        let name = plan.name ?? suggestedName(arrival)
        var digests: [DigestAlgorithm: String] = [:]
        if record.spec.checksum == nil { digests = try await verify(held.part, arrival.serverDigests) }
        guard let plain = try await decoded(arrival, held, name, plan, folder) else {
            return try await deliver(held.part, arrival, name, folder, digests)
        }
        defer { plain.close() }
        // What was computed is of the coded bytes, not of the file.
        digests[.sha256] = nil
        do {
            let ending = try await deliver(plain, arrival, name, folder, digests)
            await tools.files.remove(ending.isCompleted ? held.part : plain, from: folder)
            return ending
        } catch {
            await tools.files.remove(plain, from: folder)
            throw error
        }
    }

    /// - Throws: `integrity.checksum` where the coded bytes cannot be what the server meant: they are worth another fetch.
    private func decoded(
        _ arrival: Arrival, _ held: HeldPart, _ name: String, _ plan: DestinationPlan, _ folder: Folder
    ) async throws -> PartFile? {
        do {
            return try await tools.files.decoded(
                held.part, coding: arrival.contentCoding, name: name, for: record, plan, in: folder)
        } catch let error as TransferError where error.code == .integrityLength || error.code == .httpProtocol {
            throw TransferError(.integrityChecksum, error.message, details: error.details)
        }
    }

    /// Checks `whole` against the user's checksum and gives it its name.
    private func deliver(
        _ whole: PartFile, _ arrival: Arrival, _ name: String, _ folder: Folder,
        _ known: [DigestAlgorithm: String]
    ) async throws -> AttemptEnding {
        var digests = known
        if let checksum = record.spec.checksum {
            digests = try await verify(whole, [checksum.algorithm: checksum.value])
        }
        guard run.enterCommit() else { return .aborted }
        run.set(phase: .finishing)
        try await makeRecognisable(whole)
        let file = try await tools.files.deliver(
            whole, to: folder, name: name, policy: policy.conflictPolicy,
            modificationTime: policy.preserveTime ? arrival.modificationTime : nil)
        return try await tools.complete(
            record,
            with: TaskResult(
                file: file.path, bytes: file.bytes, sha256: digests[.sha256],
                verified: arrival.lengthProven || record.spec.checksum != nil || !arrival.serverDigests.isEmpty))
    }

    /// A file that a daemon delivered without living to tell is known again by device, inode and length. Those of
    /// `whole` are stored first where the checkpoint does not have them: a body of unknown length, or a decoded one.
    private func makeRecognisable(_ whole: PartFile) async throws {
        let id = record.id
        guard var checkpoint = try await tools.patience.store.read({ try $0.task(id)?.checkpoint }),
            checkpoint.total == nil || checkpoint.inode != whole.inode
        else { return }
        let size = try await tools.files.syncedSize(of: whole)
        if checkpoint.inode != whole.inode {
            // The server's validators and digests are of the coded bytes.
            checkpoint = Checkpoint(offset: size, partPath: whole.path, device: whole.device, inode: whole.inode)
        }
        checkpoint.offset = size
        checkpoint.ranges = []
        checkpoint.total = size
        let known = checkpoint
        try await tools.patience.persistently { try $0.setCheckpoint(id, known) }
    }

    /// The user's checksum is trusted most, then what the server said (transfer-rules.md, Digests).
    private func verify(
        _ part: PartFile, _ expected: [DigestAlgorithm: String]
    ) async throws -> [DigestAlgorithm: String] {
        guard !expected.isEmpty else { return [:] }
        run.set(phase: .verifying)
        return try await tools.files.verify(part, expected: expected)
    }

    private func suggestedName(_ arrival: Arrival) -> String {
        let url = record.spec.url ?? ""
        let head = arrival.head ?? ResponseHead(url: url)
        return FilenameRules.suggested(head: head, url: url)
    }
}

/// A part file opened for this attempt, and what of it is proven.
struct HeldPart: Sendable {
    var part: PartFile
    /// With the offset proven by the journal; nil where nothing is held.
    var checkpoint: Checkpoint?
}
