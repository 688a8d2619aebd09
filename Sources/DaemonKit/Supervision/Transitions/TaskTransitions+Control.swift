import FileKit
import TransferCore
import TransferModel
import TransferStore

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

    private var moves: [StatusChange] = []
    private var removed: [TaskID] = []
    private var discarded: [TaskID] = []
    private var events: [EventRecord] = []
    /// Sessions of which a task has ended.
    private var ended: Set<SessionKey> = []
    private var sessions: [SessionKey: SessionRecord] = [:]
    /// The quotas of users whose ended tasks start again; nil for users without a limit.
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
