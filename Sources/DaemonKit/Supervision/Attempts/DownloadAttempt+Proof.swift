import CurlEngine
import FileKit
import TransferCore
import TransferModel

/// Verifies what was written before the file gets its name, because other programs of the user may change the part
/// file.
extension DownloadAttempt {
    /// How often one attempt fetches the file before it gives up because somebody keeps damaging the part file.
    static let mostDamages = 4
    /// How often a file is hashed if it changes meanwhile.
    private static let mostLooks = 3

    /// The user's checksum. It applies to the decoded file, and is trusted most.
    var own: [DigestAlgorithm: String] { record.spec.checksum.map { [$0.algorithm: $0.value] } ?? [:] }

    /// A digest of the file, or of the body as received, was compared.
    func isVerified(_ arrival: Arrival) -> Bool {
        !own.isEmpty || !arrival.serverDigests.isEmpty
            || record.spec.pieces != nil && arrival.contentCoding == nil
    }

    /// Verifies a part file against the user's digest or else the server's. Without a digest, it checks the length and
    /// that there is no hole.
    /// - Returns: every digest that was computed.
    /// - Throws: `integrity.checksum`; a part file that somebody has changed is marked as damaged.
    func proven(
        _ whole: Whole, _ part: PartFile, isCoded: Bool, in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        let others = own.isEmpty ? whole.arrival.serverDigests : [:]
        if let stamp = whole.stamp, others.isEmpty {
            // The pieces were just verified.
            let now = try await tools.files.look(at: part, of: whole.arrival.total, in: folder)
            guard now == stamp else { throw TransferFiles.damage(noted: part) }
            return whole.digests ?? [:]
        }
        let expected = own.isEmpty ? whole.arrival.serverDigests : isCoded ? [:] : own
        return try await proven(part, whole.arrival.total, expected, in: folder)
    }

    /// The same for a file of `total` bytes that the daemon wrote.
    func proven(
        _ part: PartFile, _ total: ByteCount, _ expected: [DigestAlgorithm: String], in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        // Without a digest, only the file system knows about a hole.
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
            // A hole explains the mismatch; then no mirror is at fault.
            _ = try await tools.files.look(at: part, of: total, in: folder, findingHoles: !mayHaveHoles)
            throw error
        }
    }

    /// The kernel copies a local file as it is, including holes.
    private var mayHaveHoles: Bool { TransferFiles.mayHaveHoles(record) }

    // MARK: Starting over

    /// Tells whether the file may be fetched again because somebody damaged its part file.
    func mayBeginAnew(after part: PartFile) -> Bool {
        part.isDamaged && !run.isCommitting && RepeatRules.mayFetchAgain(record.spec)
    }

    /// Replaces the part file, which somebody else may still have open, by a new one.
    @inline(never)  // Keeps its locals out of suspended frames.
    func beginAnew(
        _ hand: PartInHand, _ place: PartPlace, _ recorder: RunRecorder, because cause: TransferError
    ) async throws {
        tools.engine.journal?.forget(record.id)
        try await restart(hand.held.part, because: cause, keeping: nil, recorder)
        var now = record
        now.checkpoint = nil
        hand.replace(with: try await tools.files.openPart(of: now, place.plan, in: place.folder, engine: tools.engine))
        run.holds(.zero, of: nil)
        run.set(phase: nil)
    }
}
