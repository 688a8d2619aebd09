import CurlEngine
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferStore

/// One attempt at one download: opens the part file, lets the strategy say which exchange comes next, verifies and
/// delivers what arrived.
final class DownloadAttempt: TransferAttempt {
    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    let logger: Logger

    /// A representation that is whole: in the part file, or in memory where it was small and came at once.
    struct Whole: Sendable {
        var arrival: Arrival
        var gathered: [UInt8]?
        /// What was computed of the part file as it is.
        var digests: [DigestAlgorithm: String]?
        /// The part file when its pieces were looked at.
        var stamp: PartStamp?
    }

    init(record: TaskRecord, policy: EffectivePolicy, run: TransferRun, tools: AttemptTools, logger: Logger) {
        self.record = record
        self.policy = policy
        self.run = run
        self.tools = tools
        self.logger = logger
    }

    func begin() async -> AttemptProgress {
        do {
            let plan = try DestinationPlan(record.spec.destination, directory: nil)
            let folder = try await tools.files.open(plan, for: record)
            do {
                return try await begin(PartPlace(plan: plan, folder: folder))
            } catch {
                tools.files.forget(folder, for: record)
                throw error
            }
        } catch {
            return .ended(AttemptEnding(of: error))
        }
    }

    // MARK: Beginning

    /// Does all that needs no answer, and puts the first exchanges on the network.
    private func begin(_ place: PartPlace) async throws -> AttemptProgress {
        if let delivered = try await tools.files.alreadyDelivered(place.plan, place.folder, record, policy) {
            return .ended(try await tools.complete(record, began: run.startedAt, with: delivered))
        }
        try await tools.files.requireSpace(in: place.folder, leaving: tools.minimumFreeSpace())
        // A copy of what is held may take long, and others begin meanwhile.
        guard tools.moves.isInPlace(record, place) else {
            return .goesOn(after: nil) { await self.endAfterMove(to: place) }
        }
        let (hand, recorder) = try await open(record, place)
        // What fails here fails again, where it is known what follows.
        let search = try? await search(hand)
        var conductor: SegmentConductor?
        if let search { conductor = try? await self.conductor(search, hand, recorder) }
        let begun = BegunDownload(place: place, hand: hand, recorder: recorder, search: search, conductor: conductor)
        conductor?.begin()
        return .goesOn(after: conductor) { await self.end(begun) }
    }

    /// The part, and what records what happens to it.
    private func open(_ record: TaskRecord, _ place: PartPlace) async throws -> (PartInHand, RunRecorder) {
        let hand = PartInHand(
            try await tools.files.openPart(of: record, place.plan, in: place.folder, engine: tools.engine))
        if let checkpoint = hand.held.checkpoint { run.holds(checkpoint.held, of: checkpoint.total) }
        let recorder = RunRecorder(
            record: record, run: run, keepsAnswers: true, patience: tools.patience, keeper: tools.checkpoints,
            time: tools.time, logger: logger)
        return (hand, recorder)
    }

    /// The destination has changed since the part was written: it comes along first.
    private func endAfterMove(to place: PartPlace) async -> AttemptEnding {
        await .of {
            do {
                var moved = record
                moved.checkpoint = try await tools.moves.bring(record, to: place)
                let (hand, recorder) = try await open(moved, place)
                return await end(
                    BegunDownload(place: place, hand: hand, recorder: recorder, search: nil, conductor: nil))
            } catch {
                tools.files.forget(place.folder, for: record)
                throw error
            }
        }
    }

    // MARK: Transfer

    @inline(never)  // Kept off the frames that wait.
    private func end(_ download: BegunDownload) async -> AttemptEnding {
        await .of {
            let (hand, place) = (download.hand, download.place)
            defer { hand.close() }
            do {
                let ending = try await transfer(download)
                if case .aborted = ending { await tools.files.removeIfEmpty(hand.held.part, from: place.folder) }
                return ending
            } catch {
                await tools.files.removeIfEmpty(hand.held.part, from: place.folder)
                tools.files.forget(place.folder, for: record)
                throw error
            }
        }
    }

    private func transfer(_ download: BegunDownload) async throws -> AttemptEnding {
        let (hand, recorder) = (download.hand, download.recorder)
        var begun: BegunDownload? = download
        do {
            for _ in 0..<Self.mostDamages {
                do {
                    let ending = try await transferred(hand, download.place, recorder, begun)
                    guard case .aborted = ending, hand.held.part.isDamaged else { return ending }
                } catch  where mayBeginAnew(after: hand.held.part) {
                }
                begun = nil
                try await beginAnew(hand, download.place, recorder)
                if run.isAborting { return .aborted }
            }
            throw TransferFiles.damage(of: hand.held.part)
        } catch {
            await recorder.settle()
            throw error
        }
    }

    /// Fetches the file, proves it and delivers it, once.
    private func transferred(
        _ hand: PartInHand, _ place: PartPlace, _ recorder: RunRecorder, _ begun: BegunDownload?
    ) async throws -> AttemptEnding {
        guard var whole = try await arrival(hand, place, recorder, begun: begun) else {
            await recorder.settle()
            return .aborted
        }
        try whole.arrival.check(record.spec.size)
        if let pieces = record.spec.pieces, whole.arrival.contentCoding == nil {
            guard let repaired = try await repaired(whole, pieces, hand, place, recorder) else {
                await recorder.settle()
                return .aborted
            }
            whole = repaired
        }
        do {
            return try await deliver(whole, hand.held, place.plan, place.folder, recorder)
        } catch let error as TransferError
            where error.code == .integrityChecksum && !whole.arrival.mayBeFetchedAgain
        {
            try await keep(nil)
            throw AttemptFailure(error: error, disposition: .permanent)
        }
    }

    /// Runs exchanges with one place until its strategy has everything; nil where the run was stopped.
    /// - Parameter conductor: what was begun with it.
    func exchanges(
        _ search: OriginSearch, _ hand: PartInHand, _ recorder: RunRecorder, _ begun: SegmentConductor?
    ) async throws -> Whole? {
        var running = begun
        if running == nil {
            running = try await conductor(search, hand, recorder)
            running?.begin()
        }
        guard let running else { return try await sequence(search, hand, recorder) }
        defer { search.asked(running.asked, running.brought, hand) }
        let part = hand.held.part
        let arrived = try await running.arrival { try await restart(part, because: $0, keeping: nil, recorder) }
        return arrived.map { Whole(arrival: $0.arrival, gathered: $0.gathered) }
    }

    /// Runs one exchange after the other.
    @inline(never)  // Kept off the frames that wait.
    private func sequence(_ search: OriginSearch, _ hand: PartInHand, _ recorder: RunRecorder) async throws -> Whole? {
        let (inquiry, held) = (search.inquiry, hand.held)
        var strategy = try StrategyRegistry.strategy(for: inquiry.request)
        let context = TransferContext(
            task: record.id, session: record.session, counters: run.counters, observer: recorder)
        var stored = record.upload
        var sending: SendingFile?
        var step = strategy.next(after: nil)
        var gathered: [UInt8]?
        while true {
            // Before anything is stored: a body that cannot be sent leaves no question open.
            if sending == nil, step.exchange?.payload.sourceOffset != nil {
                sending = try await tools.files.openSending(of: record, store: tools.patience.store)
            }
            // What was gathered is not the whole: the next exchange goes on behind it, in the file.
            if let bytes = gathered, step.exchange != nil { try await tools.files.write(bytes, to: held.part) }
            let exchange: Exchange
            switch step {
            case .run(let next): exchange = next
            case .store(let begun, let next):
                try await keep(begun)
                stored = begun
                exchange = next
            case .restart(let cause, let next):
                stored = strategy.upload
                try await restart(held.part, because: cause, keeping: stored, recorder)
                exchange = next
            case .finished(let arrival): return Whole(arrival: arrival, gathered: gathered)
            case .failed(let failure):
                guard strategy.upload != stored else { throw failure }
                var notes = PendingNotes(record: record, time: nil)
                notes.add(strategy.upload)
                throw FailedRequest(failure: failure, notes: notes)
            case .uploaded:
                throw TransferError(.internal, "A download took a step of uploads; please report it.")
            }
            recorder.begins(exchange)
            let outcome = await tools.engine.perform(
                exchange, into: held.part, sending: sending?.file, context: context)
            gathered = outcome.gathered
            let first = max(.zero, outcome.offset - outcome.received)
            let origin = inquiry.request.origin
            search.asked([origin], [origin: ByteRangeSet([ByteRange(first, outcome.offset)])], hand)
            step = strategy.next(after: outcome)
            if case .aborted = outcome.end {
                if strategy.upload != stored { try await keep(strategy.upload) }
                return nil
            }
        }
    }

    /// What runs several exchanges at a time; nil where one stream is all that is possible or wanted.
    @inline(never)  // Kept off the frames that wait.
    private func conductor(
        _ search: OriginSearch, _ hand: PartInHand, _ recorder: RunRecorder
    ) async throws -> SegmentConductor? {
        let (inquiry, held) = (search.inquiry, hand.held)
        let machine = try StrategyRegistry.segmented(
            for: inquiry.request, beside: inquiry.others, policy.connections)
        guard let machine else { return nil }
        if let checkpoint = held.checkpoint { try await adopt(checkpoint, recorder) }
        return SegmentConductor(
            machine, held: held, recorder: recorder, run: run, engine: tools.engine, hosts: tools.hosts,
            time: tools.time
        ) { [tools, part = held.part] in try await tools.files.write($0, to: part) }
    }

    /// What the journal alone knew is stored before its claims give way to those of this attempt.
    @inline(never)  // Kept off the frames that wait.
    private func adopt(_ checkpoint: Checkpoint, _ recorder: RunRecorder) async throws {
        if checkpoint != recorder.knownCheckpoint { try await recorder.replaceCheckpoint(with: checkpoint) }
        tools.engine.journal?.forget(record.id)
    }

    /// Stores, or forgets, that a request is under way which must not be made twice.
    @inline(never)  // Kept off the frames that wait.
    private func keep(_ begun: UploadProgress?) async throws {
        let id = record.id
        try await tools.patience.persistently { try $0.setUpload(id, begun) }
    }

    @inline(never)  // Kept off the frames that wait.
    func restart(
        _ part: PartFile, because cause: TransferError, keeping begun: UploadProgress?, _ recorder: RunRecorder
    ) async throws {
        try await tools.files.truncate(part)
        run.restarted()
        let record = record
        let now = tools.time.reading().wall
        logger.info("restarted from 0", metadata: ["task": "\(record.id)", "code": "\(cause.code.rawValue)"])
        try await recorder.replaceCheckpoint(with: nil) { transaction in
            try transaction.setUpload(record.id, begun)
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskRestarted, session: record.session, task: record.id,
                    payload: ["code": .string(cause.code.rawValue), "message": .string(cause.message)]))
        }
    }

    // MARK: Delivery

    @inline(never)  // Kept off the frames that wait.
    private func deliver(
        _ whole: Whole, _ held: HeldPart, _ plan: DestinationPlan, _ folder: Folder, _ recorder: RunRecorder
    ) async throws -> AttemptEnding {
        let arrival = whole.arrival
        let plainName = plan.name ?? suggestedName(arrival)
        let undone = ContentCodingRules.plan(arrival.contentCoding, name: plainName).undone
        let name = FilenameRules.coded(plainName, arrival.contentCoding)
        if let bytes = whole.gathered {
            if undone.isEmpty,
                let ending = try await deliver(gathered: bytes, arrival, name, folder, recorder)
            {
                return ending
            }
            try await tools.files.write(bytes, to: held.part)
        }
        var digests = try await proven(whole, held.part, isCoded: !undone.isEmpty, in: folder)
        guard let plain = try await decoded(undone, of: arrival.contentCoding, held, plan, folder, recorder)
        else {
            return try await deliver(held.part, arrival, name, folder, digests, recorder)
        }
        defer { plain.part.close() }
        do {
            // What was computed before is of the coded bytes, not of the file.
            digests = try await proven(plain.part, plain.bytes, own, in: folder)
            let ending = try await deliver(plain.part, arrival, name, folder, digests, recorder)
            await tools.files.remove(ending.isCompleted ? held.part : plain.part, from: folder)
            return ending
        } catch {
            await tools.files.remove(plain.part, from: folder)
            throw error
        }
    }

    /// Delivers a body from memory; nil where the file system wants a part file for it.
    private func deliver(
        gathered bytes: [UInt8], _ arrival: Arrival, _ name: String, _ folder: Folder, _ recorder: RunRecorder
    ) async throws -> AttemptEnding? {
        let expected = own.isEmpty ? arrival.serverDigests : own
        if !expected.isEmpty { run.set(phase: .verifying) }
        let digests = try await tools.files.verify(bytes, expected: expected)
        guard run.enterCommit() else { return .aborted }
        run.set(phase: .finishing)
        let earlier = try await tools.files.delivered(before: record, as: name, in: folder, policy)
        let modified = policy.preserveTime ? arrival.modificationTime : nil
        let proven = isVerified(arrival)
        var placed = earlier
        if placed == nil {
            placed = try await tools.files.deliver(
                gathered: bytes, of: record, to: folder, name: name, policy, isProven: proven,
                modificationTime: modified)
        }
        guard let placed else { return nil }
        let notes = await recorder.close()
        let ending = try await tools.complete(
            record, began: run.startedAt,
            with: TaskResult(
                file: placed.delivered.path, bytes: placed.delivered.bytes,
                sha256: earlier == nil ? digests[.sha256] : nil, verified: placed.isProven,
                mark: placed.delivered.mark),
            after: notes, hasCheckpoint: recorder.knownCheckpoint != nil)
        tools.files.marks.remove(from: placed.file, on: folder.device)
        return ending
    }

    /// - Throws: `integrity.checksum` where the coded bytes cannot be what the server meant: they are worth another fetch.
    private func decoded(
        _ codings: [ContentCodingRules.Undoable], of coding: String?, _ held: HeldPart, _ plan: DestinationPlan,
        _ folder: Folder, _ recorder: RunRecorder
    ) async throws -> (part: PartFile, bytes: ByteCount)? {
        do {
            return try await tools.files.decoded(held.part, undoing: codings, for: record, plan, in: folder)
        } catch let error as TransferError where error.code == .integrityLength || error.code == .httpProtocol {
            throw TransferError(.integrityChecksum, error.message, details: error.details)
        } catch let error as TransferError where error.code == .diskFull || error.code == .diskQuota {
            // What came is whole: the next attempt begins with the unfolding.
            let size = try await tools.files.syncedSize(of: held.part)
            try await recorder.close(holding: FileIdentity(held.part), at: held.part.path, size, coding: coding)
            throw error
        }
    }

    /// Gives what is proven its name.
    private func deliver(
        _ whole: PartFile, _ arrival: Arrival, _ name: String, _ folder: Folder,
        _ digests: [DigestAlgorithm: String], _ recorder: RunRecorder
    ) async throws -> AttemptEnding {
        guard run.isCommitting || run.enterCommit() else { return .aborted }
        run.set(phase: .finishing)
        let notes = try await recorder.close(
            delivering: FileIdentity(whole), at: whole.path
        ) { [tools] in try await tools.files.syncedSize(of: whole) }
        let file = try await tools.files.deliver(
            whole, to: folder, name: name, policy,
            modificationTime: policy.preserveTime ? arrival.modificationTime : nil)
        return try await tools.complete(
            record, began: run.startedAt,
            with: TaskResult(
                file: file.path, bytes: file.bytes, sha256: digests[.sha256], verified: isVerified(arrival),
                mark: file.mark),
            after: notes)
    }

    private func suggestedName(_ arrival: Arrival) -> String {
        let url = record.spec.url ?? ""
        // Nothing was asked if all of the file was here: the answer that it is of said the name.
        if arrival.head == nil, let known = record.response?.suggestedFilename { return known }
        return FilenameRules.suggested(head: arrival.head ?? ResponseHead(url: url), url: url)
    }
}
