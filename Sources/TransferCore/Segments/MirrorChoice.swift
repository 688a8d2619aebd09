import TransferModel

/// Decides which mirror of a file an attempt asks first, and which one next when that fails.
///
/// Under a whole-file digest, bytes count whatever mirror they come from. Without one, changing the mirror means
/// starting over: a mirror whose bytes are held is dropped only if it fails permanently or repeatedly.
package struct MirrorChoice: Sendable {
    /// Mirrors still to ask, by number; 0 is the task's own URL.
    private var rest: [Int]
    private let sharesBytes: Bool
    private let failuresBefore: Int
    private var failures: [Int: AttemptFailure] = [:]
    /// The mirror to begin with.
    package let first: Int

    /// Failures in a row that are tolerated from the mirror whose bytes are held.
    package static let patience = 3

    /// - Parameters:
    ///   - count: number of mirrors; at least one.
    ///   - held: the mirror that the held bytes come from.
    ///   - sharesBytes: a whole-file digest will prove the result.
    ///   - failuresInRow: attempts that failed since the last progress.
    ///   - integrityRestarts: how often everything was discarded because the digest was wrong: the next mirror has its
    ///     turn.
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

    /// The mirror to ask after this one failed; nil if the attempt is over.
    /// - Parameter holdsBytes: some of the file is held.
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

    /// These were tried besides the one that failed; no attempt begins there any more.
    package mutating func tried(_ places: Set<Int>) { rest.removeAll { places.contains($0) } }

    /// What all failures together mean for the task; nil if there were none.
    package var failure: AttemptFailure? {
        .combined(failures.sorted { $0.key < $1.key }.map(\.value))
    }
}
