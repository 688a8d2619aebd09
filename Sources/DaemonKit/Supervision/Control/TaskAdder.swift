import DaemonSetup
import FoundationEssentials
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Admits tasks and stores them. Everything that can be refused is refused before anything is stored.
struct TaskAdder: TaskAdding {
    let store: TransferStore
    let files: TransferFiles
    let runs: RunTable
    let transitions: TaskTransitions
    let leftParts: LeftParts
    let followUp: FollowUp
    /// nil if no task of the store has a cache.
    let answers: EarlyAnswers?
    let hsts: HSTSKeeper
    let configuration: @Sendable () -> Configuration
    let time: any TimeSource
    let signal: SupervisionSignal

    func add(_ specs: [TaskSpec], session identifier: String?, by peer: Peer) async throws -> [AddedTask] {
        guard !signal.isStopped else {
            throw TransferError(.shuttingDown, "The daemon is stopping; try again in a moment.")
        }
        let key = SessionKey(owner: peer.uid, identifier: identifier ?? SessionKey.sharedIdentifier)
        let tokens = try ClientTokens(specs, of: key, now: time.reading().wall)
        let downloads = specs.indices.filter { specs[$0].kind == .download && specs[$0].url != nil }
        let (session, known, queued) = try await store.read { snapshot in
            let queued = try snapshot.queued(urls: downloads.compactMap { specs[$0].url }, in: key)
            return (
                try snapshot.session(key), try tokens.tasks(of: specs, in: snapshot),
                Dictionary(uniqueKeysWithValues: queued.map { (downloads[$0.key], $0.value) })
            )
        }
        // Whatever has happened since to their session and to the files that they name.
        if !known.isEmpty, known.count == specs.count { return specs.indices.compactMap { known[$0] } }
        if session == nil, key.identifier != SessionKey.sharedIdentifier {
            throw TransferError.noSession(key.identifier)
        }
        try Self.checkTakesTasks(session)
        let record = session ?? SessionRecord(key: key, createdAt: time.reading().wall)
        let admission = Admission(
            owner: peer.uid, session: record, configuration: configuration(), files: files,
            answers: answers?.answers(in: record), hsts: hsts.hosts(of: record))
        let admitted = try await admission.admit(specs, except: Set(known.keys))
        // Checked before anything is stored: all or none.
        guard admitted.count + known.count == specs.count else {
            throw TransferError(
                .internal, "\(admitted.count) of \(specs.count) tasks were admitted; nothing was stored.")
        }
        let added: [AddedTask]
        var (isDueSoon, mayRun) = (true, true)
        // If the store is full, the alarms look for room.
        defer { if isDueSoon { signal.changed() } else if mayRun { signal.queueChanged() } }
        let earliest: Timestamp?
        (added, earliest) = try await insert(admitted, admission.session, tokens)
        // The alarms look again by themselves before anything later is due.
        isDueSoon = earliest.map { $0 <= time.reading().wall.advanced(by: Alarms.longestSleep) } ?? false
        mayRun = added.contains { !$0.state.isFinal }
        for task in added where task.state == .completed && !task.isExisting {
            followUp.logger.debug("completed from the cache", metadata: ["task": "\(task.id)"])
        }
        try? await takeOverParts(admitted.indices.filter { admitted[$0].checkpoint != nil }.map { added[$0].id })
        var rest = added[...]
        let all = specs.indices.compactMap { known[$0] ?? rest.popFirst() }
        return Self.naming(queued, in: all, downloads.filter { known[$0] == nil }, specs)
    }

    /// Notes which tasks have the URL of a task that is already queued, or of an earlier task in the same call.
    private static func naming(
        _ queued: [Int: TaskID], in added: [AddedTask], _ downloads: [Int], _ specs: [TaskSpec]
    ) -> [AddedTask] {
        var added = added
        var first: [String: TaskID] = [:]
        first.reserveCapacity(downloads.count)
        for index in downloads {
            guard let url = specs[index].url else { continue }
            let earlier = queued[index] ?? first[url]
            if earlier == nil { first[url] = added[index].id }
            // A client token may mean that very task.
            if earlier != added[index].id { added[index].duplicateOf = earlier }
        }
        return added
    }

    /// Renames part files named by resume data at once. Under the old names, they would be removed together with the
    /// tasks that had them. If this fails, an attempt does it; a running task does it itself.
    private func takeOverParts(_ ids: [TaskID]) async throws {
        guard !ids.isEmpty else { return }
        await runs.claims.hold(ids)
        defer { runs.claims.release(ids) }
        let waiting = ids.filter { runs[$0] == nil }
        var taken: [(record: TaskRecord, part: Checkpoint)] = []
        for record in try await store.read({ try $0.tasks(waiting) }) {
            guard let held = record.checkpoint, let part = try? await files.takenOver(held, for: record) else {
                continue
            }
            if part != held { taken.append((record, part)) }
        }
        guard !taken.isEmpty else { return }
        let moved = taken
        let givenUp = try await store.write { transaction in
            try moved.filter { record, part in
                guard try transaction.task(record.id)?.checkpoint == record.checkpoint else { return true }
                try transaction.setCheckpoint(record.id, part)
                return false
            }
        }
        // If a task was given up meanwhile, only the old name was searched for.
        await leftParts.note(await files.discardParts(of: givenUp.map(\.record), at: time.reading().wall))
    }

    private static func checkTakesTasks(_ session: SessionRecord?) throws {
        guard let session, session.state != .active else { return }
        let state = session.state == .invalidated ? "was invalidated" : "is ending"
        throw TransferError(
            .sessionInvalidated, "The session \"\(session.key.identifier)\" \(state) and takes no more tasks.",
            details: ["session": .string(session.key.identifier)])
    }

    /// Inserts all tasks or none, in one transaction. A task that a client token has already added is returned as it
    /// is.
    /// - Returns: the tasks, and the earliest time at which one of them is due; nil if none ever is.
    private func insert(
        _ tasks: [AdmittedTask], _ seen: SessionRecord, _ tokens: ClientTokens
    ) async throws -> (tasks: [AddedTask], earliestTime: Timestamp?) {
        let (key, now, transitions) = (seen.key, time.reading(), transitions)
        @Sendable func batch(_ configuration: SessionConfiguration, answering: Bool) -> AddBatch {
            AddBatch(
                tasks, key: key, tokens: tokens, configuration: configuration, now: now, transitions: transitions,
                answering: answering)
        }
        let ready = batch(seen.configuration, answering: true)
        let isLate = tasks.contains { $0.spec.deadlineAt.map { $0 <= now.wall } ?? false }
        let (added, late) = try await store.write { transaction in
            let session: SessionRecord
            if let known = try transaction.session(key) {
                session = known
            } else {
                session = SessionRecord(key: key, createdAt: now.wall)
                try transaction.insertSession(session)
            }
            // The session may have been changed or paused since it was read.
            let isCurrent = try session.configuration == ready.configuration && ready.mayAnswer(in: transaction)
            let fitting = isCurrent ? ready : batch(session.configuration, answering: false)
            let added = try fitting.store(in: transaction) {
                try Self.checkTakesTasks(session)
            }
            guard isLate else { return (added, [TaskTransitions.Outcome]()) }
            return try Self.failLate(added, transitions, at: now.wall, in: transaction)
        }
        if !late.isEmpty { Task { await followUp.follow(late) } }
        return (added, ready.earliestTime)
    }

    /// A new task whose deadline has passed ends before any request is sent.
    private static func failLate(
        _ added: [AddedTask], _ transitions: TaskTransitions, at now: Timestamp, in transaction: StoreTransaction
    ) throws -> ([AddedTask], [TaskTransitions.Outcome]) {
        var (added, outcomes) = (added, [TaskTransitions.Outcome]())
        var states: [TaskID: TaskState] = [:]
        for index in added.indices where !added[index].isExisting {
            guard let record = try transaction.task(added[index].id), !record.status.state.isFinal,
                record.spec.deadlineAt.map({ $0 <= now }) ?? false
            else { continue }
            let outcome = try transitions.apply(.deadlinePassed, to: record, in: transaction)
            states[added[index].id] = outcome.record.status.state
            outcomes.append(outcome)
        }
        // This includes entries that repeat the token of an earlier one.
        for index in added.indices { added[index].state = states[added[index].id] ?? added[index].state }
        return (added, outcomes)
    }
}
