import TransferModel

/// Decides which of the places that have a file an attempt asks first, and which one next when that fails.
///
/// Under a whole-file digest bytes count wherever they are from. Without one, to go elsewhere is to begin anew: a place
/// whose bytes are held is left only where it fails for good, or again and again.
package struct OriginChoice: Sendable {
    /// Places to ask, by number; 0 is the task's own URL.
    private var rest: [Int]
    private let sharesBytes: Bool
    private let failuresBefore: Int
    private var failures: [Int: AttemptFailure] = [:]
    /// Where to begin.
    package let first: Int

    /// Failures in a row that a place whose bytes are held may have.
    package static let patience = 3

    /// - Parameters:
    ///   - count: places; one at least.
    ///   - held: the place that held bytes are of.
    ///   - sharesBytes: a whole-file digest will prove the result.
    ///   - failuresInRow: attempts that failed since the last progress.
    ///   - integrityRestarts: how often everything was dropped because the digest was wrong: the next place has its turn.
    package init(
        count: Int, held: Int?, sharesBytes: Bool, failuresInRow: Int, integrityRestarts: Int
    ) {
        let turn = integrityRestarts % max(1, count)
        let order = Array(turn..<max(1, count)) + Array(0..<turn)
        first = held ?? order[0]
        rest = order
        rest.removeAll { [first] in $0 == first }
        self.sharesBytes = sharesBytes
        failuresBefore = failuresInRow
    }

    /// Where to go after the place failed; nil if the attempt is over.
    /// - Parameter holdsBytes: some of the file is there.
    package mutating func next(after failure: AttemptFailure, of place: Int, holdsBytes: Bool) -> Int? {
        failures[place] = failure
        let stumbles: Bool
        switch failure.disposition {
        case .disk: return nil
        case .permanent: stumbles = false
        case .transient, .network: stumbles = true
        }
        let inRow = failure.progressed ? 1 : failuresBefore + 1
        if stumbles, holdsBytes, !sharesBytes, inRow < Self.patience { return nil }
        return rest.isEmpty ? nil : rest.removeFirst()
    }

    /// These were tried beside the one that failed; no attempt begins there any more.
    package mutating func tried(_ places: Set<Int>) { rest.removeAll { places.contains($0) } }

    /// What all that failed means for the task; nil if nothing did.
    package var failure: AttemptFailure? {
        .combined(failures.sorted { $0.key < $1.key }.map(\.value))
    }
}
