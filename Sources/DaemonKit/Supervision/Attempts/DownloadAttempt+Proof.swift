import CurlEngine
import FileKit
import TransferCore
import TransferModel

/// Proves what was written before it gets its name: other programs of the user may reach the part file.
extension DownloadAttempt {
    /// How often one attempt fetches the file before it gives up a part that somebody keeps damaging.
    static let mostDamages = 4
    /// How often a file is hashed that changes meanwhile.
    private static let mostLooks = 3

    /// The user's checksum, which is of the file and trusted most.
    var own: [DigestAlgorithm: String] { record.spec.checksum.map { [$0.algorithm: $0.value] } ?? [:] }

    /// A digest was compared, of the file or of the body as it came.
    func isVerified(_ arrival: Arrival) -> Bool {
        !own.isEmpty || !arrival.serverDigests.isEmpty
            || record.spec.pieces != nil && arrival.contentCoding == nil
    }

    /// Proves a part: it has the digest that the user, else the server, gave; without one it has its length and no hole.
    /// - Returns: every digest that was computed.
    /// - Throws: `integrity.checksum`; a part that somebody changed is marked as damaged.
    func proven(
        _ whole: Whole, _ part: PartFile, isCoded: Bool, in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        let others = own.isEmpty ? whole.arrival.serverDigests : [:]
        if let stamp = whole.stamp, others.isEmpty {
            // Its pieces were proven just now.
            let now = try await tools.files.look(at: part, of: whole.arrival.total, in: folder)
            guard now == stamp else { throw TransferFiles.damage(noted: part) }
            return whole.digests ?? [:]
        }
        let expected = own.isEmpty ? whole.arrival.serverDigests : isCoded ? [:] : own
        return try await proven(part, whole.arrival.total, expected, in: folder)
    }

    /// As above, for a file of so many bytes that we wrote.
    func proven(
        _ part: PartFile, _ total: ByteCount, _ expected: [DigestAlgorithm: String], in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        // Without a digest only the file system knows of a hole.
        var stamp = try await tools.files.look(
            at: part, of: total, in: folder, findingHoles: expected.isEmpty && !mayHaveHoles)
        guard !expected.isEmpty else { return [:] }
        run.set(phase: .verifying)
        for _ in 0..<Self.mostLooks {
            let digests = try await verified(part, total, expected, in: folder)
            let now = try await tools.files.look(at: part, of: total, in: folder)
            if now == stamp { return digests }
            stamp = now
        }
        throw TransferFiles.damage(noted: part)
    }

    private func verified(
        _ part: PartFile, _ total: ByteCount, _ expected: [DigestAlgorithm: String], in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        do {
            return try await tools.files.verify(part, expected: expected)
        } catch let error as TransferError where error.code == .integrityChecksum {
            // A hole explains it; then no place is at fault.
            _ = try await tools.files.look(at: part, of: total, in: folder, findingHoles: !mayHaveHoles)
            throw error
        }
    }

    /// The kernel copies a local file as it is, holes included.
    private var mayHaveHoles: Bool { TransferFiles.mayHaveHoles(record) }

    // MARK: Beginning anew

    /// Whether the file may be fetched again because of what somebody did to its part.
    func mayBeginAnew(after part: PartFile) -> Bool {
        part.isDamaged && !run.isCommitting && RepeatRules.mayFetchAgain(record.spec)
    }

    /// Drops the part file, which somebody else may still have open, for a new one.
    @inline(never)  // Kept off the frames that wait.
    func beginAnew(_ hand: PartInHand, _ place: PartPlace, _ recorder: RunRecorder) async throws {
        tools.engine.journal?.forget(record.id)
        try await restart(
            hand.held.part, because: TransferFiles.damage(of: hand.held.part), keeping: nil, recorder)
        var now = record
        now.checkpoint = nil
        hand.replace(with: try await tools.files.openPart(of: now, place.plan, in: place.folder, engine: tools.engine))
        run.holds(.zero, of: nil)
        run.set(phase: nil)
    }
}
