import TransferCore
import TransferModel
import TransferStore

/// Queues waiting tasks when their time has come or their condition is met.
struct WaitingTasks: Sendable {
    let store: TransferStore
    let transitions: TaskTransitions
    let signal: SupervisionSignal

    /// Queues waiting tasks whose next attempt is due. Returns how many were due.
    func wake(at now: ClockReading, limit: Int) async throws -> Int {
        let due = try await store.read { try $0.dueWaiting(at: now.wall, limit: limit) }
        try await clear(due)
        return due.count
    }

    /// Queues these waiting tasks, because their condition is met.
    func clear(_ ids: [TaskID]) async throws {
        guard !ids.isEmpty else { return }
        let transitions = transitions
        try await store.write { transaction in
            for id in ids {
                do {
                    guard let record = try transitions.readable(id, in: transaction),
                        try !transitions.postponedDefault(of: record, in: transaction)
                    else { continue }
                    _ = try transitions.apply(.conditionCleared, to: record, in: transaction)
                } catch let error as TransferError
                    where error.code == .taskWrongState || error.code == .taskNotFound
                {
                    continue  // A client's change came first.
                }
            }
        }
        signal.queueChanged()
    }

    /// Queues every task that waits for `reason` and for which `holds` returns true.
    func clear(_ reason: WaitReason, where holds: @escaping @Sendable (TaskRecord) async -> Bool) async throws {
        try await store.forEachPage {
            try $0.waiting(reason: reason, after: $1?.id, limit: 200)
        } do: { records in
            var ids: [TaskID] = []
            for record in records where await holds(record) { ids.append(record.id) }
            try await clear(ids)
        }
    }
}
