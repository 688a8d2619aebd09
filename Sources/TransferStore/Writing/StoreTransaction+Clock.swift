import TransferModel

extension StoreTransaction {
    /// The wall clock went back: what is to happen so many seconds after something happens then all the same. What a
    /// person or a schedule named by the clock stays.
    /// - Parameters:
    ///   - interval: by how much, more than zero.
    ///   - now: the wall clock as it is.
    /// - Returns: how many waiting tasks there were.
    package func clockWentBack(by interval: Seconds, to now: Timestamp) throws -> Int {
        let step = interval.milliseconds
        try execute(
            """
            UPDATE task SET next_attempt_at = max(?, next_attempt_at - ?) \
            WHERE state = 'waiting' AND next_attempt_at > ? AND reason IN ('retry', 'network', 'disk', 'decision')
            """, now.rawValue, step, now.rawValue)
        let waiting = connection.changes
        // An estimate: whether the time for the resource has passed is decided on the boot clock.
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

    /// The kernel's name of the boot whose clock the pauses of sessions were counted on; nil forgets it.
    package func setPausesBoot(_ boot: String?) throws {
        try execute("DELETE FROM meta WHERE name = 'pauses_boot'")
        if let boot { try execute("INSERT INTO meta (name, value) VALUES ('pauses_boot', ?)", boot) }
    }
}

extension StoreSnapshot {
    /// nil if it is not known: the database is new, or of before this was stored.
    package func pausesBoot() throws -> String? {
        try text("SELECT value FROM meta WHERE name = 'pauses_boot'")
    }

    /// The time of the newest event: what the wall clock said when the store was in use last; nil in a new one.
    package func lastEventTime() throws -> Timestamp? {
        try integer("SELECT time FROM event ORDER BY sequence DESC LIMIT 1").map { Timestamp(milliseconds: $0) }
    }
}
