import Threading
import TransferCore
import TransferModel

/// The clocks of sessions that are or were paused, used to count the time of their tasks. The store has the same; it
/// would be asked for each step of each task.
final class SessionClocks: Sendable {
    private let pauses = Guarded<[SessionKey: SessionPause]>([:])

    /// What the session's commit says.
    func note(_ session: SessionRecord) {
        let isPlain = session.pause == SessionPause() || session.state == .invalidated
        pauses.withLock { $0[session.key] = isPlain ? nil : session.pause }
    }

    var count: Int { pauses.withLock(\.count) }

    func reading(_ now: ClockReading, of key: SessionKey) -> ClockReading {
        pauses.withLock { $0[key] }?.reading(now) ?? now
    }
}
