import TransferModel

/// A checkpoint that is to be stored.
package struct CheckpointChange: Sendable {
    package var id: TaskID
    package var checkpoint: Checkpoint
    /// Only the offset differs from what is stored.
    package var onlyMoves: Bool

    /// - Parameter known: the stored checkpoint of the task.
    package init(_ id: TaskID, _ checkpoint: Checkpoint, after known: Checkpoint?) {
        self.id = id
        self.checkpoint = checkpoint
        var moved = known
        moved?.offset = checkpoint.offset
        onlyMoves = moved == checkpoint
    }
}
