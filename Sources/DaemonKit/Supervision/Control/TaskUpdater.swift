import CurlEngine
import DaemonSetup
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Changes a task in place, or packs it into resume data.
struct TaskUpdater: TaskUpdating {
    let store: TransferStore
    let engine: any ExchangePerforming
    let files: TransferFiles
    let reader: TaskReader
    let stops: RunStops
    let moves: PartMoves
    let transitions: TaskTransitions
    let policies: TaskPolicies
    let rates: RateLimits
    let gates: Gatekeeper
    let leftParts: LeftParts
    let followUp: FollowUp
    let hsts: HSTSKeeper
    let configuration: @Sendable () -> Configuration
    let time: any TimeSource
    let signal: SupervisionSignal
    let logger: Logger

    func update(_ parameters: UpdateTask, by peer: Peer) async throws -> TaskRecord {
        let id = parameters.id
        let isMoving = try await moves.alone(id) { () async throws -> Bool in
            let known = try await reader.record(id, for: peer)
            try peer.require(
                owner: known.session.owner, toChange: parameters.changedFields, except: Self.fieldsOfAdministrators)
            let change = try await admitted(parameters, of: known)
            let changed = try await stored(change, over: known)
            // The host was held because of another request.
            if parameters.changesRequest, changed.status.state == .queued {
                _ = gates.tryNow(id, host: changed.host, owner: changed.session.owner)
            }
            return change.destination != nil
        }
        logger.info(
            "updated", metadata: ["task": "\(id)", "fields": "\(parameters.changedFields.joined(separator: ","))"])
        signal.changed()
        if parameters.changesConditions { signal.conditionsChanged() }
        // A copy to another file system may take longer than clients wait. It continues after the answer.
        if isMoving {
            await moves.finish(id, waitingAtMost: Self.patienceWithMoves)
            leftParts.sweepAgain()
        }
        return try await reader.record(id, for: peer)
    }

    private static let patienceWithMoves: Duration = .seconds(5)
    private static let fieldsOfAdministrators = SessionConfiguration.conditions.union([
        "priority", "rateLimit", "description", "earliestBeginAt", "deadlineAt", "position",
    ])

    /// Stores the change and puts a new rate limit in force. No run begins meanwhile: it would have the earlier limit.
    private func stored(_ change: TaskChange, over known: TaskRecord) async throws -> TaskRecord {
        guard change.parameters.rateLimit != nil else { return try await store(change, over: known) }
        return try await stops.holding([known.id]) {
            let changed = try await store(change, over: known)
            rates.apply(changed.spec.rateLimit ?? .unlimited, of: changed)
            return changed
        }
    }

    private func store(_ change: TaskChange, over known: TaskRecord) async throws -> TaskRecord {
        let (id, now, transitions) = (known.id, time.reading(), transitions)
        return try await stops.stopping(change.stopsRun(at: now.wall) ? [id] : []) {
            if change.destination != nil { try await requireUndelivered(id) }
            // Bytes that only the journal knows of could complete the file, and the new URL would not be asked.
            if change.parameters.url != nil { engine.journal?.forget(id) }
            return try await store.write { transaction in
                guard let record = try transaction.task(id) else { throw TransferError.noTask(id) }
                return try change.store(over: record, transitions, at: now, in: transaction)
            }
        }
    }

    /// Refuses everything that can be refused before anything stops or is stored.
    private func admitted(_ parameters: UpdateTask, of record: TaskRecord) async throws -> TaskChange {
        try parameters.requirePossible(for: record)
        let admission = try await admission(for: record)
        let spec = parameters.applied(to: record.spec)
        try await admission.check(spec, changedBy: parameters, of: record)
        let host = try parameters.url.map { admission.host(of: try URLRules.parse($0)) }
        guard let wanted = parameters.destination else {
            return TaskChange(parameters: parameters, destination: nil, host: host)
        }
        let present = try DestinationPlan(record.spec.destination)
        var destination = wanted.completed(by: present)
        if wanted.path == nil, wanted.directory == nil { destination.isDefault = record.spec.destination?.isDefault }
        let plan = try DestinationPlan(destination)
        let device = try await files.admit(plan, owner: record.session.owner, field: "destination")
        return TaskChange(
            parameters: parameters,
            destination: plan == present && destination.isDefault == record.spec.destination?.isDefault
                ? nil : (destination, device),
            host: host)
    }

    private func admission(for record: TaskRecord) async throws -> Admission {
        let session = try await store.read { try $0.session(record.session) }
        let known = session ?? SessionRecord(key: record.session, createdAt: time.reading().wall)
        return Admission(
            owner: record.session.owner, session: known, configuration: configuration(), files: files,
            hsts: hsts.hosts(of: known))
    }

    /// A daemon that died between a delivery and its record left the file under its final name. The next run finds it
    /// there.
    /// - Throws: `task.wrong_state` if the file is there.
    private func requireUndelivered(_ id: TaskID) async throws {
        guard let known = try await store.read({ try $0.task(id) }), TaskHead(known).mayHavePart,
            let session = try await store.read({ try $0.session(known.session) })
        else { return }
        // The next attempt will search in the same way.
        var record = known
        record.status.attempts += 1
        let plan = try DestinationPlan(record.spec.destination)
        guard let folder = try? await files.open(plan, for: record),
            let file = try? await files.alreadyDelivered(
                plan, folder, record, policies.policy(of: record, in: session))?.file
        else { return }
        throw TransferError(
            .taskWrongState, "Task \(id) has its file already as \(file); let it run to complete it.",
            details: ["path": .string(file)])
    }

    func resumeData(_ id: TaskID, by peer: Peer) async throws -> String {
        let before = try await reader.record(id, for: peer)
        guard before.spec.kind == .download else {
            throw TransferError(
                .taskWrongState, "Task \(id) is not a download; only downloads have resume data. Pause it instead.")
        }
        try Self.requireResumable(before)
        try Self.requireKept(before)
        if let outcome = try await cancelKeepingPart(id) { followUp.log(outcome) }
        // Resume data names a part file next to its destination.
        try await moves.finishNow(id)
        let record = try await reader.record(id, for: peer)
        try Self.requireResumable(record)
        return ResumeData(of: record).encoded()
    }

    /// Cancels a task that has not ended. A run that cannot be stopped any more delivers its file first.
    /// - Throws: `task.wrong_state` if the file is there.
    private func cancelKeepingPart(_ id: TaskID) async throws -> TaskTransitions.Outcome? {
        let transitions = transitions
        return try await stops.stopping([id]) {
            if let record = try await store.read({ try $0.task(id) }), !record.status.state.isFinal {
                try await requireUndelivered(id)
            }
            let left = try await leftParts.discardParts(of: [id], for: .cancel(keepPartial: true)).left
            let outcome = try await store.write { transaction -> TaskTransitions.Outcome? in
                guard let record = try transaction.task(id) else { throw TransferError.noTask(id) }
                try Self.requireResumable(record)
                try Self.requireKept(record)
                try transaction.note(left)
                guard !record.status.state.isFinal else { return nil }
                return try transitions.apply(.cancel(keepPartial: true), to: record, in: transaction)
            }
            leftParts.didNote(left)
            return outcome
        }
    }

    private static func requireKept(_ record: TaskRecord) throws(TransferError) {
        guard record.status.state != .cancelled || record.checkpoint != nil else {
            throw TransferError(
                .taskWrongState,
                "Task \(record.id) was cancelled, and none of its bytes are kept; add it anew, or use task.retry. "
                    + "task.cancel keeps them with keepPartial.")
        }
    }

    private static func requireResumable(_ record: TaskRecord) throws(TransferError) {
        guard record.status.state != .completed else {
            throw TransferError(.taskWrongState, "Task \(record.id) is completed; there is nothing to resume.")
        }
    }
}

extension Destination {
    /// Missing values stay as they were.
    fileprivate func completed(by present: DestinationPlan) -> Destination {
        guard path == nil else { return self }
        return Destination(directory: directory ?? present.folder, filename: filename ?? present.name)
    }
}

extension ResumeData {
    fileprivate init(of record: TaskRecord) {
        let spec = record.spec
        self.init(
            url: URLRules.withoutUserInfo(spec.url ?? ""), destination: spec.destination ?? Destination(),
            checkpoint: record.checkpoint)
        mirrors = spec.mirrors?.map { URLRules.withoutUserInfo($0) }
        conflictPolicy = spec.conflictPolicy
        checksum = spec.checksum
        size = spec.size
        pieces = spec.pieces.flatMap { PackedDigests($0) }
        preserveTime = spec.preserveTime
        description = spec.description
    }
}
