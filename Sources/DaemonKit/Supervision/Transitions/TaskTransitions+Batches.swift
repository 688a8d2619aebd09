import FileKit
import TransferCore
import TransferModel
import TransferStore

/// The end of a run that must be stored: its result, and the observations that are not stored yet. It is one object,
/// because it is passed on many times.
final class CompletedRun: Sendable {
    /// The task as it was claimed.
    let record: TaskRecord
    let result: TaskResult
    let duration: Seconds
    let notes: PendingNotes?
    let metrics: StoredMetrics?
    /// The store may have a checkpoint of the task.
    let hasCheckpoint: Bool
    /// The store may have a question of the task.
    let mayHaveAsked: Bool
    /// As in `Arrival`.
    let mirrors: [String]

    init(
        record: TaskRecord, result: TaskResult, duration: Seconds, notes: PendingNotes? = nil,
        metrics: StoredMetrics? = nil, hasCheckpoint: Bool = true, hasAsked: Bool = false,
        mirrors: [String] = []
    ) {
        mayHaveAsked = hasAsked || record.settled != nil
        self.record = record
        self.result = result
        self.duration = duration
        self.notes = notes
        self.metrics = metrics
        self.hasCheckpoint = hasCheckpoint
        self.mirrors = mirrors
    }
}

/// Many tasks that change in the same way: each is read once, all events are appended together, and the session is read
/// once.
extension TaskTransitions {
    /// Claims those of `ids` that are still queued and may run. Those whose client must be asked first wait instead.
    func claim(
        _ ids: [TaskID], sessions: [SessionKey: SessionRecord], in transaction: StoreTransaction
    ) throws -> [TaskRecord] {
        var decisions: [Decision] = []
        // Pausing a session has stopped what was claimed before its commit.
        let paused = try transaction.pausedSessions()
        let asks = sessions.mapValues { Set($0.configuration.asks ?? []) }
        for id in ids {
            // Others were paused, cancelled or removed since they were read.
            guard var record = try readable(id, in: transaction), record.status.state == .queued,
                !paused.contains(record.session)
            else { continue }
            let session = sessions[record.session]
            let mayBeAsked = record.spec.earliestBeginAt != nil
            let asks = asks[record.session] ?? []
            if record.status.attempts > 0 || mayBeAsked || asks.contains(.challenge) {
                record.settled = try settled(of: record, asks, in: transaction)
            }
            if mayBeAsked, record.status.attempts == 0, asks.contains(.begin),
                let event = try questionBeforeBegin(of: record, in: transaction)
            {
                decisions.append(try decide(event, of: record, in: transaction, session: session))
                continue
            }
            decisions.append(try decide(.claimed, of: record, in: transaction, session: session))
        }
        try store(decisions, in: transaction)
        return decisions.map(\.outcome.record)
    }

    private func store(_ decisions: [Decision], in transaction: StoreTransaction) throws {
        try transaction.update(decisions.compactMap(\.change))
        let events = decisions.flatMap(\.events)
        if !events.isEmpty { try transaction.append(events) }
    }

    /// Stores the ends of runs. Of each stored task, only the status is read.
    /// - Returns: the outcome of each run's task. It is `task.not_found` or `task.wrong_state` if the task is not
    ///   running any more; then nothing of the run is stored.
    func complete(
        _ runs: [CompletedRun], in transaction: StoreTransaction
    ) throws -> [Result<Outcome, TransferError>] {
        var decisions: [Decision] = []
        var ended: [CompletedRun] = []
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
            var decision = try decide(
                .completed(run.result, duration: run.duration, mirrors: run.mirrors), of: record, in: transaction,
                leaving: run.result)
            decision.change?.metrics = run.metrics
            decision.events = (run.notes?.events ?? []) + decision.events
            decisions.append(decision)
            ended.append(run)
            if !sessions.contains(record.session) { sessions.append(record.session) }
            return .success(decision.outcome)
        }
        try store(decisions, in: transaction)
        for run in ended { try storeRest(of: run, in: transaction) }
        for session in sessions { try sessionMayHaveDrained(session, at: time.reading().wall, in: transaction) }
        return results
    }

    /// Stores what an ended run changes in other tables.
    private func storeRest(of run: CompletedRun, in transaction: StoreTransaction) throws {
        let id = run.record.id
        try run.notes?.storeRows(in: transaction)
        if run.hasCheckpoint { try transaction.setCheckpoint(id, nil) }
        if run.mayHaveAsked {
            let keepsBody = run.record.spec.kind == .data && run.record.spec.stream != true
            try transaction.forgetSecrets(of: id, keepsBody: keepsBody) { try $0.redacted() }
        }
        if run.record.spec.kind != .download || run.record.spec.body != nil {
            // The request was sent and answered. Its owner may want to see its body; of a long body, only the length is
            // kept.
            try transaction.setUpload(id, nil)
            let isLong = run.record.source.map { $0.size.rawValue > Int64(Bounds.shownBody) } ?? false
            if isLong { try transaction.setBody(id, .request, nil) }
        }
    }
}
