import Threading
import TransferCore
import TransferModel

/// The parsed time windows of sessions, cached because each round of the dispatcher and each waiting task needs them.
final class SessionSchedules: Sendable {
    /// Above this number, all are forgotten, and parsed again when needed.
    static let most = 1000

    private let known = Guarded<[SessionKey: (windows: [ScheduleWindow], schedule: ScheduleWindows?)]>([:])

    /// nil if the windows cannot be parsed.
    func windows(of key: SessionKey, _ windows: [ScheduleWindow]) -> ScheduleWindows? {
        if let known = known.withLock({ $0[key] }), known.windows == windows { return known.schedule }
        let schedule = try? ScheduleWindows(windows)
        known.withLock { known in
            if known.count >= Self.most { known = [:] }
            known[key] = (windows, schedule)
        }
        return schedule
    }

    /// When the session's next time window opens; nil while one is open.
    func closedUntil(_ session: SessionRecord, at now: Timestamp) -> Timestamp? {
        guard let windows = session.configuration.schedule, !windows.isEmpty else { return nil }
        guard let schedule = self.windows(of: session.key, windows),
            !schedule.isOpen(at: now, utcOffset: LocalTime.utcOffset)
        else { return nil }
        return schedule.nextOpening(after: now, utcOffset: LocalTime.utcOffset)
    }

    var count: Int { known.withLock(\.count) }
}
