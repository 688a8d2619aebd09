import TransferCore

/// One segment of a file as an exchange fetches it: where it ends, which board it shares, and who learns that its
/// answer was accepted.
package struct Segment: Sendable {
    package let bound: SegmentBound
    /// Made when the first bytes must be stored: a body that stays in memory needs none.
    package var board: PartBoard { findBoard() }
    private let findBoard: @Sendable () -> PartBoard
    /// Called on the reactor's thread once the part file is ready for the answer's body.
    package let accepted: @Sendable (ResponseHead, Acceptance) -> Void

    package init(
        bound: SegmentBound, board: @autoclosure @escaping @Sendable () -> PartBoard,
        accepted: @escaping @Sendable (ResponseHead, Acceptance) -> Void
    ) {
        self.bound = bound
        findBoard = board
        self.accepted = accepted
    }
}
