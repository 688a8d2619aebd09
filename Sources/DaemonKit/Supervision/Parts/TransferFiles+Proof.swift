import CurlEngine
import FileKit
import Glibc
import TransferCore
import TransferModel

/// The attributes that change when somebody writes to a file.
struct PartStamp: Sendable, Hashable {
    var bytes: Int64
    /// Nanoseconds since 1970.
    var modified: Int64
    var changed: Int64

    init(_ status: stat) {
        bytes = Int64(status.st_size)
        modified = nanoseconds(status.st_mtim)
        changed = nanoseconds(status.st_ctim)
    }
}

/// What can be checked of a part file without reading it.
extension TransferFiles {
    /// The durable length of a part file; 0 if it was removed.
    func heldSize(of part: PartFile) async throws -> ByteCount {
        try await pool.run(on: part.device) { () throws(TransferError) in
            if let status = FileKit.status(of: part.fileDescriptor), status.st_nlink == 0 { return .zero }
            try part.sync()
            return try Self.size(of: part)
        }
    }

    /// Tells whether a part file still has its name, so that it is not delivered yet.
    func isNamed(_ part: PartFile, in folder: Folder) async -> Bool {
        await pool.run(on: folder.device) { (try? folder.status(of: Self.lastComponent(part.path))) != nil }
    }

    /// Checks a complete part file: it has its name, its length and all its bytes.
    /// - Parameter findingHoles: must be true if no digest is compared.
    /// - Throws: `disk.io` if the folder was removed; `integrity.checksum` if the part file is damaged, in which case
    ///   fetching again may help.
    @inline(never)  // Keeps its locals out of suspended frames.
    func look(
        at part: PartFile, of total: ByteCount, in folder: Folder, findingHoles: Bool = false
    ) async throws -> PartStamp {
        try await pool.run(on: part.device) { () throws(TransferError) in
            guard let status = FileKit.status(of: part.fileDescriptor) else {
                throw .destination(errno: errno, "look at", part.path)
            }
            try folder.requirePresent()
            let named = try folder.status(of: Self.lastComponent(part.path))
            guard !part.isDamaged, status.st_size == off_t(total.rawValue),
                named.map({ FileIdentity($0) == FileIdentity(part) }) ?? false,
                !findingHoles || !part.hasHole(in: ByteRangeSet([ByteRange(.zero, total)]))
            else { throw Self.damage(noted: part) }
            return PartStamp(status)
        }
    }

    /// Part files of such tasks may have holes that are not damage.
    static func mayHaveHoles(_ record: TaskRecord) -> Bool {
        record.spec.url.flatMap { try? URLRules.parse($0) }?.scheme == .file
    }

    static func damage(noted part: PartFile) -> TransferError {
        part.noteDamage()
        return damage(of: part)
    }

    static func damage(of part: PartFile) -> TransferError {
        TransferError(
            .integrityChecksum,
            "\(part.path) was changed while it was being downloaded: something else writes to it. "
                + "It is not delivered; it is fetched again.", details: ["path": .string(part.path)])
    }

    /// Verifies a file that an earlier daemon seems to have delivered, because somebody may have given the name to an
    /// incomplete part file.
    /// - Returns: nil if it is not what the task wants.
    /// - Throws: `cancelled`, `disk.*`.
    func proven(
        _ file: DeliveredFile, _ checkpoint: Checkpoint, _ record: TaskRecord, in folder: Folder
    ) async throws -> TaskResult? {
        var expected: [DigestAlgorithm: String] = [:]
        for (name, value) in checkpoint.serverDigests {
            if let algorithm = DigestAlgorithm(rawValue: name) { expected[algorithm] = value }
        }
        if let checksum = record.spec.checksum { expected = [checksum.algorithm: checksum.value] }
        let mayHaveHoles = Self.mayHaveHoles(record)
        return try await hashing.runCancellable(on: folder.device) { [expected] isCancelled throws(TransferError) in
            let (opened, _) = retrying {
                openat(folder.fileDescriptor, file.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            }
            guard opened >= 0 else { return nil }
            let descriptor = Descriptor(opened)
            guard let status = FileKit.status(of: opened), FileIdentity(status) == FileIdentity(checkpoint),
                !expected.isEmpty || mayHaveHoles || !PartFile.hasHole(opened, upTo: file.bytes)
            else { return nil }
            var result = TaskResult(file: file.path, bytes: file.bytes, verified: !expected.isEmpty, mark: file.mark)
            do throws(TransferError) {
                let digests = try Verification.verify(
                    file: descriptor.rawValue, path: file.path, expected: expected, isCancelled: isCancelled)
                result.sha256 = digests[.sha256]
            } catch {
                guard error.code == .integrityChecksum else { throw error }
                return nil
            }
            return result
        }
    }
}
