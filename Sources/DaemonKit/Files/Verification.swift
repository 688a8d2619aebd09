import TransferModel

/// Compares a file with the digests it must have, in one pass.
package enum Verification {
    /// Blocks; run it in a `BlockingPool`.
    /// - Parameters:
    ///   - expected: the user's checksum, or the server's digests; hexadecimal in either case.
    ///   - also: algorithms to compute without a value to compare with.
    /// - Returns: every computed digest.
    /// - Throws: `integrity.checksum`, `cancelled`, `disk.io`.
    @discardableResult
    package static func verify(
        file: Int32, path: String, expected: [DigestAlgorithm: String], also: Set<DigestAlgorithm> = [],
        isCancelled: () -> Bool = { false }
    ) throws(TransferError) -> [DigestAlgorithm: String] {
        let found = try FileHasher.digests(
            of: file, path: path, Set(expected.keys).union(also), isCancelled: isCancelled)
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
        return found
    }
}
