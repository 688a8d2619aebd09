import Logging
import Threading
import TransferModel
import TransferRPC
import TransferStore

/// The connection that each volatile session is bound to.
package final class SessionBindings: Sendable {
    private struct Binding {
        var sink: any EventSink
        /// The session's tasks are being removed.
        var isEnding = false
    }

    private let bindings = Guarded<[SessionKey: Binding]>([:])

    package init() {}

    /// nil for a session that is not bound.
    package func connection(of session: SessionKey) -> Int? { sink(of: session)?.id }

    /// The sink of that connection.
    func sink(of session: SessionKey) -> (any EventSink)? { bindings.withLock { $0[session]?.sink } }

    /// Tells whether the session is bound and does not end yet.
    func isActive(_ session: SessionKey) -> Bool { bindings.withLock { $0[session]?.isEnding == false } }

    /// - Returns: whether the session was unbound before.
    /// - Throws: `session.in_use`; `limit.reached` for one session too many.
    fileprivate func bind(_ session: SessionKey, to sink: any EventSink) throws -> Bool {
        try bindings.withLock { bindings in
            if let known = bindings[session] {
                guard known.sink.id == sink.id, !known.isEnding else {
                    throw TransferError.sessionInUse(session.identifier)
                }
                return false
            }
            guard bindings.keys.count(where: { $0.owner == session.owner }) < Bounds.sessions else {
                throw TransferError(
                    .limitReached,
                    "One user has at most \(Bounds.sessions) volatile sessions; close a connection that has some.")
            }
            bindings[session] = Binding(sink: sink)
            return true
        }
    }

    /// The identifiers of a connection's sessions.
    fileprivate func sessions(of connection: Int) -> [String] {
        bindings.withLock { $0.filter { $1.sink.id == connection }.map(\.key.identifier) }
    }

    /// Whether the session belongs to another connection that is closed or sends no more requests.
    fileprivate func isLeft(_ session: SessionKey, by connection: any EventSink) -> Bool {
        guard let known = bindings.withLock({ $0[session] }), known.sink.id != connection.id else { return false }
        return known.isEnding || known.sink.isLeaving
    }

    /// Marks the sessions of one connection, or all of them, as ending. Each session is returned only once.
    fileprivate func beginEnding(of connection: Int?) -> [SessionKey] {
        bindings.withLock { bindings in
            let found = bindings.filter { session, binding in
                !binding.isEnding && (connection == nil || binding.sink.id == connection)
            }.map(\.key)
            for session in found { bindings[session]?.isEnding = true }
            return found
        }
    }

    /// Whether the session of this connection ends already.
    fileprivate func isEnding(_ session: SessionKey, of connection: Int) -> Bool {
        bindings.withLock { $0[session].map { $0.sink.id == connection && $0.isEnding } ?? false }
    }

    /// Releases a session that could not be opened, unless it ends already or is another connection's by now.
    fileprivate func abandon(_ session: SessionKey, of connection: Int) {
        bindings.withLock { bindings in
            guard let known = bindings[session], known.sink.id == connection, !known.isEnding else { return }
            bindings[session] = nil
        }
    }

    fileprivate func release(_ session: SessionKey) { bindings.withLock { $0[session] = nil } }
}

/// Sessions that live as long as the connection that opened them, and the services for their tasks.
package final class VolatileSessions: Sendable {
    package let services: TaskServices
    package let streams: BodyStreams
    private let bindings: SessionBindings
    private let logger: Logger

    /// - Parameters:
    ///   - services: the services of a store in memory.
    ///   - streams: the streams of its tasks.
    package init(services: TaskServices, streams: BodyStreams, bindings: SessionBindings, logger: Logger) {
        self.services = services
        self.streams = streams
        self.bindings = bindings
        self.logger = logger
    }

    /// Tells whether the session is volatile and belongs to this connection.
    /// - Throws: `session.in_use` if it belongs to another connection.
    func owns(_ session: SessionKey, _ connection: Int) throws(TransferError) -> Bool {
        guard let known = bindings.connection(of: session) else { return false }
        guard known == connection else { throw .sessionInUse(session.identifier) }
        return true
    }

    /// Returns the identifiers of the connection's sessions, sorted; none if `scope` leaves out their owner.
    func own(_ context: RequestContext, in scope: OwnerScope) -> [String] {
        scope.includes(context.peer.uid) ? bindings.sessions(of: context.connection.id).sorted() : []
    }

    /// Waits until a session whose client is gone has ended. Clients cannot know themselves when its name is free.
    func waitForEnd(of session: SessionKey, by connection: any EventSink) async {
        let deadline = ContinuousClock.now + Self.longestEnd
        var pause = Duration.milliseconds(10)
        while bindings.isLeft(session, by: connection), !connection.isClosed, .now < deadline {
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            pause = min(pause * 2, .milliseconds(320))
        }
    }

    private static let longestEnd: Duration = .seconds(10)

    /// Returns those of `tasks` that are volatile tasks of the connection.
    func visible(_ tasks: [TaskID], to connection: Int) async throws -> Set<TaskID> {
        let volatile = tasks.filter(\.isVolatile)
        guard !volatile.isEmpty else { return [] }
        let heads = try await services.store.read { try $0.heads(volatile) }
        return Set(heads.filter { bindings.connection(of: $0.session) == connection }.map(\.id))
    }

    /// Returns the open questions of the connection's volatile tasks.
    func decisions(
        _ session: String?, _ tasks: [TaskID]?, _ context: RequestContext
    ) async throws -> (decisions: [DecisionView], isCut: Bool) {
        let own = bindings.sessions(of: context.connection.id).filter { session == nil || session == $0 }
        guard !own.isEmpty else { return ([], false) }
        return try await services.decisions.list(
            owner: context.peer.uid, sessions: own, tasks: tasks, for: context.peer)
    }

    /// Tells whether the question belongs to a volatile task of the connection.
    func owns(_ decision: DecisionID, _ context: RequestContext) async throws -> Bool {
        let record = try await services.store.read { try $0.decision(decision) }
        return record.map { bindings.connection(of: $0.session) == context.connection.id } ?? false
    }

    /// Opens the session, or attaches to it, and binds it to the connection.
    /// - Throws: `session.in_use`, `limit.reached`, `request.bad_field`; what `SessionServing.open` throws.
    package func open(
        _ key: SessionKey, _ kind: SessionKind?, _ configuration: SessionConfiguration?, by peer: Peer,
        on connection: any EventSink
    ) async throws -> SessionRecord {
        try Self.check(key, configuration, peer)
        let isNew = try bindings.bind(key, to: connection)
        do {
            let known = try await services.store.read { try $0.session(key) }
            if let known, let kind, known.state != .invalidated, known.kind != kind {
                throw Self.badKind("the session \"\(key.identifier)\" is of kind `\(known.kind.rawValue)`.")
            }
            let asked = kind ?? known?.kind ?? .default
            if asked == .ephemeral, configuration?.httpCookieStorage == .shared {
                let field = "configuration.httpCookieStorage"
                throw TransferError.bad(
                    field, "an ephemeral session keeps nothing on a disk; say session, task or none.")
            }
            let session = try await services.sessions.open(
                key, kind: asked, configuration: configuration, by: peer)
            // The client may have gone before `closed` could find its session.
            if connection.isClosed {
                // `closed` may have looked before the session was there.
                while bindings.isEnding(key, of: connection.id) { try await Task.sleep(for: .milliseconds(10)) }
                _ = try bindings.bind(key, to: connection)
                closed(connection.id)
            }
            return session
        } catch {
            if isNew { bindings.abandon(key, of: connection.id) }
            throw error
        }
    }

    static func badKind(_ why: String) -> TransferError {
        TransferError.bad("kind", why)
    }

    private static func check(
        _ key: SessionKey, _ configuration: SessionConfiguration?, _ peer: Peer
    ) throws(TransferError) {
        guard key.owner == peer.uid else {
            throw TransferError.bad("owner", "a volatile session belongs to the user whose connection opens it.")
        }
        let durable: [(name: String, isGiven: Bool)] = [
            ("subscriber", configuration?.subscriber != nil), ("launch", configuration?.launch != nil),
            ("launchInterval", configuration?.launchInterval != nil),
            ("sendsLaunchEvents", configuration?.sendsLaunchEvents == true),
        ]
        for (name, isGiven) in durable where isGiven {
            throw TransferError.bad(
                "configuration.\(name)", "a volatile session starts no program and does not outlive its connection.")
        }
    }

    /// Ends the sessions of a client that is gone: cancels and removes their tasks and part files. Returns at once.
    package func closed(_ connection: Int) {
        let sessions = bindings.beginEnding(of: connection)
        guard !sessions.isEmpty else { return }
        Task { for session in sessions { await end(session) } }
    }

    /// Ends all sessions, as far as that succeeds within `limit`. Their rows go with the store.
    package func stop(atMost limit: Duration) async {
        let sessions = bindings.beginEnding(of: nil)
        guard !sessions.isEmpty else { return }
        let (end, over) = AsyncStream.makeStream(of: Void.self)
        Task {
            for session in sessions { await self.end(session, forgets: false) }
            over.finish()
        }
        Task {
            try? await Task.sleep(for: limit)
            over.finish()
        }
        for await _ in end {}
    }

    /// The most tasks that one transaction forgets. They take some milliseconds of the writer's time.
    private static let forgetBatch = 256

    /// The name is free again once nothing of the session remains. A disk that does not answer may delay that.
    /// - Parameter forgets: false if the store itself ends.
    private func end(_ session: SessionKey, forgets: Bool = true) async {
        while await !ends(session, forgets: forgets), forgets { try? await Task.sleep(for: Self.pause) }
        streams.forget(session)
        bindings.release(session)
    }

    private static let pause = Duration.seconds(1)

    /// - Returns: false if it must be tried again.
    private func ends(_ session: SessionKey, forgets: Bool) async -> Bool {
        do {
            _ = try await services.sessions.invalidate(session)
            // A completed task has no part file.
            let mayHaveParts = ControlTarget(
                scope: .session(session.identifier), states: [.failed, .cancelled], owner: .user(session.owner))
            _ = try await services.controller.control(.remove(deleteFile: false), mayHaveParts)
            if forgets {
                while try await services.store.write({ try $0.forgetTasks(of: session, limit: Self.forgetBatch) }) {}
                try await services.store.write { try $0.forgetSession(session) }
            }
            return true
        } catch let error as TransferError where error.code == .sessionNotFound || error.code == .shuttingDown {
            // The connection closed before the session was created, or the store has ended.
            return true
        } catch {
            logger.error("cannot end a volatile session", metadata: ["error": "\(error)"])
            return false
        }
    }
}
