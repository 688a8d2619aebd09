import TransferModel

/// Decides how a file with wrong pieces is repaired: they are fetched again, whole, from one mirror at a time, a
/// limited number of times.
///
/// If several mirrors filled a piece together, it is unknown which of them was wrong. So every mirror is asked once for
/// the whole piece before the task fails. Mirrors that are not suspected come first.
package struct PieceRepair: Sendable {
    package enum Decision: Sendable, Hashable {
        /// Keep these bytes and fetch the rest from this mirror alone; nil is the task's own URL.
        case refetch(keeping: ByteRangeSet, from: String?)
        case giveUp(AttemptFailure)
    }

    /// How often wrong pieces are fetched again; if there are more mirrors than this, once per mirror.
    package static let limit = 4
    /// The most pieces that an error or event names.
    private static let named = 16

    private let map: PieceMap
    private let algorithm: DigestAlgorithm
    /// Mirrors that may be asked, the next one first.
    private var queue: [String?]
    private var left: Int
    private var hasSuspects = false
    /// A mirror delivered all of a wrong piece.
    private var wasAnswered = false
    private var failures: [AttemptFailure] = []

    /// - Parameter places: all mirrors of the file, as checkpoints name them, in order; at least one.
    package init(_ map: PieceMap, _ algorithm: DigestAlgorithm, places: [String?]) {
        self.map = map
        self.algorithm = algorithm
        queue = places
        left = max(Self.limit, places.count)
    }

    /// - Parameters:
    ///   - wrong: numbers of pieces, from 0; at least one.
    ///   - brought: which bytes first came from which mirror, as far as that is known.
    package mutating func next(wrong: [Int], brought: [String?: ByteRangeSet]) -> Decision {
        if !hasSuspects {
            hasSuspects = true
            let suspects = bringers(of: wrong, brought)
            queue = queue.filter { !suspects.contains($0) } + queue.filter { suspects.contains($0) }
        } else {
            wasAnswered = true
        }
        return ask(wrong)
    }

    /// The mirror that was asked last failed before it had delivered everything: it is not asked again.
    package mutating func next(wrong: [Int], after failure: AttemptFailure) -> Decision {
        failures.append(failure)
        queue.removeLast()
        return ask(wrong)
    }

    private mutating func ask(_ wrong: [Int]) -> Decision {
        guard left > 0, let place = queue.first else {
            let wrongEverywhere = AttemptFailure.permanent(error(wrong, isFinal: true))
            return .giveUp(wasAnswered ? wrongEverywhere : .combined(failures) ?? wrongEverywhere)
        }
        left -= 1
        queue.append(queue.removeFirst())
        return .refetch(keeping: map.all(but: wrong), from: place)
    }

    /// The suspected mirrors: each that brought a wrong piece alone, and all that brought one together, unless one of
    /// them is already suspected.
    private func bringers(of wrong: [Int], _ brought: [String?: ByteRangeSet]) -> Set<String?> {
        let places = wrong.map { piece in
            Set(brought.filter { touches($0.value, map.range(of: piece)) }.keys)
        }
        let alone = places.filter { $0.count == 1 }.reduce(into: Set<String?>()) { $0.formUnion($1) }
        let unexplained = places.filter { $0.isDisjoint(with: alone) }
        return unexplained.reduce(into: alone) { $0.formUnion($1) }
    }

    /// Tells which pieces are wrong.
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
