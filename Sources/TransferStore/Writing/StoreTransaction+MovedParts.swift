import GRDB
import TransferModel

extension StoreTransaction {
    /// Stores where the task's file is to go from now on; `setSpec` stores the same in words.
    package func setDestinationDevice(_ id: TaskID, _ device: UInt64?) throws {
        try execute(
            "UPDATE task SET destination_device = ? WHERE id = ?", [device.map { Int64(bitPattern: $0) }, id.rawValue])
    }

    /// Notes names that nothing may have once the part is elsewhere.
    package func leave(_ parts: [MovedPart]) throws {
        for part in parts {
            try execute(
                "INSERT OR REPLACE INTO moved_part (path, task, owner, device, recorded_at) VALUES (?, ?, ?, ?, ?)",
                [
                    part.path, part.task.rawValue, part.owner.rawValue, part.device.map { Int64(bitPattern: $0) },
                    part.recordedAt.rawValue,
                ])
        }
    }

    /// Nothing has these names any more, or the task's part has one of them again.
    package func forgetMovedParts(_ paths: [String]) throws {
        for path in paths { try execute("DELETE FROM moved_part WHERE path = ?", [path]) }
    }

    /// Forgets names whose folders did not come back for so long.
    package func expireMovedParts(before time: Timestamp) throws {
        try execute("DELETE FROM moved_part WHERE recorded_at < ?", [time.rawValue])
    }
}
