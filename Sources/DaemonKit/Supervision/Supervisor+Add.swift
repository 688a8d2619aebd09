import FoundationEssentials
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Admits tasks: everything that can be refused is refused here, before anything is stored.
extension Supervisor: TaskServing {
    package func add(_ specs: [TaskSpec], session identifier: String?, by peer: Peer) async throws -> [AddedTask] {
        guard !isStopping else {
            throw TransferError(.shuttingDown, "The daemon is stopping; try again in a moment.")
        }
        let key = SessionKey(owner: peer.uid, identifier: identifier ?? SessionKey.sharedIdentifier)
        let tokens = ClientTokens(owner: peer.uid, now: time.reading().wall)
        let (session, known) = try await store.read { snapshot in
            (try snapshot.session(key), try tokens.tasks(of: specs, in: snapshot))
        }
        // Whatever has become of their session meanwhile, and of the files that they name.
        if !known.isEmpty, known.count == specs.count { return specs.indices.compactMap { known[$0] } }
        if session == nil, key.identifier != SessionKey.sharedIdentifier {
            throw TransferError.noSession(key.identifier)
        }
        try Self.checkTakesTasks(session)
        let admission = Admission(
            owner: peer.uid, session: session ?? SessionRecord(key: key, createdAt: time.reading().wall),
            configuration: configuration(), files: files)
        let admitted = try await admission.admit(specs, except: Set(known.keys))
        // Before anything is stored: all or none.
        guard admitted.count + known.count == specs.count else {
            throw TransferError(
                .internal, "\(admitted.count) of \(specs.count) tasks were admitted; nothing was stored.")
        }
        // Also where the store is full: the alarms then look for room.
        defer { kick() }
        let added = try await insert(admitted, admission.session)
        try? await takeOverParts(admitted.indices.filter { admitted[$0].checkpoint != nil }.map { added[$0].id })
        var rest = added[...]
        return specs.indices.compactMap { known[$0] ?? rest.popFirst() }
    }

    /// Gives parts that came with resume data their tasks' names at once: under the old ones they would go with the tasks
    /// that had them. What fails here is left to the attempts, and tasks that run by now to their own.
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
        // Whoever gave them up meanwhile looked for the old names.
        await note(await files.discardParts(of: givenUp.map(\.record), at: time.reading().wall))
    }

    private static func checkTakesTasks(_ session: SessionRecord?) throws {
        guard let session, session.state != .active else { return }
        throw TransferError(
            .sessionInvalidated, "The session \"\(session.key.identifier)\" is ending and takes no more tasks.",
            details: ["session": .string(session.key.identifier)])
    }

    /// All or none, in one transaction; what a client token already added is returned as it stands.
    private func insert(_ tasks: [AdmittedTask], _ seen: SessionRecord) async throws -> [AddedTask] {
        let (key, now, transitions, storeID) = (seen.key, time.reading(), transitions, store.identifier)
        @Sendable func batch(_ configuration: SessionConfiguration) -> AddBatch {
            AddBatch(
                tasks, key: key, configuration: configuration, now: now, transitions: transitions, storeID: storeID)
        }
        let ready = batch(seen.configuration)
        return try await store.write { transaction in
            let session: SessionRecord
            if let known = try transaction.session(key) {
                session = known
            } else {
                session = SessionRecord(key: key, createdAt: now.wall)
                try transaction.insertSession(session)
            }
            // It may have been changed since it was read.
            let isCurrent = session.configuration == ready.configuration
            return try (isCurrent ? ready : batch(session.configuration)).store(in: transaction) {
                try Self.checkTakesTasks(session)
            }
        }
    }
}
