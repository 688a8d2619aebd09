import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Sessions: opened by attaching, changed while their tasks run, ended with them.
extension Supervisor: SessionServing {
    package func open(
        _ key: SessionKey, configuration: SessionConfiguration?, by peer: Peer
    ) async throws -> SessionRecord {
        if let configuration { try await check(configuration, of: key.owner) }
        let now = time.reading().wall
        let launches = launches
        let session = try await store.write { transaction in
            let known = try transaction.session(key)
            var session = known ?? SessionRecord(key: key, createdAt: now)
            let reopens = session.state == .invalidated
            if reopens { session.state = .active }
            if let configuration {
                session.configuration = session.configuration.changed(by: configuration)
                try launches.check(session.configuration)
            }
            if known == nil {
                try transaction.insertSession(session)
            } else if reopens || configuration != nil {
                try transaction.updateSession(session)
            }
            if known == nil || reopens {
                _ = try transaction.append(EventRecord(time: now, type: .sessionOpened, session: key))
            }
            return session
        }
        applyRateLimit(of: session)
        if configuration?.namesSchedule ?? false { try await reconsiderSchedules(of: key, at: now) }
        kick()
        return session
    }

    /// What it says, and the files and the folder that it names: as if a task named them.
    private func check(_ configuration: SessionConfiguration, of owner: UserID) async throws {
        try SpecRules(path: "configuration").check(configuration)
        let certificate = configuration.clientCertificate
        let named = [
            ("caFile", configuration.caFile), ("clientCertificate.certificate", certificate?.certificate),
            ("clientCertificate.key", certificate?.key),
        ]
        try await files.checkReadable(
            named.compactMap { field, path in path.map { ("configuration.\(field)", $0) } }, owner: owner)
        guard let directory = configuration.directory else { return }
        let plan = try DestinationPlan(Destination(directory: directory), directory: nil)
        _ = try await files.admit(plan, owner: owner, field: "configuration.directory")
    }

    package func finish(_ key: SessionKey) async throws -> SessionRecord {
        try await end(key)
    }

    package func invalidate(_ key: SessionKey) async throws -> SessionRecord {
        _ = try await end(key)
        _ = try await control(
            .cancel(keepPartial: false),
            ControlTarget(scope: .session(key.identifier), owner: .user(key.owner)))
        return try await end(key)
    }

    /// Takes no more tasks; a session without unfinished ones is over at once.
    private func end(_ key: SessionKey) async throws -> SessionRecord {
        guard key.identifier != SessionKey.sharedIdentifier else {
            throw TransferError(.badField, "id: the session \"shared\" always exists; cancel its tasks instead.")
        }
        let transitions = transitions
        let now = time.reading().wall
        return try await store.write { transaction in
            guard var session = try transaction.session(key) else { throw TransferError.noSession(key.identifier) }
            guard session.state == .active else { return session }
            session.state = .finishing
            try transaction.updateSession(session)
            guard try !transaction.hasUnfinishedTasks(key) else { return session }
            try transitions.endSession(session, at: now, in: transaction)
            session.state = .invalidated
            return session
        }
    }
}

extension SessionConfiguration {
    /// Whether a change sets or unsets the time windows.
    fileprivate var namesSchedule: Bool { schedule != nil || cleared.contains(.schedule) }
}
