import TransferCore
import TransferModel
import TransferStore

/// Stops runs before a change by a client or the daemon is stored.
struct RunStops: Sendable {
    private static let longestStop: Duration = .seconds(10)

    let runs: RunTable
    let patience: StorePatience
    let transitions: TaskTransitions
    let signal: SupervisionSignal

    /// Stops the runs of `ids`, waits until they have stopped completely, and then lets `body` store the changes of
    /// their tasks. Tasks that `body` leaves `running` are queued again. None of `ids` can begin to run meanwhile.
    /// - Throws: what `body` throws; `disk.io` if a run cannot stop because its disk does not answer.
    func stopping<T>(_ ids: [TaskID], _ body: () async throws -> T) async throws -> T {
        try await holding(ids) {
            let stopped = ids.compactMap { runs[$0] }
            for run in stopped { run.requestAbort(.leftToCaller) }
            for run in stopped where !(await run.waitForEnd(atMost: Self.longestStop)) {
                await abandon(stopped)
                if let damage = patience.store.damage { throw damage }
                throw TransferError(
                    .diskIO,
                    "Task \(run.task) cannot stop: its disk, or that of the state folder, does not answer. "
                        + "Try again when it does.")
            }
            do {
                let result = try await body()
                try await requeue(stopped)
                return result
            } catch {
                try? await requeue(stopped)
                throw error
            }
        }
    }

    /// Lets `body` change tasks that need not stop. None of `ids` can begin to run meanwhile.
    func holding<T>(_ ids: [TaskID], _ body: () async throws -> T) async throws -> T {
        await runs.claims.hold(ids)
        defer {
            runs.claims.release(ids)
            if !ids.isEmpty { signal.changed() }
        }
        return try await body()
    }

    /// Gives up waiting for these runs. Their tasks are queued again, now or when they stop.
    private func abandon(_ stopped: [TransferRun]) async {
        let over = stopped.filter { !$0.abandonStop() }
        for run in over { await run.waitForEnd(atMost: Self.longestStop) }
        try? await requeue(over)
    }

    private func requeue(_ stopped: [TransferRun]) async throws {
        for run in stopped where runs[run.task] == nil {
            _ = try await transitions.endRun(of: run.task, .preempted(), patience: patience)
        }
    }
}

extension TaskTransitions {
    /// Stores how a run ended, however long the store is out of space.
    /// - Parameters:
    ///   - notes: what is stored in the same commit.
    ///   - metrics: the metrics of the run's exchanges.
    ///   - policy: the run's policy, if its client may be asked a question in place of `event`.
    ///   - offer: the credentials found for a challenge.
    /// - Returns: nil if the task no longer runs because a client's request came first.
    func endRun(
        of id: TaskID, _ event: TaskEvent, with notes: PendingNotes? = nil, _ metrics: TaskMetrics = TaskMetrics(),
        asking policy: EffectivePolicy? = nil, offering offer: CredentialOffer? = nil,
        patience: StorePatience
    ) async throws -> Outcome? {
        let metrics = StoredMetrics(metrics)
        do {
            return try await patience.persistently { transaction in
                guard var now = try transaction.task(id), now.status.state == .running else { return nil }
                if let notes {
                    try notes.store(in: transaction)
                    now = try transaction.task(id) ?? now
                }
                let event = try stillApplies(event, to: now, in: transaction)
                let asked = try policy.flatMap { try question(inPlaceOf: event, of: now, $0, offer, in: transaction) }
                let waits = try asked ?? wait(inPlaceOf: event, of: id, in: transaction)
                return try apply(waits ?? event, to: now, adding: metrics, in: transaction)
            }
        } catch let error as TransferError where error.code == .taskWrongState || error.code == .taskNotFound {
            return nil
        }
    }

    /// The machine's network or power may be another one than when it stopped the run.
    private func stillApplies(
        _ event: TaskEvent, to record: TaskRecord, in transaction: StoreTransaction
    ) throws -> TaskEvent {
        guard case .blocked(let reason, _, _) = event, reason.isOfMachine else { return event }
        return machine?.event(for: record, in: try transaction.session(record.session)) ?? .preempted(.allowedAgain)
    }
}
