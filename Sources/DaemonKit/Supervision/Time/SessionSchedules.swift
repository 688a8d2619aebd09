import Glibc
import Threading
import TransferCore
import TransferModel
import TransferStore

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

/// When the time windows of sessions open, according to one snapshot of the store. Computed once for each session.
struct SessionOpenings {
    let now: Timestamp
    /// Returns when the session's next time window opens; nil if one is open.
    let closedUntil: @Sendable (SessionRecord, Timestamp) -> Timestamp?
    var known: [SessionKey: Timestamp?] = [:]

    /// When the session's next time window opens; nil if one is open.
    mutating func opening(of key: SessionKey, in snapshot: StoreSnapshot) throws -> Timestamp? {
        if let opening = known[key] { return opening }
        let opening = try snapshot.session(key).flatMap { closedUntil($0, now) }
        known.updateValue(opening, forKey: key)
        return opening
    }

    /// When a task that waits for `schedule` may begin; nil if it may begin now.
    mutating func beginning(of record: TaskRecord, in snapshot: StoreSnapshot) throws -> Timestamp? {
        if let begin = record.spec.earliestBeginAt, begin > now { return begin }
        return try opening(of: record.session, in: snapshot)
    }
}

/// The offset of the machine's time zone from UTC (localtime_r(3)).
enum LocalTime {
    /// Seconds ahead of UTC at `time`.
    @Sendable static func utcOffset(_ time: Timestamp) -> Int {
        var seconds = time_t(time.rawValue / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts.tm_gmtoff
    }

    /// Like `utcOffset`, but for the current time zone (tzset(3)). localtime_r alone keeps the time zone that it read
    /// first.
    static func freshOffset(_ time: Timestamp) -> Int {
        tzset()
        return utcOffset(time)
    }
}
