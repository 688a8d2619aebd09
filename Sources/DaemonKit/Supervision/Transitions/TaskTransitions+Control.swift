import FileKit
import TransferCore
import TransferModel
import TransferStore

/// What a control method did with one task.
enum ControlledTask: Sendable {
    /// As it is now, or was when it was removed.
    case changed(TaskHead)
    case skipped(TaskID, ErrorCode)
}

/// What clients ask of many tasks: decided on their heads, stored with few statements, whatever their specs say.
extension TaskTransitions {
    /// - Parameters:
    ///   - wasFinal: of tasks whose part files were seen to before: what another request ended or began meanwhile is
    ///     left alone, as if this one had come first.
    ///   - sources: of `resend`, the files that tasks send.
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

/// The changes of one transaction while they are gathered.
private struct ControlChanges {
    let transitions: TaskTransitions
    let action: TaskAction
    let sources: [TaskID: Result<FreshSource, TransferError>]
    let now: ClockReading

    private var moves: [StatusChange] = []
    private var removed: [TaskID] = []
    private var discarded: [TaskID] = []
    private var events: [EventRecord] = []
    /// Sessions of which a task has ended.
    private var ended: Set<SessionKey> = []
    private var sessions: [SessionKey: SessionRecord] = [:]
    /// Of users whose ended tasks are taken up again; nil for those without a limit.
    private var quotas: [UserID: QueueQuota?] = [:]

    init(
        transitions: TaskTransitions, action: TaskAction,
        sources: [TaskID: Result<FreshSource, TransferError>], now: ClockReading
    ) {
        self.transitions = transitions
        self.action = action
        self.sources = sources
        self.now = now
    }

    /// - Returns: the task as it will be; nil if it is removed.
    /// - Throws: `task.wrong_state`; for what would begin again `session.invalidated` if its session is over, and
    ///   `limit.reached` if its owner has too many tasks.
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
        if step.discardsPart {
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

    /// - Throws: `task.wrong_state` if it cannot be read: it was set aside, and has failed.
    private func record(_ head: TaskHead, in transaction: StoreTransaction) throws -> TaskRecord {
        guard let record = try transitions.readable(head.id, in: transaction) else {
            throw TransferError(.taskWrongState, "Task \(head.id) cannot be read; it was set aside.")
        }
        return record
    }

    /// What was sent of another file is of no use: the upload begins anew.
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
        // S3's is its client's, and goes on: parts that are sent again replace those that are there.
        if record.spec.s3 == nil { try transaction.endUpload(of: record, at: now.wall) }
        try transaction.setUpload(head.id, record.spec.s3Progress(of: source, at: now.wall))
    }

    private func endUpload(of head: TaskHead, in transaction: StoreTransaction) throws {
        guard head.hasUpload, let record = try transitions.readable(head.id, in: transaction) else { return }
        try transaction.endUpload(of: record, at: now.wall)
    }

    /// When its time for the resource will have run out: what the spec says is needed for that.
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

    /// One that is finishing may have a task tried again; one that has ended stays without.
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
    /// nil for removal, which is no state.
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
