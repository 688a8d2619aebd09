import TransferModel

extension StoreTransaction {
    /// Leaves these lanes out of what the scheduler walks over, until `release`.
    package func hold(_ lanes: [LaneID]) throws {
        try execute(
            "UPDATE lane SET held = 1 WHERE held = 0 AND id IN (SELECT value FROM json_each(?))",
            try JSONColumn.encode(lanes.map(\.rawValue)))
    }

    /// The lanes of these hosts are walked over again.
    package func release(hosts: [String]) throws {
        try execute(
            "UPDATE lane SET held = 0 WHERE held = 1 AND host IN (SELECT value FROM json_each(?))",
            try JSONColumn.encode(hosts))
    }

    /// As are all: which hosts are held back is forgotten with the daemon.
    package func releaseAllLanes() throws { try execute("UPDATE lane SET held = 0 WHERE held = 1") }
}
