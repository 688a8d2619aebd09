import DaemonSetup
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
    /// The `timeoutIntervalForResource` of tasks that have none, and whose sessions have none.
    let resourceTimeout: @Sendable () -> Seconds
    /// How time counts for tasks of sessions that are or were paused.
    let clocks = SessionClocks()
    /// Unfinished tasks that one user may have; nil = no limit.
    var queueLimit: @Sendable () -> Int? = { nil }
    /// Hears of tasks that were set aside because their rows cannot be read; may hear of one twice.
    var unreadable: @Sendable (TaskID, TransferError) -> Void = { _, _ in }

    /// What room a user has for further tasks; nil without a limit.
    func quota(of owner: UserID, in snapshot: StoreSnapshot) throws -> QueueQuota? {
        guard let limit = queueLimit() else { return nil }
        return QueueQuota(limit: limit, unfinished: try snapshot.unfinishedTasks(of: owner))
    }

    /// - Throws: `task.not_found`, `task.wrong_state`, or what the store throws.
    package func apply(_ event: TaskEvent, to id: TaskID, in transaction: StoreTransaction) throws -> Outcome {
        guard let record = try readable(id, in: transaction) else {
            throw TransferError(.taskNotFound, "There is no task \(id).", details: ["task": .integer(id.rawValue)])
        }
        return try apply(event, to: record, in: transaction)
    }

    /// `record` must have been read in `transaction`.
    /// - Parameter metrics: what the run's exchanges took, if one ends.
    package func apply(
        _ event: TaskEvent, to record: TaskRecord, adding metrics: StoredMetrics? = nil,
        in transaction: StoreTransaction
    ) throws -> Outcome {
        let decision = try decide(event, of: record, in: transaction)
        if var change = decision.change {
            change.metrics = metrics
            guard try transaction.update(change) else {
                throw TransferError(.taskWrongState, "Task \(record.id) changed meanwhile; look at it again.")
            }
        }
        try followQuestion(
            of: record.id, event, from: record.status, to: decision.outcome.record.status, in: transaction)
        if decision.outcome.discardsPart {
            try transaction.setCheckpoint(record.id, nil)
            try transaction.endUpload(of: record, at: time.reading().wall)
        }
        if !decision.events.isEmpty { try transaction.append(decision.events) }
        if decision.outcome.record.status.state.isFinal, !record.status.state.isFinal {
            try sessionMayHaveDrained(record.session, at: time.reading().wall, in: transaction)
        }
        return decision.outcome
    }

    /// A transition that is decided and not stored yet.
    struct Decision: Sendable {
        var outcome: Outcome
        /// nil if the status stays as it is.
        var change: StatusChange?
        /// To be appended in the transaction that stores the change.
        var events: [EventRecord]
    }

    /// What `event` makes of a task, whose status must have been read in `transaction`.
    /// - Parameters:
    ///   - session: the task's, if it is known.
    ///   - result: what the task left.
    func decide(
        _ event: TaskEvent, of record: TaskRecord, in transaction: StoreTransaction,
        session known: SessionRecord? = nil, leaving result: TaskResult? = nil
    ) throws -> Decision {
        let now = time.reading()
        let step = try step(event, of: TaskHead(record), at: now)
        var (record, change) = (record, step.change)
        record.$status = step.head.$status
        if let result { record.result = result }
        change?.result = result
        // Nothing is looked up while time does not count.
        if change != nil, record.status.budgetMark != nil {
            let session = try known ?? transaction.session(record.session)
            change?.resourceTimeoutAt = expiry(of: record, in: session, at: now)
        }
        var events = step.events
        if record.status.state == .failed, record.keepsPart, !step.discardsPart, var error = record.status.error {
            error.resumable = true
            for index in events.indices where events[index].type == .taskFailed {
                events[index].payload = EventPayload.failed(error)
            }
        }
        for index in events.indices where Self.tellsIdentity(events[index].type) {
            EventPayload.identify(&events[index].payload, as: record.$spec)
        }
        return Decision(outcome: Outcome(record: record, effects: step.effects), change: change, events: events)
    }

    /// Whether subscribers need not ask whose event it is.
    static func tellsIdentity(_ type: EventType) -> Bool {
        switch type {
        case .taskAdded, .taskCompleted, .taskFailed: true
        case .taskStarted, .taskRedirected, .taskResponse, .taskResumed, .taskRestarted, .taskProgress, .taskWaiting,
            .taskDecision, .taskPaused, .taskQueued, .taskUpdated, .taskCancelled, .taskRemoved, .sessionOpened,
            .sessionPaused,
            .sessionResumed, .sessionDrained, .sessionInvalidated, .settingsChanged, .eventsLagged:
            false
        }
    }

    /// What an event makes of the head of a task.
    struct Step: Sendable {
        var head: TaskHead
        var effects: [TaskEffect]
        /// Says nothing of when the time for the resource runs out; nil if the status stays as it is.
        var change: StatusChange?
        var events: [EventRecord]

        var discardsPart: Bool { effects.contains(.discardPart) }
    }

    /// - Throws: `task.wrong_state`.
    func step(_ event: TaskEvent, of head: TaskHead, at now: ClockReading) throws(TransferError) -> Step {
        var machine = TaskMachine(head.status)
        let effects = try machine.handle(event, at: clocks.reading(now, of: head.session))
        var after = head
        after.status = machine.status
        let change =
            effects.contains(.persist)
            ? StatusChange(head.id, from: head.status.state, to: after.$status, resourceTimeoutAt: nil) : nil
        let events = effects.compactMap { effect -> EventRecord? in
            guard case .publish(let type, let payload) = effect else { return nil }
            return EventRecord(time: now.wall, type: type, session: head.session, task: head.id, payload: payload)
        }
        return Step(head: after, effects: effects, change: change, events: events)
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
        session.pause = SessionPause()
        try transaction.updateSession(session)
        try transaction.forgetCredentials(of: session.key)
        try transaction.forgetTrust(in: session.key)
        // None of its tasks counts its time any more.
        clocks.note(session)
        _ = try transaction.append(EventRecord(time: now, type: .sessionInvalidated, session: session.key))
    }

    /// Whether time for the resource is left after all: the wall clock jumped, the boot clock did not, or the session was
    /// paused.
    package func postponed(
        _ record: TaskRecord, at now: ClockReading, in transaction: StoreTransaction
    ) throws -> Bool {
        let expiry = expiry(of: record, in: try transaction.session(record.session), at: now)
        if let expiry, expiry <= now.wall { return false }
        let state = record.status.state
        return try transaction.update(record.id, from: state, to: record.status, resourceTimeoutAt: .some(expiry))
    }

    private func expiry(of record: TaskRecord, in session: SessionRecord?, at now: ClockReading) -> Timestamp? {
        expiry(
            record.spec.timeoutIntervalForResource ?? session?.configuration.timeoutIntervalForResource,
            record.$status, in: record.session, at: now)
    }

    /// When the time for the resource will have run out, on the wall clock, if time counts now.
    /// - Parameter timeout: `timeoutIntervalForResource` of the task or of its session; nil if neither has one.
    package func expiry(
        _ timeout: Seconds?, _ status: Boxed<TaskStatus>, in key: SessionKey, at now: ClockReading
    ) -> Timestamp? {
        guard status.wrappedValue.budgetMark != nil else { return nil }
        return status.wrappedValue.budgetLeft(of: timeout ?? resourceTimeout(), at: clocks.reading(now, of: key))
            .map { now.wall.advanced(by: $0) }
    }
}
