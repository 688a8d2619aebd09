import TransferModel

extension StoreTransaction {
    /// Remembers part files until they are removed; one that is known already is not changed.
    package func note(_ parts: [LeftPart]) throws {
        for part in parts {
            try execute(
                """
                INSERT INTO left_part (owner, folder, name, task, device, inode, recorded_at) \
                VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                """,
                part.owner.rawValue, part.folder, part.name, part.task.rawValue,
                part.device.map { Int64(bitPattern: $0) }, part.inode.map { Int64(bitPattern: $0) },
                part.recordedAt.rawValue)
        }
    }

    /// They are gone, or in use again.
    package func forget(_ parts: [LeftPart]) throws {
        for part in parts {
            try execute(
                "DELETE FROM left_part WHERE folder = ? AND owner = ? AND name = ?",
                part.folder, part.owner.rawValue, part.name)
        }
    }
}
