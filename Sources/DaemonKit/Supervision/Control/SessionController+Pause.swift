import FileKit
import Logging
import TransferCore
import TransferModel
import TransferStore

/// Pauses sessions. A mark on the session prevents claims of its tasks, however many there are. Tasks keep their
/// states: a task that was paused by itself stays paused when the session is resumed.
extension SessionController {
    func pause(_ key: SessionKey) async throws -> SessionRecord {
        let now = time.reading()
        let session = try await change(key, .sessionPaused, at: now) { $0.begin(at: now) }
        // Repeated even if the session was paused before, because that request may have met a disk that did not answer.
        try await stopRuns(of: key)
        return session
    }

    func resume(_ key: SessionKey) async throws -> SessionRecord {
        let now = time.reading()
        let session = try await change(key, .sessionResumed, at: now) { $0.end(at: now) }
        signal.changed()
        return session
    }

    private func change(
        _ key: SessionKey, _ event: EventType, at now: ClockReading,
        _ change: @escaping @Sendable (inout SessionPause) -> Bool
    ) async throws -> SessionRecord {
        try await notingClock(of: key) { transaction in
            guard var session = try transaction.session(key) else { throw TransferError.noSession(key.identifier) }
            guard session.state != .invalidated else {
                throw TransferError(
                    .sessionInvalidated, "The session \"\(key.identifier)\" has ended; open it again.",
                    details: ["session": .string(key.identifier)])
            }
            guard change(&session.pause) else { return session }
            try transaction.updateSession(session)
            _ = try transaction.append(EventRecord(time: now.wall, type: event, session: key))
            return session
        }
    }

    /// Stores a change of a session and notes its clock within the transaction. One thread runs all transactions, so
    /// the noted clock is that of the last commit, even if many clients change the session at once.
    func notingClock(
        of key: SessionKey, _ change: @escaping @Sendable (StoreTransaction) throws -> SessionRecord
    ) async throws -> SessionRecord {
        let clocks = transitions.clocks
        do {
            return try await store.write { transaction in
                let session = try change(transaction)
                clocks.note(session)
                return session
            }
        } catch {
            // The commit may have failed after the note. Noting again in a write is safe, because every commit in
            // between notes its own clock.
            _ = try? await store.write { try $0.session(key).map(clocks.note) }
            throw error
        }
    }

    /// Queues again the tasks that were claimed before the session was paused.
    private func stopRuns(of key: SessionKey) async throws {
        let running = TaskSelector(owner: key.owner, session: key.identifier, states: [.running])
        var last: TaskID?
        while true {
            let after = last
            let ids = try await store.read { try $0.select(running, after: after, limit: 256) }
            guard let end = ids.last else { return }
            last = end
            for run in ids.compactMap({ runs[$0] }) where run.losesByStop {
                logger.warning(
                    "stops with its session, and begins again from 0 later", metadata: ["task": "\(run.task)"])
            }
            try await stops.stopping(ids) { [transitions] in
                try await store.write { transaction in
                    for id in ids {
                        guard let record = try transaction.task(id), record.status.state == .running else { continue }
                        // The session may have been resumed meanwhile. Then the task is claimed again.
                        _ = try transitions.apply(.preempted(.sessionPaused), to: record, in: transaction)
                    }
                }
            }
        }
    }

    /// Must be called before any task counts its time.
    /// - Parameter boot: the kernel's boot id; nil if unknown.
    func recallPauses(in boot: String? = BootName.current) async throws {
        let (now, clocks) = (time.reading(), transitions.clocks)
        try await store.write { transaction in
            let known = try transaction.pausesBoot()
            for var session in try transaction.sessions(owner: nil) where session.pause != SessionPause() {
                if session.pause.recalled(at: now, isSameBoot: known == nil || known == boot) {
                    try transaction.updateSession(session)
                }
                clocks.note(session)
            }
            if known != boot { try transaction.setPausesBoot(boot) }
        }
    }
}
