import TransferCore
import TransferModel
import TransferStore

/// Applies machine events to stored tasks: the one place where a task changes state.
///
/// The status, its events and what follows for the session (`session.drained`) are one transaction, which the SQL
/// guards again by the state it read.
package struct TaskTransitions: Sendable {
    package struct Outcome: Sendable {
        package var record: TaskRecord
        package var effects: [TaskEffect]

        package var discardsPart: Bool { effects.contains(.discardPart) }
    }

    let time: any TimeSource
    /// What is in force for a task of a session.
    let policy: @Sendable (TaskSpec, SessionConfiguration) -> EffectivePolicy

    /// - Throws: `task.not_found`, `task.wrong_state`, or what the store throws.
    package func apply(_ event: TaskEvent, to id: TaskID, in transaction: StoreTransaction) throws -> Outcome {
        guard let record = try transaction.task(id) else {
            throw TransferError(.taskNotFound, "There is no task \(id).", details: ["task": .integer(id.rawValue)])
        }
        return try apply(event, to: record, in: transaction)
    }

    /// `record` must have been read in `transaction`.
    package func apply(
        _ event: TaskEvent, to record: TaskRecord, in transaction: StoreTransaction
    ) throws -> Outcome {
        let before = record.status.state
        let (outcome, events) = try change(event, of: record, in: transaction)
        if !events.isEmpty { try transaction.append(events) }
        if outcome.record.status.state.isFinal, !before.isFinal {
            try sessionMayHaveDrained(record.session, at: time.reading().wall, in: transaction)
        }
        return outcome
    }

    /// Stores what `event` makes of a task, and returns the events that belong to it: they must be appended in the same
    /// transaction. `record`'s status must have been read in it.
    /// - Parameters:
    ///   - session: configuration of the task's session, where it is known.
    ///   - result: what the task left, stored in the same statement.
    func change(
        _ event: TaskEvent, of record: TaskRecord, in transaction: StoreTransaction,
        session known: SessionConfiguration? = nil, storing result: TaskResult? = nil
    ) throws -> (outcome: Outcome, events: [EventRecord]) {
        let now = time.reading()
        var machine = TaskMachine(record.status)
        let effects = try machine.handle(event, at: now)
        var record = record
        let before = record.status.state
        record.status = machine.status
        if effects.contains(.persist) {
            let expiry = try expiry(of: record, session: known, at: now, in: transaction)
            guard
                try transaction.update(
                    record.id, from: before, to: record.status, resourceTimeoutAt: .some(expiry), result: result)
            else {
                throw TransferError(.taskWrongState, "Task \(record.id) changed meanwhile; look at it again.")
            }
        }
        if effects.contains(.discardPart) {
            try transaction.setCheckpoint(record.id, nil)
        }
        let events = effects.compactMap { effect -> EventRecord? in
            guard case .publish(let type, let payload) = effect else { return nil }
            return EventRecord(time: now.wall, type: type, session: record.session, task: record.id, payload: payload)
        }
        return (Outcome(record: record, effects: effects), events)
    }

    /// nil while time does not count, and then nothing is looked up.
    private func expiry(
        of record: TaskRecord, session known: SessionConfiguration?, at now: ClockReading,
        in transaction: StoreTransaction
    ) throws -> Timestamp? {
        guard record.status.budgetMark != nil else { return nil }
        let session = try known ?? transaction.session(record.session)?.configuration ?? SessionConfiguration()
        return expiry(of: record.spec, record.status, session, at: now)
    }

    /// Ends what waits for a session's last task: `session.drained`, and the end of a finishing session.
    package func sessionMayHaveDrained(
        _ key: SessionKey, at now: Timestamp, in transaction: StoreTransaction
    ) throws {
        guard try !transaction.hasUnfinishedTasks(key) else { return }
        _ = try transaction.append(EventRecord(time: now, type: .sessionDrained, session: key))
        guard let session = try transaction.session(key), session.state == .finishing else { return }
        try endSession(session, at: now, in: transaction)
    }

    /// The session is over: it takes no tasks and has none that is not.
    package func endSession(
        _ session: SessionRecord, at now: Timestamp, in transaction: StoreTransaction
    ) throws {
        var session = session
        session.state = .invalidated
        try transaction.updateSession(session)
        _ = try transaction.append(EventRecord(time: now, type: .sessionInvalidated, session: session.key))
    }

    /// Whether time for the resource is left after all: the wall clock jumped, the boot clock did not.
    package func postponed(
        _ record: TaskRecord, at now: ClockReading, in transaction: StoreTransaction
    ) throws -> Bool {
        let session = try transaction.session(record.session)?.configuration ?? SessionConfiguration()
        let expiry = expiry(of: record.spec, record.status, session, at: now)
        if let expiry, expiry <= now.wall { return false }
        let state = record.status.state
        return try transaction.update(record.id, from: state, to: record.status, resourceTimeoutAt: .some(expiry))
    }

    /// When `timeoutIntervalForResource` will have run out, on the wall clock, if time counts now.
    package func expiry(
        of spec: TaskSpec, _ status: TaskStatus, _ session: SessionConfiguration, at now: ClockReading
    ) -> Timestamp? {
        status.budgetLeft(of: policy(spec, session).resourceTimeout, at: now).map { now.wall.advanced(by: $0) }
    }
}
