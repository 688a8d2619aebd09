import TransferCore
import TransferModel

/// Compares a file with the digests it must have, in one pass.
package enum Verification {
    /// Blocks: run it in a `BlockingPool`.
    /// - Parameters:
    ///   - expected: the user's checksum or the server's digests, in hexadecimal.
    ///   - also: algorithms to compute without a value to compare with.
    /// - Returns: every computed digest.
    /// - Throws: `integrity.checksum`, `cancelled`, `disk.io`, `internal`.
    @discardableResult
    package static func verify(
        file: Int32, path: String, expected: [DigestAlgorithm: String], also: Set<DigestAlgorithm> = [],
        isCancelled: () -> Bool = { false }
    ) throws(TransferError) -> [DigestAlgorithm: String] {
        let found = try FileHasher.digests(
            of: file, path: path, Set(expected.keys).union(also), isCancelled: isCancelled)
        try compare(found, expected)
        return found
    }

    /// Verifies a file whose bytes are in memory.
    package static func verify(
        bytes: [UInt8], expected: [DigestAlgorithm: String]
    ) throws(TransferError) -> [DigestAlgorithm: String] {
        let hasher = try FileHasher(Set(expected.keys))
        bytes.withUnsafeBytes { hasher.update($0) }
        let found = hasher.finish()
        try compare(found, expected)
        return found
    }

    /// Returns the pieces whose digests do not match. Blocks.
    /// - Returns: their numbers, from 0.
    /// - Throws: `cancelled`, `disk.io`, `internal`.
    package static func wrongPieces(
        file: Int32, path: String, _ pieces: PieceDigests, _ map: PieceMap, isCancelled: () -> Bool = { false }
    ) throws(TransferError) -> [Int] {
        var wrong: [Int] = []
        for (piece, value) in pieces.values.enumerated() {
            let range = map.range(of: piece)
            let hasher = try FileHasher([pieces.algorithm])
            try readAll(
                of: file, path: path, from: range.start, length: range.count, isCancelled: isCancelled
            ) { hasher.update($0) }
            if hasher.finish()[pieces.algorithm] != value.lowercased() { wrong.append(piece) }
        }
        return wrong
    }

    private static func compare(
        _ found: [DigestAlgorithm: String], _ expected: [DigestAlgorithm: String]
    ) throws(TransferError) {
        for (algorithm, value) in expected.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            guard let computed = found[algorithm], computed != value.lowercased() else { continue }
            throw TransferError(
                .integrityChecksum,
                "The file's \(algorithm.rawValue) is \(computed), but \(value.lowercased()) was expected.",
                details: [
                    "algorithm": .string(algorithm.rawValue), "expected": .string(value.lowercased()),
                    "found": .string(computed),
                ])
        }
    }
}
