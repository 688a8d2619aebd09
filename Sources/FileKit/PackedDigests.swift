import FoundationEssentials
import TransferCore
import TransferModel

/// Digests of pieces in half the space, because a line must hold them in base64 of base64.
package struct PackedDigests: Hashable, Sendable, Codable {
    package var algorithm: DigestAlgorithm
    /// The length in bytes of every piece except the last.
    package var length: ByteCount
    /// The digests, concatenated.
    package var digests: Data

    /// nil if a digest is not hexadecimal.
    package init?(_ pieces: PieceDigests) {
        guard let bytes = Hex.decode(pieces.values.joined()) else { return nil }
        algorithm = pieces.algorithm
        length = pieces.length
        digests = Data(bytes)
    }

    /// nil if the bytes are not a whole number of digests.
    package var unpacked: PieceDigests? {
        let size = algorithm.hexLength / 2
        guard digests.count.isMultiple(of: size) else { return nil }
        let values = stride(from: 0, to: digests.count, by: size).map { Hex.encode(digests.dropFirst($0).prefix(size)) }
        return PieceDigests(algorithm: algorithm, length: length, values: values)
    }
}
