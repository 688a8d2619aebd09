import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Pause, resume, cancel, retry, remove: a machine event for each selected task, in pieces that hold nobody up.
extension Supervisor {
    package func record(_ id: TaskID, for peer: Peer) async throws -> TaskRecord {
        let record = try await store.read { try $0.task(id) }
        guard let record, peer.isAdmin || record.session.owner == peer.uid else { throw Self.notFound(id) }
        return record
    }

    package func live(_ id: TaskID) -> LiveFigures? { runs[id]?.figures() }
    package func segments(_ id: TaskID) -> [SegmentFigures] { runs[id]?.segments ?? [] }

    package func progressSnapshot() -> [ProgressFigures] {
        runs.all.map { ProgressFigures(task: $0.task, session: $0.session, live: $0.figures()) }
    }

    package func throughput() -> Throughput { runs.throughput }

    package func body(
        _ id: TaskID, from offset: ByteCount, atMost length: ByteCount, for peer: Peer
    ) async throws -> BodyPiece {
        let record = try await record(id, for: peer)
        let piece = try await store.read { snapshot -> BodyPiece? in
            guard let whole = try snapshot.bodyLength(of: id, .response),
                let bytes = try snapshot.body(of: id, .response, from: offset, atMost: length)
            else { return nil }
            return BodyPiece(bytes: bytes, isLast: offset + ByteCount(Int64(bytes.count)) >= whole)
        }
        guard let piece else {
            throw TransferError(
                .taskWrongState,
                "Task \(id) keeps no body: it is a \(record.spec.kind.rawValue) task in state "
                    + "\(record.status.state.rawValue).")
        }
        return piece
    }

    package func control(_ action: TaskAction, _ target: ControlTarget) async throws -> ControlOutcome {
        var outcome = ControlOutcome()
        switch target.scope {
        case .ids(let ids):
            for chunk in ids.chunked(Self.chunkSize) {
                try await control(action, chunk, target, isNamed: true, into: &outcome)
            }
        case .session(let identifier):
            try await controlSelected(action, identifier, target, into: &outcome)
        case .all:
            try await controlSelected(action, nil, target, into: &outcome)
        }
        if !outcome.changed.isEmpty { kick() }
        return outcome
    }

    private static let chunkSize = 500

    private func controlSelected(
        _ action: TaskAction, _ session: String?, _ target: ControlTarget, into outcome: inout ControlOutcome
    ) async throws {
        let states = target.states ?? action.natural
        let selector = TaskSelector(owner: target.owner.owner, session: session, states: states)
        var last: TaskID?
        while true {
            let after = last
            let ids = try await store.read { try $0.select(selector, after: after, limit: Self.chunkSize) }
            guard let end = ids.last else { return }
            try await control(action, ids, target, isNamed: false, into: &outcome)
            last = end
        }
    }

    private func control(
        _ action: TaskAction, _ ids: [TaskID], _ target: ControlTarget, isNamed: Bool,
        into outcome: inout ControlOutcome
    ) async throws {
        let records = try await store.read { try $0.tasks(ids) }.filter { isMeant($0, by: target) }
        let results = try await stoppingRuns(action.stopsRuns ? records.map(\.id) : []) {
            // Parts go first: a daemon that dies in between restarts a task from 0 that was not wanted, and leaves no file.
            for record in records where action.discardsPart(of: record) { await files.discardPart(of: record) }
            return try await store.write { [transitions] transaction in
                try ids.map { try action.result(for: $0, target, transitions, in: transaction) }
            }
        }
        var changed: [TaskTransitions.Outcome] = []
        for result in results {
            switch result {
            case .changed(let change):
                outcome.changed.append(change.record.id)
                changed.append(change)
            case .skipped(let id, let code):
                if isNamed || code != .taskNotFound { outcome.skipped.append(.init(id: id, code: code)) }
            }
        }
        for change in changed {
            if case .remove(let deleteFile) = action {
                logger.info("removed", metadata: ["task": "\(change.record.id)"])
                if deleteFile { await files.deleteDelivered(change.record) }
            } else {
                log(change)
            }
        }
        await afterwards(changed)
    }

    private func isMeant(_ record: TaskRecord, by target: ControlTarget) -> Bool {
        target.owner.includes(record.session.owner) && target.states?.contains(record.status.state) ?? true
    }

    static func notFound(_ id: TaskID) -> TransferError {
        TransferError(.taskNotFound, "There is no task \(id).", details: ["task": .integer(id.rawValue)])
    }
}

private enum ControlResult: Sendable {
    case changed(TaskTransitions.Outcome)
    case skipped(TaskID, ErrorCode)
}

extension TaskAction {
    fileprivate func result(
        for id: TaskID, _ target: ControlTarget, _ transitions: TaskTransitions, in transaction: StoreTransaction
    ) throws -> ControlResult {
        guard let record = try transaction.task(id), target.owner.includes(record.session.owner) else {
            return .skipped(id, .taskNotFound)
        }
        if let states = target.states, !states.contains(record.status.state) {
            return .skipped(id, .taskWrongState)
        }
        do {
            return .changed(try perform(on: record, transitions, in: transaction))
        } catch let error as TransferError where error.code == .taskWrongState {
            return .skipped(id, error.code)
        }
    }

    /// Whether the task's bytes go with this action.
    fileprivate func discardsPart(of record: TaskRecord) -> Bool {
        switch self {
        case .cancel(let keepPartial): !keepPartial && !record.status.state.isFinal
        case .remove: record.status.state.isFinal
        case .pause, .resume, .retry: false
        }
    }
}

extension TaskAction {
    /// The states that an action without a selector of states means when it is asked of many tasks.
    var natural: Set<TaskState> {
        switch self {
        case .pause: [.queued, .running, .waiting]
        case .resume: [.paused]
        case .retry: [.waiting, .failed, .cancelled]
        case .cancel: [.queued, .running, .waiting, .paused]
        case .remove: [.completed, .failed, .cancelled]
        }
    }

    var stopsRuns: Bool {
        switch self {
        case .pause, .cancel: true
        case .resume, .retry, .remove: false
        }
    }

    func perform(
        on record: TaskRecord, _ transitions: TaskTransitions, in transaction: StoreTransaction
    ) throws -> TaskTransitions.Outcome {
        switch self {
        case .pause: return try transitions.apply(.pause, to: record, in: transaction)
        case .resume: return try transitions.apply(.resume, to: record, in: transaction)
        case .retry: return try transitions.apply(.retry, to: record, in: transaction)
        case .cancel(let keepPartial):
            return try transitions.apply(.cancel(keepPartial: keepPartial), to: record, in: transaction)
        case .remove:
            guard record.status.state.isFinal else {
                throw TransferError(.taskWrongState, "Task \(record.id) is not over; cancel it first.")
            }
            let now = transitions.time.reading().wall
            try transaction.endUpload(of: record, at: now)
            try transaction.delete(record.id)
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskRemoved, session: record.session,
                    task: record.id))
            return TaskTransitions.Outcome(record: record, effects: [.discardPart])
        }
    }
}
