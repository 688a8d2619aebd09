import TransferModel

extension StoreTransaction {
    /// The wall clock went back: what is due some time after an event stays due after that time. Times that a user or a
    /// schedule set by the clock do not change.
    /// - Parameters:
    ///   - interval: by how much, more than zero.
    ///   - now: the wall clock after the change.
    /// - Returns: the number of waiting tasks that were changed.
    package func clockWentBack(by interval: Seconds, to now: Timestamp) throws -> Int {
        let step = interval.milliseconds
        try execute(
            """
            UPDATE task SET next_attempt_at = max(?, next_attempt_at - ?) \
            WHERE state = 'waiting' AND next_attempt_at > ? AND reason IN ('retry', 'network', 'disk', 'decision')
            """, now.rawValue, step, now.rawValue)
        let waiting = connection.changes
        // An estimate: the boot clock decides whether the resource timeout has passed.
        try execute(
            """
            UPDATE task SET expires_at = max(?, expires_at - ?) \
            WHERE finished_at IS NULL AND expires_at IS NOT NULL AND expires_at > ?
            """, now.rawValue, step, now.rawValue)
        try execute(
            """
            UPDATE upload_ending SET next_attempt_at = max(?, next_attempt_at - ?), \
            recorded_at = min(?, recorded_at) WHERE next_attempt_at > ?
            """, now.rawValue, step, now.rawValue, now.rawValue)
        try execute("UPDATE launch SET started_at = min(?, started_at - ?)", now.rawValue, step)
        return waiting
    }

    /// The kernel's name of the boot whose clock counted the pauses of sessions; nil forgets it.
    package func setPausesBoot(_ boot: String?) throws {
        try execute("DELETE FROM meta WHERE name = 'pauses_boot'")
        if let boot { try execute("INSERT INTO meta (name, value) VALUES ('pauses_boot', ?)", boot) }
    }
}

extension StoreSnapshot {
    /// nil if it is not known: the database is new, or older than this value.
    package func pausesBoot() throws -> String? {
        try text("SELECT value FROM meta WHERE name = 'pauses_boot'")
    }

    /// The time of the newest event: the wall clock when the store was last in use; nil in a new one.
    package func lastEventTime() throws -> Timestamp? {
        try integer("SELECT time FROM event ORDER BY sequence DESC LIMIT 1").map { Timestamp(milliseconds: $0) }
    }
}
