import TransferCore
import TransferModel
import TransferStore

/// Applies the time windows of sessions to their tasks, also when those windows, the clock or the time zone change.
struct ScheduleKeeper: Sendable {
    let store: TransferStore
    let runs: RunTable
    let transitions: TaskTransitions
    let windows: SessionSchedules
    let signal: SupervisionSignal

    /// Reconsiders the tasks that wait for `schedule`, because the windows of a session, the clock or the time zone
    /// have changed. Tasks that may begin are queued. The others wait until their new time. They were waiting before,
    /// so there is no event about this.
    /// - Parameter key: the session to reconsider; nil for all.
    func reconsider(of key: SessionKey? = nil, at now: Timestamp) async throws {
        let transitions = transitions
        let opens: @Sendable (SessionRecord, Timestamp) -> Timestamp? = windows.closedUntil
        var isChanged = false
        try await store.forEachPage { (snapshot: StoreSnapshot, last: (id: TaskID, isStale: Bool)?) in
            var openings = SessionOpenings(now: now, closedUntil: opens)
            return try snapshot.waiting(reason: .schedule, after: last?.id, limit: 200).map { record in
                guard key == nil || record.session == key else { return (record.id, false) }
                return (record.id, try openings.beginning(of: record, in: snapshot) != record.status.nextAttemptAt)
            }
        } do: { page in
            let stale = page.filter(\.isStale).map(\.id)
            guard !stale.isEmpty else { return }
            isChanged = true
            try await store.write { transaction in
                var openings = SessionOpenings(now: now, closedUntil: opens)
                for id in stale {
                    guard let record = try transaction.task(id), record.status.state == .waiting,
                        record.status.reason == .schedule
                    else { continue }  // A client's change came first.
                    if let beginning = try openings.beginning(of: record, in: transaction) {
                        var status = record.status
                        status.nextAttemptAt = beginning
                        _ = try transaction.update(id, from: .waiting, to: status)
                    } else {
                        _ = try transitions.apply(.conditionCleared, to: record, in: transaction)
                    }
                }
            }
        }
        if isChanged { signal.changed() }
    }

    /// Stops runs of sessions whose time window has closed.
    func close(at now: ClockReading) async throws {
        let active = runs.all
        guard !active.isEmpty else { return }
        let sessions = try await store.read { snapshot in
            try Set(active.map(\.session)).compactMap { try snapshot.session($0) }
        }
        for session in sessions {
            guard let opening = windows.closedUntil(session, at: now.wall) else { continue }
            for run in active where run.session == session.key {
                run.requestAbort(.transition(.blocked(.schedule, nil, nextAttemptAt: opening)))
            }
        }
    }
}
