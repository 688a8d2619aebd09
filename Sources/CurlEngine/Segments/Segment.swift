import TransferCore

/// One part of a file as an exchange fetches it: where it ends, with whom it shares the file, and who is told when its
/// answer was accepted.
package struct Segment: Sendable {
    package let bound: SegmentBound
    package let board: SegmentBoard
    /// Called on the reactor's thread once the part file is ready for the answer's body.
    package let accepted: @Sendable (ResponseHead, Acceptance) -> Void

    package init(
        bound: SegmentBound, board: SegmentBoard, accepted: @escaping @Sendable (ResponseHead, Acceptance) -> Void
    ) {
        self.bound = bound
        self.board = board
        self.accepted = accepted
    }
}
