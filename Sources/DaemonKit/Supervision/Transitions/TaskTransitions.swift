import DaemonSetup
import TransferCore
import TransferModel
import TransferStore

/// Applies machine events to stored tasks. Nothing else changes the state of a task.
///
/// The status, its events and the consequences for the session (`session.drained`) are stored in one transaction. SQL
/// checks the state that was read again.
package struct TaskTransitions: Sendable {
    package struct Outcome: Sendable {
        package var record: TaskRecord
        package var effects: [TaskEffect]

        package var discardsPart: Bool { effects.contains(.discardPart) }
    }

    let time: any TimeSource
    /// `identifier` of the store, which the names of part files contain.
    let storeID: String
    /// The `timeoutIntervalForResource` of tasks that have none, and whose sessions have none.
    let resourceTimeout: @Sendable () -> Seconds
    /// How time counts for tasks of sessions that are or were paused.
    let clocks = SessionClocks()
    /// The most unfinished tasks of one user; nil for no limit.
    var queueLimit: @Sendable () -> Int? = { nil }
    /// Called for tasks that were set aside because their rows cannot be read, possibly twice for one task.
    var unreadable: @Sendable (TaskID, TransferError) -> Void = { _, _ in }

    /// How many more tasks a user may have; nil for no limit.
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
    /// - Parameter metrics: the metrics of the run's exchanges, if a run ends.
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
            // Nothing of a task that has ended looks for its part file. If the daemon dies before `LeftParts` has removed
            // it, the next one finds it by these names.
            if decision.outcome.record.status.state.isFinal {
                try transaction.note(LeftPart.all(of: record, in: storeID, at: time.reading().wall))
            }
        }
        if !decision.events.isEmpty { try transaction.append(decision.events) }
        if decision.outcome.record.status.state.isFinal, !record.status.state.isFinal {
            try sessionMayHaveDrained(record.session, at: time.reading().wall, in: transaction)
        }
        return decision.outcome
    }

    /// A transition that is decided but not stored yet.
    struct Decision: Sendable {
        var outcome: Outcome
        /// nil if the status stays as it is.
        var change: StatusChange?
        /// The transaction that stores the change must append them.
        var events: [EventRecord]
    }

    /// Decides what `event` does to a task, whose status must have been read in `transaction`.
    /// - Parameters:
    ///   - session: the task's session, if it is known.
    ///   - result: the result of the task.
    func decide(
        _ event: TaskEvent, of record: TaskRecord, in transaction: StoreTransaction,
        session known: SessionRecord? = nil, leaving result: TaskResult? = nil
    ) throws -> Decision {
        let now = time.reading()
        let step = try step(event, of: TaskHead(record), at: now)
        let abandoned = Self.abandons(record, by: event) ? [TaskEffect.discardPart] : []
        var (record, change) = (record, step.change)
        record.$status = step.head.$status
        if let result { record.result = result }
        change?.result = result
        // Nothing is read while time does not count.
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
        return Decision(
            outcome: Outcome(record: record, effects: step.effects + abandoned), change: change, events: events)
    }

    /// Tells whether the task may leave a part file of which no byte is known. A run removes its own.
    private static func abandons(_ record: TaskRecord, by event: TaskEvent) -> Bool {
        switch event {
        case .deadlinePassed, .resourceTimeoutPassed:
            record.status.state != .running && record.checkpoint == nil && TaskHead(record).mayHavePart
        case .claimed, .attemptFailed, .integrityFailed, .completed, .pause, .resume, .cancel, .retry, .retargeted,
            .preempted, .daemonRestarted, .conditionCleared, .blocked, .asked:
            false
        }
    }

    /// Tells whether events of this type identify their task, so that subscribers need not ask.
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

    /// The effect of an event on the head of a task.
    struct Step: Sendable {
        var head: TaskHead
        var effects: [TaskEffect]
        /// Does not include the resource timeout; nil if the status stays as it is.
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

    /// Ends what waits for a session's last task: appends `session.drained`, and ends a finishing session.
    package func sessionMayHaveDrained(
        _ key: SessionKey, at now: Timestamp, in transaction: StoreTransaction
    ) throws {
        guard try !transaction.hasUnfinishedTasks(key) else { return }
        _ = try transaction.append(EventRecord(time: now, type: .sessionDrained, session: key))
        guard let session = try transaction.session(key), session.state == .finishing else { return }
        try endSession(session, at: now, in: transaction)
    }

    /// Ends a session, which accepts no more tasks and has no unfinished ones.
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

    /// Tells whether time for the resource is left after all, because the wall clock jumped but the boot clock did not,
    /// or because the session was paused.
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

    /// When the resource timeout will pass by the wall clock, if time counts now.
    /// - Parameter timeout: `timeoutIntervalForResource` of the task or of its session; nil if neither has one.
    package func expiry(
        _ timeout: Seconds?, _ status: Boxed<TaskStatus>, in key: SessionKey, at now: ClockReading
    ) -> Timestamp? {
        guard status.wrappedValue.budgetMark != nil else { return nil }
        return status.wrappedValue.budgetLeft(of: timeout ?? resourceTimeout(), at: clocks.reading(now, of: key))
            .map { now.wall.advanced(by: $0) }
    }
}
