import DaemonSetup
import FileKit
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
    var machine: MachineState?
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
            throw TransferError.noTask(id)
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
    /// - Parameters:
    ///   - change: nil if the status stays as it is.
    ///   - events: the transaction that stores the change must append them.
    typealias Decision = (outcome: Outcome, change: StatusChange?, events: [EventRecord])

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
        if record.status.state == .failed, record.keepsPart, !step.effects.contains(.discardPart),
            var error = record.status.error
        {
            error.resumable = true
            for index in events.indices where events[index].type == .taskFailed {
                events[index].payload = .failed(error)
            }
        }
        for index in events.indices where Self.tellsIdentity(events[index].type) {
            events[index].payload.identify(as: record.$spec)
        }
        return (Outcome(record: record, effects: step.effects + abandoned), change, events)
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
    /// - Parameter change: does not include the resource timeout; nil if the status stays as it is.
    typealias Step = (head: TaskHead, effects: [TaskEffect], change: StatusChange?, events: [EventRecord])

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
            var event = EventRecord(
                time: now.wall, type: type, session: head.session, task: head.id, payload: payload)
            if machine.status.state.isFinal { event.ended = head.kind }
            return event
        }
        return (after, effects, change, events)
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

// MARK: - Unreadable

/// Tasks whose rows cannot be read. Each is set aside when it is found, so that the others continue.
extension TaskTransitions {
    /// Returns the task; nil if there is none, or if it cannot be read and was set aside.
    func readable(_ id: TaskID, in transaction: StoreTransaction) throws -> TaskRecord? {
        do {
            return try transaction.task(id)
        } catch let error as TransferError where error.code == .internal {
            try setAside(id, because: error, in: transaction)
            return nil
        }
    }

    private func setAside(_ id: TaskID, because cause: TransferError, in transaction: StoreTransaction) throws {
        let now = time.reading().wall
        let error = TransferError(
            .internal,
            "What was stored of this task cannot be read, so it was set aside; look for damage to the state folder's disk, "
                + "then remove the task and add it again. (\(cause.message))")
        guard let task = try transaction.setAside(id, because: error, at: now) else { return }
        unreadable(id, cause)
        guard !task.state.isFinal else { return }
        var payload = JSONMembers.failed(error)
        if !task.url.isEmpty { payload.add("url", URLRules.inEvents(task.url)) }
        var event = EventRecord(time: now, type: .taskFailed, session: task.session, task: id, payload: payload)
        event.ended = task.kind
        _ = try transaction.append(event)
        try sessionMayHaveDrained(task.session, at: now, in: transaction)
    }
}

// MARK: - Batches

/// The end of a run that must be stored: its result, and the observations that are not stored yet.
struct CompletedRun: Sendable {
    /// The task as it was claimed.
    var record: TaskRecord
    var result: TaskResult
    var duration: Seconds
    var notes: PendingNotes?
    var metrics: StoredMetrics?
    /// The store may have a checkpoint of the task.
    var hasCheckpoint = true
    /// A client was asked while it ran.
    var hasAsked = false
    /// As in `Arrival`.
    var mirrors: [String] = []
    /// The response body that `task.body` serves; `isShown` as in `StoredDocument.showsKept`.
    var body: Body?

    typealias Body = (bytes: [UInt8], isShown: Bool)

    /// The store may have a question of the task.
    var mayHaveAsked: Bool { hasAsked || record.settled != nil }

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
                return .failure(.noTask(id))
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
        if let body = run.body { try transaction.setBody(id, .response, body.bytes, isShown: body.isShown) }
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

// MARK: - Control

/// What a control method did to one task.
enum ControlledTask: Sendable {
    /// The task as it is now, or as it was when it was removed.
    case changed(TaskHead)
    case skipped(TaskID, ErrorCode)
}

/// Clients' changes of many tasks. They are decided without reading the tasks' specifications, and stored with few
/// statements.
extension TaskTransitions {
    /// - Parameters:
    ///   - wasFinal: for tasks whose part files were handled before. If another request has ended or restarted such a
    ///   task meanwhile, it is left alone, as if this request had come first.
    ///   - sources: for `resend`, the files that the tasks send.
    /// - Returns: one entry for each of `ids`, in order.
    func control(
        _ action: TaskAction, _ ids: [TaskID], _ target: ControlTarget, wasFinal: [TaskID: Bool] = [:],
        sources: [TaskID: Result<FreshSource, TransferError>] = [:], in transaction: StoreTransaction
    ) throws -> [ControlledTask] {
        var heads = Dictionary(try transaction.heads(ids).map { ($0.id, $0) }) { first, _ in first }
        var changes = ControlChanges(transitions: self, action: action, sources: sources, now: time.reading())
        let results = try ids.map { id -> ControlledTask in
            guard let head = heads[id], target.owner.includes(head.session.owner) else {
                return .skipped(id, .taskNotFound)
            }
            if let states = target.states, !states.contains(head.status.state) {
                return .skipped(id, .taskWrongState)
            }
            if let wasFinal = wasFinal[id], wasFinal != head.status.state.isFinal {
                return .skipped(id, .taskWrongState)
            }
            if case .failure(let error)? = sources[id] { return .skipped(id, error.code) }
            do {
                let after = try changes.add(head, in: transaction)
                heads[id] = after
                return .changed(after ?? head)
            } catch let error as TransferError
                where [.taskWrongState, .sessionInvalidated, .limitReached].contains(error.code)
            {
                return .skipped(id, error.code)
            }
        }
        try changes.store(in: transaction)
        return results
    }
}

/// Collects the changes of one transaction.
private struct ControlChanges {
    let transitions: TaskTransitions
    let action: TaskAction
    let sources: [TaskID: Result<FreshSource, TransferError>]
    let now: ClockReading

    var moves: [StatusChange] = []
    var removed: [TaskID] = []
    var discarded: [TaskID] = []
    var events: [EventRecord] = []
    /// Sessions of which a task has ended.
    var ended: Set<SessionKey> = []
    var sessions: [SessionKey: SessionRecord] = [:]
    /// The quotas of users whose ended tasks start again; nil for users without a limit.
    var quotas: [UserID: QueueQuota?] = [:]

    /// - Returns: the changed task; nil if it is removed.
    /// - Throws: `task.wrong_state`; for a task that would start again, `session.invalidated` if its session has ended,
    ///   and `limit.reached` if its owner has too many tasks.
    mutating func add(_ head: TaskHead, in transaction: StoreTransaction) throws -> TaskHead? {
        guard var event = action.event else {
            try remove(head, in: transaction)
            return nil
        }
        if case .resume = event { event = .resume(notBefore: try record(head, in: transaction).spec.earliestBeginAt) }
        var step = try transitions.step(event, of: head, at: now)
        if step.change != nil, step.head.status.budgetMark != nil {
            step.change?.resourceTimeoutAt = try expiry(of: step.head, in: transaction)
        }
        if head.status.state.isFinal, !step.head.status.state.isFinal {
            try checkIsOpen(head, in: transaction)
            try reserveRoom(of: head.session.owner, in: transaction)
        }
        if let source = try sources[head.id]?.get() { try replaceSource(of: head, with: source, in: transaction) }
        if let change = step.change { moves.append(change) }
        try transitions.followQuestion(
            of: head.id, event, from: head.status, to: step.head.status, in: transaction)
        if step.effects.contains(.discardPart) {
            if head.hasCheckpoint { discarded.append(head.id) }
            try endUpload(of: head, in: transaction)
        }
        events += step.events
        if step.head.status.state.isFinal, !head.status.state.isFinal { ended.insert(head.session) }
        return step.head
    }

    private mutating func remove(_ head: TaskHead, in transaction: StoreTransaction) throws {
        guard head.status.state.isFinal else {
            throw TransferError(.taskWrongState, "Task \(head.id) has not ended; cancel it first.")
        }
        try endUpload(of: head, in: transaction)
        removed.append(head.id)
        events.append(EventRecord(time: now.wall, type: .taskRemoved, session: head.session, task: head.id))
    }

    /// - Throws: `task.wrong_state` if the task cannot be read: it was set aside and has failed.
    private func record(_ head: TaskHead, in transaction: StoreTransaction) throws -> TaskRecord {
        guard let record = try transitions.readable(head.id, in: transaction) else {
            throw TransferError(.taskWrongState, "Task \(head.id) cannot be read; it was set aside.")
        }
        return record
    }

    /// What was sent of another file is useless, so the upload starts over.
    private func replaceSource(
        of head: TaskHead, with fresh: FreshSource, in transaction: StoreTransaction
    ) throws {
        let source = fresh.identity
        guard let record = try transitions.readable(head.id, in: transaction) else { return }
        let isKept = record.source?.isKept ?? false
        let kept = isKept ? try transaction.body(of: head.id, .request) : nil
        guard record.source != source || kept != fresh.content else { return }
        if isKept { try transaction.setBody(head.id, .request, fresh.content) }
        try transaction.setSource(head.id, source)
        // An S3 upload belongs to its client and continues: parts that are sent again replace the existing ones.
        if record.spec.s3 == nil { try transaction.endUpload(of: record, at: now.wall) }
        try transaction.setUpload(head.id, record.spec.s3Progress(of: source, at: now.wall))
    }

    private func endUpload(of head: TaskHead, in transaction: StoreTransaction) throws {
        guard head.hasUpload, let record = try transitions.readable(head.id, in: transaction) else { return }
        try transaction.endUpload(of: record, at: now.wall)
    }

    /// When its resource timeout will pass. This needs the spec.
    private mutating func expiry(of head: TaskHead, in transaction: StoreTransaction) throws -> Timestamp? {
        let record = try record(head, in: transaction)
        let session = try session(of: head, in: transaction)
        return transitions.expiry(
            record.spec.timeoutIntervalForResource ?? session?.configuration.timeoutIntervalForResource,
            head.$status, in: head.session, at: now)
    }

    private mutating func session(of head: TaskHead, in transaction: StoreTransaction) throws -> SessionRecord? {
        if let known = sessions[head.session] { return known }
        let session = try transaction.session(head.session)
        sessions[head.session] = session
        return session
    }

    /// A finishing session allows retries; an ended one does not.
    private mutating func checkIsOpen(_ head: TaskHead, in transaction: StoreTransaction) throws {
        guard let session = try session(of: head, in: transaction), session.state == .invalidated else { return }
        throw TransferError(
            .sessionInvalidated,
            "The session \"\(session.key.identifier)\" of task \(head.id) has ended; open it again.",
            details: ["session": .string(session.key.identifier)])
    }

    /// - Throws: `limit.reached`.
    private mutating func reserveRoom(of owner: UserID, in transaction: StoreTransaction) throws {
        var quota = try quotas[owner] ?? transitions.quota(of: owner, in: transaction)
        defer { quotas[owner] = .some(quota) }
        try quota?.reserve(1)
    }

    func store(in transaction: StoreTransaction) throws {
        try transaction.update(moves)
        for id in discarded { try transaction.setCheckpoint(id, nil) }
        try transaction.delete(removed)
        if !events.isEmpty { try transaction.append(events) }
        for session in ended { try transitions.sessionMayHaveDrained(session, at: now.wall, in: transaction) }
    }
}

extension TaskAction {
    /// nil for removal, which is not a state.
    fileprivate var event: TaskEvent? {
        switch self {
        case .pause: .pause
        case .resume: .resume(notBefore: nil)
        case .retry, .resend: .retry
        case .cancel(let keepPartial): .cancel(keepPartial: keepPartial)
        case .remove: nil
        }
    }
}
