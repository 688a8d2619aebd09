import TransferCore
import TransferModel
import TransferStore

/// Time windows and dates that mean another time than they did.
extension Supervisor {
    /// Looks through what waits for `schedule`: the windows of a session, the clock or the time zone are others now. What
    /// may begin is queued. The others wait until their new time, and as they wait before and after, no event tells of it.
    /// - Parameter key: of the session whose tasks are meant; nil for all.
    func reconsiderSchedules(of key: SessionKey? = nil, at now: Timestamp) async throws {
        let transitions = transitions
        let opens: @Sendable (SessionRecord, Timestamp) -> Timestamp? = { [schedules] session, now in
            schedules.closedUntil(session, at: now)
        }
        var last: TaskID?
        var isChanged = false
        while true {
            let after = last
            let (end, stale) = try await store.read { snapshot -> (TaskID?, [TaskID]) in
                let records = try snapshot.waiting(reason: .schedule, after: after, limit: 200)
                var openings = SessionOpenings(after: now, closedUntil: opens)
                let stale = try records.filter { record in
                    guard key == nil || record.session == key else { return false }
                    return try openings.beginning(of: record, in: snapshot) != record.status.nextAttemptAt
                }
                return (records.last?.id, stale.map(\.id))
            }
            guard let end else { break }
            last = end
            guard !stale.isEmpty else { continue }
            isChanged = true
            try await store.write { transaction in
                var openings = SessionOpenings(after: now, closedUntil: opens)
                for id in stale {
                    guard let record = try transaction.task(id), record.status.state == .waiting,
                        record.status.reason == .schedule
                    else { continue }  // a client was faster
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
}
