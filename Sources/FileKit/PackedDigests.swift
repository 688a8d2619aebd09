import TransferCore
import TransferModel

/// Digests of pieces in half the space, because a line must hold them in base64 of base64.
package struct PackedDigests: Hashable, Sendable {
    package var algorithm: DigestAlgorithm
    /// The length in bytes of every piece except the last.
    package var length: ByteCount
    /// The digests, concatenated, in base64.
    package var digests: String

    /// nil if a digest is not hexadecimal.
    package init?(_ pieces: PieceDigests) {
        guard let bytes = Hex.decode(pieces.values.joined()) else { return nil }
        algorithm = pieces.algorithm
        length = pieces.length
        digests = bytes.base64
    }

    private init() { (algorithm, length, digests) = (.sha256, 0, "") }

    /// nil if they are not a whole number of digests.
    package var unpacked: PieceDigests? {
        let size = algorithm.hexLength / 2
        guard let bytes = Base64.decode(digests), bytes.count.isMultiple(of: size) else { return nil }
        let values = stride(from: 0, to: bytes.count, by: size).map { Hex.encode(bytes.dropFirst($0).prefix(size)) }
        return PieceDigests(algorithm: algorithm, length: length, values: values)
    }
}

extension PackedDigests: WireObject {
    package static let shape = Shape("PackedDigests", Self()) { row in
        row("algorithm", \.algorithm)
        row("length", \.length)
        row("digests", \.digests)
    }
}
