import TransferModel

extension StoreTransaction {
    /// Leaves these lanes out of what the scheduler walks over, until a task of theirs that failed itself is queued again,
    /// or `release`. Those that have such a task by now stay.
    package func hold(_ lanes: [LaneID]) throws {
        try execute(
            """
            UPDATE lane SET held = 1 WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
                SELECT 1 FROM task INDEXED BY task_again
                WHERE task.lane = lane.id AND state = 'queued' AND failures_in_row > 0)
            """, [try JSONColumn.encode(lanes.map(\.rawValue))])
    }

    /// The lanes of these hosts are walked over again.
    package func release(hosts: [String]) throws {
        try execute(
            "UPDATE lane SET held = 0 WHERE held = 1 AND host IN (SELECT value FROM json_each(?))",
            [try JSONColumn.encode(hosts)])
    }

    /// As are all: which hosts are held back is forgotten with the daemon.
    package func releaseAllLanes() throws { try execute("UPDATE lane SET held = 0 WHERE held = 1", []) }
}
