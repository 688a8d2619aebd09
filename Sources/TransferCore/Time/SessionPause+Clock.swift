import TransferModel

/// The clock of a session's tasks: the boot clock, which stands while the session is paused. What counts time for a task
/// reads it in place of the boot clock, so that no task has to be changed when its session is paused.
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

    /// After a reboot the boot clock has begun anew: earlier pauses do not count on it, and one that lasts continues.
    /// - Parameter isSameBoot: as far as that is known; what lies ahead of the clock is of another boot all the same.
    /// - Returns: whether anything changed.
    package mutating func recalled(at now: ClockReading, isSameBoot: Bool) -> Bool {
        guard !isSameBoot || since ?? 0 > now.boot || time > now.boot else { return false }
        self = SessionPause(since: since.map { _ in now.boot })
        return true
    }
}
