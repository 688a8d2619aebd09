import Threading
import TransferCore
import TransferModel

/// The clocks of sessions that are or were paused, used to count the time of their tasks. The store has the same
/// clocks, but would have to be asked for each step of each task.
final class SessionClocks: Sendable {
    private let pauses = Guarded<[SessionKey: SessionPause]>([:])

    /// Notes the clock of a session when its change is committed.
    func note(_ session: SessionRecord) {
        let isPlain = session.pause == SessionPause() || session.state == .invalidated
        pauses.withLock { $0[session.key] = isPlain ? nil : session.pause }
    }

    var count: Int { pauses.withLock(\.count) }

    func reading(_ now: ClockReading, of key: SessionKey) -> ClockReading {
        pauses.withLock { $0[key] }?.reading(now) ?? now
    }
}
