import TransferCore
import TransferModel
import TransferStore

/// A run's end that is to be stored: what it brought, and what was observed on the way and is not stored yet.
struct CompletedRun: Sendable {
    /// The task as it was claimed.
    var record: TaskRecord
    var result: TaskResult
    var duration: Seconds
    var notes: PendingNotes?
    /// The store may have a checkpoint of the task.
    var hasCheckpoint = true
}

/// Many tasks that change in one way together: one look at each, one append of all events, one look at the session.
extension TaskTransitions {
    /// Claims those of `ids` that are still queued.
    func claim(
        _ ids: [TaskID], sessions: [SessionKey: SessionRecord], in transaction: StoreTransaction
    ) throws -> [TaskRecord] {
        var claimed: [TaskRecord] = []
        var events: [EventRecord] = []
        for id in ids {
            // Others were paused, cancelled or removed since they were read.
            guard let record = try transaction.task(id), record.status.state == .queued else { continue }
            let change = try change(
                .claimed, of: record, in: transaction, session: sessions[record.session]?.configuration)
            claimed.append(change.outcome.record)
            events += change.events
        }
        if !events.isEmpty { try transaction.append(events) }
        return claimed
    }

    /// Stores the ends of runs. Of what is stored of a task only its status is read.
    /// - Returns: for each run what became of its task; `task.not_found` or `task.wrong_state` where it is not running
    ///   any more, and then nothing of it is stored.
    func complete(
        _ runs: [CompletedRun], in transaction: StoreTransaction
    ) throws -> [Result<Outcome, TransferError>] {
        var events: [EventRecord] = []
        var sessions: [SessionKey] = []
        let results = try runs.map { run -> Result<Outcome, TransferError> in
            let id = run.record.id
            guard let status = try transaction.status(of: id) else {
                return .failure(
                    TransferError(.taskNotFound, "There is no task \(id).", details: ["task": .integer(id.rawValue)]))
            }
            guard status.state == .running else {
                return .failure(
                    TransferError(.taskWrongState, "Task \(id) is \(status.state.rawValue); it cannot complete now."))
            }
            var record = run.record
            record.status = status
            record.result = run.result
            let change = try change(
                .completed(run.result, duration: run.duration), of: record, in: transaction, storing: run.result)
            try run.notes?.storeRows(in: transaction)
            if run.hasCheckpoint { try transaction.setCheckpoint(id, nil) }
            events += (run.notes?.events ?? []) + change.events
            if !sessions.contains(record.session) { sessions.append(record.session) }
            return .success(change.outcome)
        }
        if !events.isEmpty { try transaction.append(events) }
        for session in sessions { try sessionMayHaveDrained(session, at: time.reading().wall, in: transaction) }
        return results
    }
}
