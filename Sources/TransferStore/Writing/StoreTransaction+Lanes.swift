import TransferModel

extension StoreTransaction {
    /// Removes these lanes from the scheduler's walk, until `release`.
    package func hold(_ lanes: [LaneID]) throws {
        try execute(
            "UPDATE lane SET held = 1 WHERE held = 0 AND id IN (SELECT value FROM json_each(?))",
            JSONColumn.encode(lanes.map(\.rawValue)))
    }

    /// Returns the lanes of these hosts to the walk.
    package func release(hosts: [String]) throws {
        try execute(
            "UPDATE lane SET held = 0 WHERE held = 1 AND host IN (SELECT value FROM json_each(?))",
            JSONColumn.encode(hosts))
    }

    /// The same for all lanes: the daemon forgets at its end which hosts are held.
    package func releaseAllLanes() throws { try execute("UPDATE lane SET held = 0 WHERE held = 1") }
}
