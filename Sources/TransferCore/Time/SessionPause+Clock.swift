import TransferModel

/// The clock of a session's tasks: the boot clock, stopped while the session is paused. Code that counts time for a
/// task reads it instead of the boot clock, so that a pause of the session changes no task.
extension SessionPause {
    package func reading(_ now: ClockReading) -> ClockReading {
        let open = since.map { max(0, now.boot - $0) } ?? 0
        return ClockReading(wall: now.wall, boot: now.boot - time - open)
    }

    /// - Returns: whether it was not paused.
    package mutating func begin(at now: ClockReading) -> Bool {
        guard since == nil else { return false }
        since = now.boot
        return true
    }

    /// - Returns: whether it was paused.
    package mutating func end(at now: ClockReading) -> Bool {
        guard let since else { return false }
        time += max(0, now.boot - since)
        self.since = nil
        return true
    }

    /// After a reboot, the boot clock has started again: earlier pauses no longer count, and a current pause continues.
    /// - Parameter isSameBoot: as far as that is known; a time ahead of the clock also shows another boot.
    /// - Returns: whether anything changed.
    package mutating func recalled(at now: ClockReading, isSameBoot: Bool) -> Bool {
        guard !isSameBoot || since ?? 0 > now.boot || time > now.boot else { return false }
        self = SessionPause(since: since.map { _ in now.boot })
        return true
    }
}
