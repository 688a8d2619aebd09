import Threading
import TransferCore
import TransferModel

/// The time windows of sessions, read once: each round of the dispatcher and each task that waits asks for them.
final class SessionSchedules: Sendable {
    private struct Known {
        var windows: [ScheduleWindow]
        var schedule: ScheduleWindows?
    }

    /// Beyond it all are forgotten, and read again by whoever asks.
    static let most = 1000

    private let known = Guarded<[SessionKey: Known]>([:])

    /// nil if the windows cannot be read.
    func windows(of key: SessionKey, _ windows: [ScheduleWindow]) -> ScheduleWindows? {
        if let known = known.withLock({ $0[key] }), known.windows == windows { return known.schedule }
        let schedule = try? ScheduleWindows(windows)
        known.withLock { known in
            if known.count >= Self.most { known = [:] }
            known[key] = Known(windows: windows, schedule: schedule)
        }
        return schedule
    }

    var count: Int { known.withLock(\.count) }
}
