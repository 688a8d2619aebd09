import CurlEngine
import FileKit
import TransferCore
import TransferModel
import TransferStore

/// Finds the wrong pieces of a complete file, and fetches only those again.
extension DownloadAttempt {
    /// Returns the file with correct pieces; nil if the run was stopped.
    /// - Throws: `integrity.checksum` if pieces stay wrong, or if the file has another length.
    func repaired(
        _ arrived: Whole, _ pieces: PieceDigests, _ hand: PartInHand, _ place: PartPlace, _ recorder: RunRecorder
    ) async throws -> Whole? {
        var whole = arrived
        var repair: PieceRepair?
        while true {
            if let bytes = whole.gathered {
                try await tools.files.write(bytes, to: hand.held.part)
                whole.gathered = nil
            }
            run.set(phase: .verifying)
            let map = try PieceMap(pieces, of: whole.arrival.total)
            let part = hand.held.part
            whole.stamp = try? await tools.files.look(at: part, of: whole.arrival.total, in: place.folder)
            if part.isDamaged { throw TransferFiles.damage(of: part) }
            let (wrong, mismatch) = try await wrongPieces(&whole, pieces, map, part)
            // The digest of the whole file contradicts the digests of its pieces.
            if wrong.isEmpty, let mismatch { throw mismatch }
            if wrong.isEmpty { return whole }
            let places = origins(hand.held.checkpoint, whole.arrival.head.map { ($0.headers, $0.url) })
            var next = repair ?? PieceRepair(map, pieces.algorithm, places: places.places.map(\.name))
            let again = try await fetched(wrong, of: places, &next, whole, hand, place, recorder)
            guard let again else { return nil }
            whole = again
            repair = next
        }
    }

    /// Fetches the wrong pieces again, all from one mirror, and returns the file; nil if the run was stopped.
    private func fetched(
        _ wrong: [Int], of origins: Origins, _ repair: inout PieceRepair, _ whole: Whole, _ hand: PartInHand,
        _ place: PartPlace, _ recorder: RunRecorder
    ) async throws -> Whole? {
        var decision = repair.next(wrong: wrong, brought: hand.brought)
        while true {
            switch decision {
            case .giveUp(let failure): throw failure
            case .refetch(let kept, let name):
                try await drop(repair.error(wrong), keeping: kept, whole, hand, place, recorder)
                run.set(phase: nil)
                guard let origin = origins.places.first(where: { $0.name == name }) else {
                    throw TransferError(.internal, "A mirror that was to send pieces is gone; please report it.")
                }
                do {
                    return try await arrival(hand, place, recorder, from: .only(origin))
                } catch {
                    let failure = try Self.failure(error)
                    switch failure.disposition {
                    case .disk, .network: throw failure
                    case .permanent, .transient: decision = repair.next(wrong: wrong, after: failure)
                    }
                    logger.info(
                        "a mirror cannot give pieces",
                        metadata: ["task": "\(record.id)", "code": "\(failure.error.code.rawValue)"])
                }
            }
        }
    }

    /// Returns the wrong pieces. If the digest of the whole file matches, no piece is checked.
    private func wrongPieces(
        _ whole: inout Whole, _ pieces: PieceDigests, _ map: PieceMap, _ part: PartFile
    ) async throws -> ([Int], TransferError?) {
        guard let checksum = record.spec.checksum else {
            return (try await tools.files.wrongPieces(of: part, pieces, map), nil)
        }
        do {
            whole.digests = try await tools.files.verify(part, expected: [checksum.algorithm: checksum.value])
            return ([], nil)
        } catch let error as TransferError where error.code == .integrityChecksum {
            return (try await tools.files.wrongPieces(of: part, pieces, map), error)
        }
    }

    /// Turns the wrong pieces into gaps, and stores that for the next daemon too.
    private func drop(
        _ error: TransferError, keeping kept: ByteRangeSet, _ whole: Whole, _ hand: PartInHand, _ place: PartPlace,
        _ recorder: RunRecorder
    ) async throws {
        let part = hand.held.part
        var now = try await stored(recorder)
        // What a checkpoint claims must be durable.
        _ = try await tools.files.syncedSize(of: part)
        var checkpoint =
            now.checkpoint ?? Checkpoint(offset: .zero, partPath: part.path, device: part.device, inode: part.inode)
        (checkpoint.partPath, checkpoint.device, checkpoint.inode) = (part.path, part.device, part.inode)
        checkpoint.total = whole.arrival.total
        checkpoint.offset = kept.prefix
        checkpoint.ranges = kept.beyond
        // The journal would vouch for wrong bytes.
        tools.engine.journal?.forget(record.id)
        try await store(checkpoint, because: error, recorder)
        now.checkpoint = checkpoint
        hand.replace(with: try await tools.files.openPart(of: now, place.plan, in: place.folder, engine: tools.engine))
        run.holds(checkpoint.held, of: checkpoint.total)
    }

    private func store(
        _ checkpoint: Checkpoint, because error: TransferError, _ recorder: RunRecorder
    ) async throws {
        let record = record
        let now = tools.time.reading().wall
        let pieces = error.details["pieces"] ?? .array([])
        logger.notice(
            "pieces are wrong", metadata: ["task": "\(record.id)", "pieces": "\(pieces)"])
        try await recorder.replaceCheckpoint(with: checkpoint) { transaction in
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskRestarted, session: record.session, task: record.id,
                    payload: [
                        "code": .string(error.code.rawValue), "message": .string(error.message), "pieces": pieces,
                    ]))
        }
    }
}
