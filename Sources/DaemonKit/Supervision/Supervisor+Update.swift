import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Changes a task where it stands, and packs one into resume data.
extension Supervisor {
    package func update(_ change: UpdateTask.Parameters, by peer: Peer) async throws -> TaskRecord {
        let known = try await record(change.id, for: peer)
        var spec = known.spec
        change.apply(to: &spec)
        try SpecRules(path: "").check(spec.namingKeptBody)
        let movesTransfer = change.url != nil || change.headers != nil
        let delays = change.earliestBeginAt.map { $0 > time.reading().wall } ?? false
        let now = time.reading()
        let transitions = transitions
        let record = try await stoppingRuns(movesTransfer || delays ? [change.id] : []) {
            try await store.write { transaction in
                guard let record = try transaction.task(change.id) else { throw Self.notFound(change.id) }
                return try change.store(over: record, transitions, at: now, in: transaction)
            }
        }
        applyRateLimit(record.spec.rateLimit ?? .unlimited, of: record)
        logger.info(
            "updated", metadata: ["task": "\(record.id)", "fields": "\(change.changedFields.joined(separator: ","))"])
        kick()
        return record
    }

    package func resumeData(_ id: TaskID, by peer: Peer) async throws -> String {
        let before = try await record(id, for: peer)
        guard before.spec.kind == .download else {
            throw TransferError(
                .taskWrongState, "Task \(id) is no download; only downloads have resume data. Pause it instead.")
        }
        guard !before.status.state.isFinal || before.status.state == .cancelled else {
            throw TransferError(
                .taskWrongState,
                "Task \(id) is \(before.status.state.rawValue); only one that is not over has resume data.")
        }
        let transitions = transitions
        let outcome = try await stoppingRuns([id]) {
            let left = try await discardParts(of: [id], for: .cancel(keepPartial: true)).left
            return try await store.write { transaction -> TaskTransitions.Outcome? in
                guard let record = try transaction.task(id) else { throw Self.notFound(id) }
                guard record.status.state != .cancelled else { return nil }
                try transaction.note(left)
                return try transitions.apply(.cancel(keepPartial: true), to: record, in: transaction)
            }
        }
        if let outcome { log(outcome) }
        let record = try await record(id, for: peer)
        var data = ResumeData(
            url: URLRules.withoutUserInfo(record.spec.url ?? ""), destination: record.spec.destination ?? Destination(),
            checkpoint: record.checkpoint)
        data.mirrors = record.spec.mirrors?.map { URLRules.withoutUserInfo($0) }
        data.conflictPolicy = record.spec.conflictPolicy
        data.checksum = record.spec.checksum
        data.size = record.spec.size
        data.pieces = record.spec.pieces.flatMap { PackedDigests($0) }
        data.preserveTime = record.spec.preserveTime
        data.description = record.spec.description
        return try data.encoded()
    }
}

extension UpdateTask.Parameters {
    var changedFields: [String] {
        [
            ("priority", priority != nil), ("rateLimit", rateLimit != nil), ("url", url != nil),
            ("headers", headers != nil), ("description", description != nil),
            ("earliestBeginAt", earliestBeginAt != nil), ("position", position != nil),
        ].filter(\.1).map(\.0)
    }

    fileprivate func apply(to spec: inout TaskSpec) {
        spec.priority = priority ?? spec.priority
        spec.rateLimit = rateLimit ?? spec.rateLimit
        spec.url = url ?? spec.url
        spec.headers = headers ?? spec.headers
        spec.description = description ?? spec.description
        spec.earliestBeginAt = earliestBeginAt ?? spec.earliestBeginAt
    }

    fileprivate func store(
        over record: TaskRecord, _ transitions: TaskTransitions, at now: ClockReading,
        in transaction: StoreTransaction
    ) throws -> TaskRecord {
        guard !record.status.state.isFinal || (url == nil && headers == nil && earliestBeginAt == nil) else {
            throw TransferError(
                .taskWrongState, "Task \(record.id) is over; only its description, priority and limit can change.")
        }
        var spec = record.spec
        apply(to: &spec)
        let target = try URLRules.parse(spec.url ?? "")
        // Elsewhere it begins anew, and what was begun is told as it was reached.
        if record.upload?.belongs(to: target) == false { try transaction.endUpload(of: record, at: now.wall) }
        try transaction.setSpec(record.id, spec, host: target.hostKey)
        switch position {
        case .first: try transaction.setPosition(record.id, -Double(now.wall.rawValue))
        case .last: try transaction.setPosition(record.id, Double(now.wall.rawValue))
        case .at(let place): try transaction.setPosition(record.id, place)
        case nil: break
        }
        if let earliestBeginAt, [.queued, .running].contains(record.status.state), earliestBeginAt > now.wall {
            _ = try transitions.apply(
                .blocked(.schedule, nil, nextAttemptAt: earliestBeginAt), to: record.id, in: transaction)
        } else if let earliestBeginAt, record.status.state == .waiting, record.status.reason == .schedule {
            let queued = try transitions.apply(.conditionCleared, to: record.id, in: transaction)
            if earliestBeginAt > now.wall {
                _ = try transitions.apply(
                    .blocked(.schedule, nil, nextAttemptAt: earliestBeginAt), to: queued.record, in: transaction)
            }
        }
        _ = try transaction.append(
            EventRecord(
                time: now.wall, type: .taskUpdated, session: record.session, task: record.id,
                payload: ["fields": .array(changedFields.map { .string($0) })]))
        guard let updated = try transaction.task(record.id) else { throw Supervisor.notFound(record.id) }
        return updated
    }
}
