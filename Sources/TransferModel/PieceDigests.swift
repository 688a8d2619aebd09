/// What the consecutive pieces of a delivered file must hash to; the last one may be shorter.
public struct PieceDigests: Hashable, Sendable {
    public var algorithm: DigestAlgorithm
    public var length: ByteCount
    /// Hexadecimal, in order. The daemon's answers leave them out: they may be megabytes.
    public var values: [String]

    public init(algorithm: DigestAlgorithm, length: ByteCount, values: [String]) {
        self.algorithm = algorithm
        self.length = length
        self.values = values
    }
}

extension PieceDigests: WireObject {
    public static let shape = Shape("Pieces", Self(algorithm: .sha256, length: 0, values: [])) { row in
        row("algorithm", \.algorithm, "The digest.")
        row("length", \.length, "Bytes of every piece but the last.")
        row("values", \.values, "Hexadecimal, in order, \(Bounds.pieces) at most; no answer shows them.")
    }
}
