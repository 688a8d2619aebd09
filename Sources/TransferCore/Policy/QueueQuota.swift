import TransferModel

/// How many tasks of one user may be unfinished: queued, running, waiting or paused.
///
/// Paused tasks count, so pausing makes no room. Resuming them needs no room; the retry of a task that has ended does.
package struct QueueQuota: Hashable, Sendable {
    package var limit: Int
    package private(set) var unfinished: Int

    package init(limit: Int, unfinished: Int) {
        self.limit = limit
        self.unfinished = unfinished
    }

    /// Reserves room for `count` further tasks: all or none.
    /// - Throws: `limit.reached`, which names the setting.
    package mutating func reserve(_ count: Int) throws(TransferError) {
        guard count <= limit - unfinished else {
            throw TransferError(
                .limitReached,
                "maximumQueuedTasksPerUser: \(unfinished) tasks have not ended, and \(count) more would pass the limit of "
                    + "\(limit). Wait until some have ended, cancel some, or ask the administrator to raise the limit.",
                details: [
                    "setting": "maximumQueuedTasksPerUser", "limit": .integer(Int64(limit)),
                    "unfinished": .integer(Int64(unfinished)),
                ])
        }
        unfinished += count
    }
}
