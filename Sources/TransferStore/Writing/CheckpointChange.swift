import TransferModel

/// A checkpoint that is to be stored.
package struct CheckpointChange: Sendable {
    package var id: TaskID
    package var checkpoint: Checkpoint
    /// Only the offset is another than what the store has.
    package var onlyMoves: Bool

    /// - Parameter known: the checkpoint of the task that is stored.
    package init(_ id: TaskID, _ checkpoint: Checkpoint, after known: Checkpoint?) {
        self.id = id
        self.checkpoint = checkpoint
        var moved = known
        moved?.offset = checkpoint.offset
        onlyMoves = moved == checkpoint
    }
}
