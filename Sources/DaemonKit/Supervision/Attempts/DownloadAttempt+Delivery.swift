import CurlEngine
import FileKit
import TransferCore
import TransferModel

/// Delivers a complete file under its name.
extension DownloadAttempt {
    @inline(never)  // Keeps its locals out of suspended frames.
    func deliver(
        _ whole: Whole, _ held: HeldPart, _ place: PartPlace, _ tried: Result<AttemptEnding?, any Error>?
    ) async throws -> AttemptEnding {
        let (arrival, folder) = (whole.arrival, place.folder)
        let (name, forms) = naming(arrival, in: place)
        if let bytes = whole.gathered {
            if forms == [[]] {
                var delivered = tried
                if delivered == nil {
                    delivered = await withCheckedContinuation { continuation in
                        deliver(gathered: bytes, arrival, name, place) { continuation.resume(returning: $0) }
                    }
                }
                if let ending = try delivered?.get() { return ending }
            }
            try await tools.files.write(bytes, to: held.part)
        }
        let digests = try await proven(whole, held.part, isCoded: forms != [[]], in: folder)
        if forms == [[]] { return try await deliver(held.part, arrival, name, folder, digests) }
        var mismatch: TransferError?
        for undone in forms {
            do {
                return try await deliver(undoing: undone, arrival, name, held, place)
            } catch let error as TransferError where error.code == .integrityChecksum || error.isUndecodable {
                mismatch = mismatch ?? error
            }
        }
        throw mismatch ?? TransferError(.internal, "A body has no form.")
    }

    /// - Parameter undone: the codings to undo, outermost first.
    private func deliver(
        undoing undone: [ContentCodingRules.Undoable], _ arrival: Arrival, _ name: String, _ held: HeldPart,
        _ place: PartPlace
    ) async throws -> AttemptEnding {
        let folder = place.folder
        guard let plain = try await decoded(undone, of: arrival.contentCoding, held, place.plan, folder)
        else {
            let digests = try await proven(held.part, arrival.total, own, in: folder)
            return try await deliver(held.part, arrival, name, folder, digests)
        }
        defer { plain.part.close() }
        do {
            // The digests computed before are those of the coded bytes, not of the file.
            let digests = try await proven(plain.part, plain.bytes, own, in: folder)
            let ending = try await deliver(
                plain.part, of: held.part, arrival, name, folder, digests)
            if !ending.isCompleted { await tools.files.remove(plain.part, from: folder) }
            return ending
        } catch {
            await tools.files.remove(plain.part, from: folder)
            throw error
        }
    }

    /// Returns the name of the file, and the codings to undo before delivery, outermost first. With the user's checksum,
    /// these are alternatives, because servers also give a coding to files that have it themselves.
    func naming(_ arrival: Arrival, in place: PartPlace) -> (name: String, forms: [[ContentCodingRules.Undoable]]) {
        let plain = place.plan.name ?? suggestedName(arrival)
        let undone = ContentCodingRules.plan(arrival.contentCoding, name: plain).undone
        let all =
            own.isEmpty ? nil : arrival.head.map { $0.contentCoding } ?? record.response?.contentCoding
        return (
            FilenameRules.coded(plain, arrival.contentCoding, fitting: place.folder.names),
            ContentCodingRules.forms(of: all, preferring: undone)
        )
    }

    /// Delivers a body from memory and completes the task in the store.
    /// - Parameter then: called once, on any thread; with nil if the file system needs a part file for the body.
    func deliver(
        gathered bytes: [UInt8], _ arrival: Arrival, _ name: String, _ place: PartPlace,
        then: @escaping @Sendable (Result<AttemptEnding?, any Error>) -> Void
    ) {
        let delivery = GatheredDelivery(
            folder: place.folder, bytes: bytes, name: name, wanted: place.plan.name, policy: policy.conflictPolicy,
            store: tools.files.storeID, task: record.id, durability: policy.durability, isProven: isVerified(arrival),
            modificationTime: policy.preserveTime ? arrival.modificationTime : nil)
        let expected = own.isEmpty ? arrival.serverDigests : own
        if !expected.isEmpty { run.set(phase: .verifying) }
        tools.files.deliver(delivery, expected: expected, mayBeThere: record.status.attempts > 1) { [run] in
            guard run.enterCommit() else { return false }
            run.set(phase: .finishing)
            return true
        } then: { [self] delivered in
            do {
                switch try delivered.get() {
                case .stopped: then(.success(.aborted))
                case .impossible: then(.success(nil))
                case .placed(let placed, let sha256):
                    complete(placed, sha256, arrival.mirrors, place.folder, then)
                }
            } catch {
                then(.failure(error))
            }
        }
    }

    private func complete(
        _ placed: GatheredDelivery.Placed, _ sha256: String?, _ mirrors: [String], _ folder: Folder,
        _ then: @escaping @Sendable (Result<AttemptEnding?, any Error>) -> Void
    ) {
        recorder.close { [self] notes in
            let result = TaskResult(
                file: placed.delivered.path, bytes: placed.delivered.bytes, sha256: sha256, verified: placed.isProven,
                mark: placed.delivered.mark)
            tools.complete(
                record, of: run, with: result, after: notes, from: mirrors,
                hasCheckpoint: recorder.knownCheckpoint != nil
            ) { [self] ending in
                if case .success = ending { tools.files.marks.remove(from: placed.file, on: folder.device) }
                then(ending.map { $0 })
            }
        }
    }

    /// - Throws: an error that `isUndecodable` if the coded bytes cannot be what the server meant. Fetching them again
    ///   may help.
    private func decoded(
        _ codings: [ContentCodingRules.Undoable], of coding: String?, _ held: HeldPart, _ plan: DestinationPlan,
        _ folder: Folder
    ) async throws -> (part: PartFile, bytes: ByteCount)? {
        do {
            return try await tools.files.decoded(
                held.part, undoing: codings, for: record, plan, in: folder
            ) { [run] in run.decoded($0) }
        } catch let error as TransferError
            where error.code == .diskFull || error.code == .diskQuota || error.code == .httpProtocol && !error.retryable
        {
            // The coded body is complete. The next attempt begins with decoding, or keeps it coded under another name.
            let size = try await tools.files.syncedSize(of: held.part)
            try await recorder.close(holding: FileIdentity(held.part), at: held.part.path, size, coding: coding)
            throw error
        }
    }

    /// Delivers a verified file under its name.
    /// - Parameter coded: the part file from which `whole` was decoded. If `whole` cannot be delivered, it stays for the
    ///   next attempt; else it goes before the task is completed, because nothing looks for it afterwards.
    private func deliver(
        _ whole: PartFile, of coded: PartFile? = nil, _ arrival: Arrival, _ name: String, _ folder: Folder,
        _ digests: [DigestAlgorithm: String]
    ) async throws -> AttemptEnding {
        guard run.isCommitting || run.enterCommit() else { return .aborted }
        run.set(phase: .finishing)
        let notes = try await recorder.close(
            delivering: FileIdentity(whole), at: whole.path
        ) { [tools] in try await tools.files.syncedSize(of: whole) }
        let file: DeliveredFile
        do {
            file = try await tools.files.deliver(
                whole, to: folder, name: name, policy,
                modificationTime: policy.preserveTime ? arrival.modificationTime : nil)
        } catch {
            // A decoded file that has its name already is recognised by what is stored of it.
            var kept: PartFile? = whole
            if let coded { kept = await tools.files.isNamed(whole, in: folder) ? coded : nil }
            if let kept, let held = try? await tools.files.heldSize(of: kept) {
                // It has claims of the version, which is not stored any more. All bytes are durable.
                if coded != nil { tools.engine.journal?.forget(record.id) }
                try? await recorder.keep(
                    notes, holding: FileIdentity(kept), at: kept.path, held, coding: arrival.contentCoding)
            }
            throw error
        }
        if let coded { await tools.files.remove(coded, from: folder) }
        return try await tools.complete(
            record, of: run,
            with: TaskResult(
                file: file.path, bytes: file.bytes, sha256: digests[.sha256], verified: isVerified(arrival),
                mark: file.mark),
            after: notes, from: arrival.mirrors)
    }

    private func suggestedName(_ arrival: Arrival) -> String {
        let url = record.spec.url ?? ""
        // If the whole file was already here, the server was not asked. The stored answer determines the name.
        if arrival.head == nil, let known = record.response?.suggestedFilename { return known }
        return FilenameRules.suggested(head: arrival.head ?? ResponseHead(url: url), url: url)
    }
}
