import TransferModel

/// The ranges of a file's pieces, whose digests are known.
package struct PieceMap: Sendable, Hashable {
    package let total: ByteCount
    package let length: ByteCount
    package let count: Int

    /// - Throws: `integrity.checksum` if the pieces do not make up a file of this length.
    package init(_ pieces: PieceDigests, of total: ByteCount) throws(TransferError) {
        let needed = total.rawValue / pieces.length.rawValue + (total.rawValue % pieces.length.rawValue > 0 ? 1 : 0)
        guard needed == Int64(pieces.values.count) else {
            throw TransferError(
                .integrityChecksum,
                "The file has \(total) bytes, which its \(pieces.values.count) pieces of \(pieces.length) do not add up to."
            )
        }
        self.total = total
        length = pieces.length
        count = pieces.values.count
    }

    package func range(of piece: Int) -> ByteRange {
        let start = ByteCount(length.rawValue * Int64(piece))
        // The last piece ends with the file; the sum of the others cannot overflow.
        return ByteRange(start, piece == count - 1 ? total : start + length)
    }

    /// The whole file except these pieces.
    package func all(but pieces: [Int]) -> ByteRangeSet {
        var missing = ByteRangeSet()
        for piece in pieces { missing.insert(range(of: piece)) }
        return ByteRangeSet(missing.gaps(upTo: total))
    }
}
