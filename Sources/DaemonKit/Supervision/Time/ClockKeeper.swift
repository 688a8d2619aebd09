import DaemonSetup
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// What supervision remembers of the wall clock. docs/time.md says which clock measures what.
struct ClockMemory: Sendable {
    var watch: WallClockWatch
    var retention: RetentionGate
    /// The UTC offset of the machine's time zone at the last check.
    var utcOffset: Int
    /// Tasks that wait for a date or a time window must still be reconsidered.
    var hasStaleSchedules = false
}

/// Notices changes of the wall clock or the time zone, and adjusts waiting tasks.
struct ClockKeeper: Sendable {
    let store: TransferStore
    let schedules: ScheduleKeeper
    let time: any TimeSource
    let logger: Logger
    let memory = Guarded<ClockMemory?>(nil)

    /// Checks whether the wall clock was set back while no daemon ran. Must be called before anything is due.
    func begin() async throws {
        let now = time.reading()
        let last = try await store.read { try $0.lastEventTime() }
        let utcOffset = LocalTime.freshOffset(now.wall)
        memory.withLock {
            $0 = ClockMemory(
                watch: WallClockWatch(at: now), retention: RetentionGate(lastKnown: last, at: now),
                utcOffset: utcOffset)
        }
        if let last, last.since(now.wall) > WallClockWatch.tolerance {
            try await clockWasSet(by: now.wall.since(last), now: now.wall)
            try await schedules.reconsider(at: now.wall)
        }
    }

    /// Checks whether the wall clock or the machine's time zone has changed since the last check.
    func follow() async throws {
        let now = time.reading()
        let utcOffset = LocalTime.freshOffset(now.wall)
        let (jump, isStale) = memory.withLock { known -> (Seconds?, Bool) in
            guard var seen = known else { return (nil, false) }
            let jump = seen.watch.jump(at: now)
            if jump != nil || seen.utcOffset != utcOffset { seen.hasStaleSchedules = true }
            seen.utcOffset = utcOffset
            known = seen
            return (jump, seen.hasStaleSchedules)
        }
        if let jump { try await clockWasSet(by: jump, now: now.wall) }
        guard isStale else { return }
        try await schedules.reconsider(at: now.wall)
        memory.withLock { $0?.hasStaleSchedules = false }
    }

    /// Tells whether entries that are old by the wall clock may be dropped.
    func mayDropByAge(at now: ClockReading) -> Bool { memory.withLock { $0?.retention.allows(at: now) ?? true } }

    /// If the clock was set forward, waits just end early. If it was set back, waits would last longer by that amount.
    private func clockWasSet(by jump: Seconds, now: Timestamp) async throws {
        let back = Seconds(-jump.rawValue)
        let waiting = back > 0 ? try await store.write { try $0.clockWentBack(by: back, to: now) } : 0
        logger.notice("the wall clock was set", metadata: ["by": "\(jump)", "waiting": "\(waiting)"])
    }
}
