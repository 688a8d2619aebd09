import FoundationEssentials
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Admits tasks: everything that can be refused is refused here, before anything is stored.
extension Supervisor: TaskServing {
    package func add(_ specs: [TaskSpec], session identifier: String?, by peer: Peer) async throws -> [TaskRecord] {
        guard !isStopping else {
            throw TransferError(.shuttingDown, "The daemon is stopping; try again in a moment.")
        }
        let key = SessionKey(owner: peer.uid, identifier: identifier ?? SessionKey.sharedIdentifier)
        let session = try await store.read { try $0.session(key) }
        if session == nil, key.identifier != SessionKey.sharedIdentifier { throw Self.noSession(key.identifier) }
        try Self.checkTakesTasks(session)
        var admission = Admission(
            owner: peer.uid, session: session ?? SessionRecord(key: key, createdAt: time.reading().wall),
            configuration: configuration(), files: files)
        var admitted: [AdmittedTask] = []
        admitted.reserveCapacity(specs.count)
        for (index, spec) in specs.enumerated() {
            admitted.append(try await admission.admit(spec, path: "tasks[\(index)]"))
        }
        // Also where the store is full: the alarms then look for room.
        defer { kick() }
        return try await insert(admitted, key)
    }

    private static func checkTakesTasks(_ session: SessionRecord?) throws {
        guard let session, session.state != .active else { return }
        throw TransferError(
            .sessionInvalidated, "The session \"\(session.key.identifier)\" is ending and takes no more tasks.",
            details: ["session": .string(session.key.identifier)])
    }

    /// All or none, in one transaction; what a client token already added is returned as it stands.
    private func insert(_ tasks: [AdmittedTask], _ key: SessionKey) async throws -> [TaskRecord] {
        let now = time.reading()
        let transitions = transitions
        let storeID = store.identifier
        return try await store.write { transaction in
            let session: SessionRecord
            if let known = try transaction.session(key) {
                try Self.checkTakesTasks(known)
                session = known
            } else {
                session = SessionRecord(key: key, createdAt: now.wall)
                try transaction.insertSession(session)
            }
            let horizon = now.wall.advanced(by: Seconds(-Self.tokenLifetime))
            return try tasks.map { task in
                if let token = task.spec.clientToken,
                    let known = try transaction.taskID(clientToken: token, owner: key.owner, notBefore: horizon),
                    let record = try transaction.task(known)
                {
                    return record
                }
                return try Self.insert(task, session.configuration, key, now, transitions, storeID, in: transaction)
            }
        }
    }

    /// Seconds for which a client token makes adds idempotent.
    static let tokenLifetime: Double = 86400

    /// A part that came with resume data changes hands: the task that had it forgets it, so that no two tasks ever
    /// write to one file or take one delivery for theirs. One that is at work again keeps it.
    private static func handedOver(
        _ checkpoint: Checkpoint?, of storeID: String, in transaction: StoreTransaction
    ) throws -> Checkpoint? {
        guard let checkpoint,
            let holder = PartName.task(of: TransferFiles.lastComponent(checkpoint.partPath), store: storeID),
            let record = try transaction.task(holder), let held = record.checkpoint,
            held.device == checkpoint.device, held.inode == checkpoint.inode
        else { return checkpoint }
        guard record.status.state.isFinal else { return nil }
        try transaction.setCheckpoint(holder, nil)
        return checkpoint
    }

    private static func insert(
        _ task: AdmittedTask, _ session: SessionConfiguration, _ key: SessionKey, _ now: ClockReading,
        _ transitions: TaskTransitions, _ storeID: String, in transaction: StoreTransaction
    ) throws -> TaskRecord {
        let (status, effects) = TaskMachine.added(
            startPaused: task.spec.startPaused ?? false, earliestBeginAt: task.spec.earliestBeginAt, at: now)
        var new = NewTask(session: key, spec: task.spec, status: status, host: task.host)
        new.destinationDevice = task.destinationDevice
        new.checkpoint = try handedOver(task.checkpoint, of: storeID, in: transaction)
        new.source = task.source
        new.requestBody = task.requestBody
        new.resourceTimeoutAt = transitions.expiry(of: task.spec, status, session, at: now)
        let record = try transaction.insert(new)
        for case .publish(let type, let payload) in effects {
            _ = try transaction.append(
                EventRecord(time: now.wall, type: type, session: key, task: record.id, payload: payload))
        }
        return record
    }
}
