import TransferModel

/// Decides what becomes of a file of which some pieces are wrong: they are fetched again, from other places first, and
/// not for ever.
package struct PieceRepair: Sendable {
    package enum Decision: Sendable, Hashable {
        /// Keep these bytes and fetch the rest, from others than those as long as there are any.
        case refetch(keeping: ByteRangeSet, avoiding: Set<String?>)
        case giveUp(TransferError)
    }

    /// How often wrong pieces are fetched again.
    package static let limit = 4
    /// Pieces that an error or event names at most.
    private static let named = 16

    private let map: PieceMap
    private let algorithm: DigestAlgorithm
    private var rounds = 0
    /// Places that brought something of a wrong piece.
    private var suspects: Set<String?> = []

    package init(_ map: PieceMap, _ algorithm: DigestAlgorithm) {
        self.map = map
        self.algorithm = algorithm
    }

    /// - Parameters:
    ///   - wrong: numbers of pieces, from 0; one at least.
    ///   - brought: which bytes came from where, as far as that is known.
    package mutating func next(wrong: [Int], brought: [String?: ByteRangeSet]) -> Decision {
        guard rounds < Self.limit else { return .giveUp(error(wrong, isFinal: true)) }
        rounds += 1
        suspects.formUnion(bringers(of: wrong, brought))
        return .refetch(keeping: map.all(but: wrong), avoiding: suspects)
    }

    /// Who is to blame: whoever brought a wrong piece alone; of a piece that several brought, all of them where none of them
    /// is to blame already.
    private func bringers(of wrong: [Int], _ brought: [String?: ByteRangeSet]) -> Set<String?> {
        let places = wrong.map { piece in
            Set(brought.filter { touches($0.value, map.range(of: piece)) }.keys)
        }
        let alone = places.filter { $0.count == 1 }.reduce(into: Set<String?>()) { $0.formUnion($1) }
        let unexplained = places.filter { $0.isDisjoint(with: alone) }
        return unexplained.reduce(into: alone) { $0.formUnion($1) }
    }

    /// Says which pieces are wrong.
    package func error(_ wrong: [Int], isFinal: Bool = false) -> TransferError {
        let first = wrong.first.map { map.range(of: $0) } ?? ByteRange(.zero, .zero)
        let what =
            wrong.count == 1
            ? "Piece \(wrong[0]) (bytes \(first.start) to \(first.end - 1)) has" : "\(wrong.count) pieces have"
        return TransferError(
            .integrityChecksum,
            isFinal
                ? "\(what) another \(algorithm.rawValue) than expected, wherever it is fetched from."
                : "\(what) another \(algorithm.rawValue) than expected; only that is fetched again.",
            details: [
                "algorithm": .string(algorithm.rawValue),
                "pieces": .array(wrong.prefix(Self.named).map { .integer(Int64($0)) }),
            ])
    }

    private func touches(_ ranges: ByteRangeSet, _ piece: ByteRange) -> Bool {
        ranges.ranges.contains { $0.start < piece.end && $0.end > piece.start }
    }
}
