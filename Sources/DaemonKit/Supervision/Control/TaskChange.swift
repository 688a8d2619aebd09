import FileKit
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// A change that `task.update` makes to one task, after everything that it names was checked.
struct TaskChange: Sendable {
    typealias MovedDestination = (destination: Destination, device: UInt64?)

    let parameters: UpdateTask
    /// The new destination of the file.
    let destination: MovedDestination?
    /// The server of the new URL; nil if the URL stays.
    var host: String?

    /// Tells whether the change requires a run of the task to stop.
    func stopsRun(at now: Timestamp) -> Bool {
        parameters.changesRequest || destination != nil || parameters.conflictPolicy != nil
            || parameters.earliestBeginAt.map { $0 > now } ?? false
    }

    // MARK: What the task asks for

    func applied(to spec: TaskSpec) -> TaskSpec {
        var spec = parameters.applied(to: spec)
        if let destination { spec.destination = destination.destination }
        return spec
    }

    // MARK: What is stored

    /// - Returns: the changed task.
    /// - Throws: `task.wrong_state`, and what the store throws.
    func store(
        over record: TaskRecord, _ transitions: TaskTransitions, at now: ClockReading, in transaction: StoreTransaction
    ) throws -> TaskRecord {
        try parameters.requirePossible(for: record)
        let spec = applied(to: record.spec)
        let target = try URLRules.parse(spec.url ?? "")
        // At another URL, an upload starts over. The unfinished one is ended at its server.
        if let upload = record.upload {
            try follow(upload, of: record, spec, target, at: now.wall, in: transaction)
        } else if parameters.s3 != nil {
            // The change may be the first to specify how the upload is ended.
            try transaction.setUpload(record.id, spec.s3Progress(of: record.source, at: now.wall))
        }
        if let held = record.checkpoint, let named = Mirrors.renamed(held, from: record.spec, to: spec) {
            try transaction.setCheckpoint(record.id, named)
        }
        try transaction.setSpec(record.id, spec, host: host ?? record.host)
        if let destination {
            try Self.move(record, to: destination, at: now.wall, transitions.storeID, in: transaction)
        }
        try parameters.storePosition(of: record.id, at: now.wall, in: transaction)
        try changeState(of: record, transitions, at: now, in: transaction)
        _ = try transaction.append(
            EventRecord(
                time: now.wall, type: .taskUpdated, session: record.session, task: record.id,
                payload: ["fields": .array(parameters.changedFields.map { .string($0) })]))
        guard let updated = try transaction.task(record.id) else { throw TransferError.noTask(record.id) }
        return updated
    }

    private func follow(
        _ upload: UploadProgress, of record: TaskRecord, _ spec: TaskSpec, _ target: ParsedURL, at now: Timestamp,
        in transaction: StoreTransaction
    ) throws {
        var isSame = true
        if let new = parameters.s3, let old = record.spec.s3 {
            isSame = new.isSameUpload(as: old)
            // Parts of another size have other offsets, and replace those at the server.
            if isSame, new.partSize != old.partSize { try transaction.setUpload(record.id, nil) }
        }
        // Parts are sent to the URLs in `s3`, whatever the task's URL is.
        let isOfS3 = upload.uploadProtocol == .s3Multipart && spec.s3 != nil
        if isSame, isOfS3 {
            if let known = try transaction.task(record.id)?.upload {
                try transaction.setUpload(record.id, known.begun(at: target))
            }
        } else if !isSame || !upload.belongs(to: target) {
            try transaction.endUpload(of: record, at: now)
            if parameters.s3 != nil { try transaction.setUpload(record.id, nil) }
        }
        if parameters.s3 != nil, try transaction.task(record.id)?.upload == nil {
            try transaction.setUpload(record.id, spec.s3Progress(of: record.source, at: now))
        }
    }

    /// Gives the part file its new destination. The names that it has or may have are stored in the same commit, so
    /// that they are removed even if the daemon dies before the part file has moved.
    static func move(
        _ record: TaskRecord, to moved: MovedDestination, at now: Timestamp, _ storeID: String,
        in transaction: StoreTransaction
    ) throws {
        try transaction.setDestinationDevice(record.id, moved.device)
        var changed = record
        changed.spec.destination = moved.destination
        changed.checkpoint = nil
        let wanted = LeftPart.all(of: changed, in: storeID, at: now)
        try transaction.forget(wanted)
        guard TaskHead(record).mayHavePart else { return }
        let paths = Set(wanted.map(\.path))
        try transaction.note(LeftPart.all(of: record, in: storeID, at: now).filter { !paths.contains($0.path) })
    }

    private func changeState(
        of record: TaskRecord, _ transitions: TaskTransitions, at now: ClockReading, in transaction: StoreTransaction
    ) throws {
        let before = record.status
        guard !before.state.isFinal else { return }
        if parameters.changesRequest {
            _ = try transitions.apply(.retargeted, to: record.id, in: transaction)
        } else if destination != nil && before.waitsForDisk
            || parameters.changesConditions && before.reason?.isOfMachine == true
        {
            _ = try transitions.apply(.conditionCleared, to: record.id, in: transaction)
        }
        guard let begin = parameters.earliestBeginAt, let status = try transaction.status(of: record.id) else { return }
        if status.state == .waiting, status.reason == .schedule {
            _ = try transitions.apply(.conditionCleared, to: record.id, in: transaction)
        } else if ![.queued, .running].contains(status.state) {
            return
        }
        guard begin > now.wall else { return }
        _ = try transitions.apply(.blocked(.schedule, nil, nextAttemptAt: begin), to: record.id, in: transaction)
    }
}

extension TaskStatus {
    /// Whether the task waits for its disk, also for a disk that failed but looks healthy.
    fileprivate var waitsForDisk: Bool {
        guard state == .waiting, let reason else { return false }
        return reason == .disk
            || reason == .retry && error.map { [.diskFull, .diskQuota, .diskIO].contains($0.code) } ?? false
    }
}

extension UpdateTask {
    /// The spec with every change except that of the destination.
    func applied(to spec: TaskSpec) -> TaskSpec {
        var spec = spec
        spec.priority = priority ?? spec.priority
        spec.rateLimit = rateLimit ?? spec.rateLimit
        spec.url = url ?? spec.url
        spec.s3 = s3 ?? spec.s3
        if let mirrors { spec.mirrors = mirrors.isEmpty ? nil : mirrors }
        if let headers { spec.headers = headers.isEmpty ? nil : headers }
        if changesCredentials {
            if username != nil || password == nil { spec.username = username }
            spec.password = password
            spec.bearer = bearer
            spec.netrc = netrc
        }
        spec.proxy = proxy ?? spec.proxy
        spec.interface = interface ?? spec.interface
        spec.caFile = caFile ?? spec.caFile
        spec.checksum = checksum ?? spec.checksum
        spec.conflictPolicy = conflictPolicy ?? spec.conflictPolicy
        spec.description = description ?? spec.description
        if let attributes { spec.attributes = attributes.isEmpty ? nil : attributes }
        spec.earliestBeginAt = earliestBeginAt ?? spec.earliestBeginAt
        spec.deadlineAt = deadlineAt ?? spec.deadlineAt
        spec.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess ?? spec.allowsExpensiveNetworkAccess
        spec.allowsCellularAccess = allowsCellularAccess ?? spec.allowsCellularAccess
        spec.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess ?? spec.allowsConstrainedNetworkAccess
        spec.isDiscretionary = isDiscretionary ?? spec.isDiscretionary
        return spec
    }

    /// - Throws: `task.wrong_state` if the task has ended and the change would have no effect.
    func requirePossible(for record: TaskRecord) throws(TransferError) {
        let (id, state) = (record.id, record.status.state)
        let isOfTransfer = changesRequest || destination != nil || conflictPolicy != nil || deadlineAt != nil
        guard state != .completed || !(isOfTransfer || earliestBeginAt != nil) else {
            throw TransferError(
                .taskWrongState,
                "Task \(id) is completed; only its description, attributes, priority, rateLimit and position can change.",
                details: ["state": .string(state.rawValue)])
        }
        guard !state.isFinal || earliestBeginAt == nil && !changesConditions else {
            throw TransferError(
                .taskWrongState, "Task \(id) is \(state.rawValue); retry it first, then say when it may run.",
                details: ["state": .string(state.rawValue)])
        }
    }

    fileprivate func storePosition(of id: TaskID, at now: Timestamp, in transaction: StoreTransaction) throws {
        switch position {
        case .first: try transaction.setPosition(id, try transaction.outermostPosition(of: id, isLast: false, at: now))
        case .last: try transaction.setPosition(id, try transaction.outermostPosition(of: id, isLast: true, at: now))
        case .at(let place): try transaction.setPosition(id, place)
        case nil: break
        }
    }
}
