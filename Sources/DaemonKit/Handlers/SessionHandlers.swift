import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// The session methods.
enum SessionHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.openSession) { parameters, context in
            let key = SessionKey(owner: try context.owner(parameters.owner), identifier: parameters.id)
            try Self.check(identifier: parameters.id)
            await services.volatile.waitForEnd(of: key, by: context.connection)
            if let configuration = parameters.configuration {
                try context.peer.require(
                    owner: key.owner, toChange: configuration.namedMembers,
                    in: "configuration.",
                    except: Self.fieldsOfAdministrators)
                if let name = configuration.subscriber { try Self.check(name: name, field: "configuration.subscriber") }
            }
            return try await Self.open(key, parameters, context, services)
        }
        table.add(Methods.getSession) { parameters, context in
            let key = SessionKey(owner: try context.owner(parameters.owner), identifier: parameters.id)
            return try await services.tasks(of: key, context).store.read { snapshot in
                guard let session = try snapshot.session(key) else { throw TransferError.noSession(key.identifier) }
                return try Self.view(session, snapshot)
            }
        }
        table.add(Methods.listSessions) { parameters, context in
            try await Self.list(parameters, context, services)
        }
        func change(
            _ method: Method<SessionReference, SessionView>,
            _ body: @escaping @Sendable (any SessionServing, SessionKey) async throws -> SessionRecord
        ) {
            table.add(method) { parameters, context in
                let key = SessionKey(owner: try context.owner(parameters.owner), identifier: parameters.id)
                let tasks = try services.tasks(of: key, context)
                return try await Self.view(try await body(tasks.sessions, key), tasks.store)
            }
        }
        change(Methods.pauseSession) { try await $0.pause($1) }
        change(Methods.resumeSession) { try await $0.resume($1) }
        change(Methods.finishSession) { try await $0.finish($1) }
        change(Methods.invalidateSession) { try await $0.invalidate($1) }
    }

    private static let fieldsOfAdministrators = SessionConfiguration.conditions.union([
        "timeoutIntervalForRequest", "timeoutIntervalForResource", "httpMaximumConnectionsPerHost",
        "waitsForConnectivity", "launchInterval", "maximumConcurrentTasks", "downloadRateLimit", "uploadRateLimit",
        "schedule", "retry", "connectionsPerDownload",
    ])

    private static func open(
        _ key: SessionKey, _ parameters: OpenSession, _ context: RequestContext, _ services: Services
    ) async throws -> SessionView {
        let isVolatile = try services.volatile.owns(key, context.connection.id)
        let wanted = parameters.kind ?? (isVolatile ? nil : .background)
        guard wanted != .background else {
            guard !isVolatile else {
                throw VolatileSessions.badKind("the session \"\(key.identifier)\" is volatile; use another name.")
            }
            let session = try await services.durable.sessions.open(
                key, kind: .background, configuration: parameters.configuration, by: context.peer)
            if let name = session.configuration.subscriber { try await register(name, of: key.owner, services) }
            return try await view(session, services.durable.store)
        }
        let durable = try await services.durable.store.read { try $0.session(key) }
        guard durable == nil || durable?.state == .invalidated else {
            throw VolatileSessions.badKind(
                "the session \"\(key.identifier)\" is of kind `background`; use another name.")
        }
        let session = try await services.volatile.open(
            key, wanted, parameters.configuration, by: context.peer, on: context.connection)
        return try await view(session, services.volatile.services.store)
    }

    /// The durable sessions, and after them the volatile ones of the connection.
    private static func list(
        _ parameters: ListSessions, _ context: RequestContext, _ services: Services
    ) async throws -> ListedSessions {
        let scope = try context.scope(parameters.owner)
        let limit = try TaskHandlers.pageSize(
            parameters.limit, default: ListSessions.largestLimit, largest: ListSessions.largestLimit)
        var result = ListedSessions(sessions: [], nextCursor: nil)
        var own = services.volatile.own(context, in: scope)[...]
        if let cursor = parameters.cursor, cursor.hasPrefix(volatile) {
            let last = String(cursor.dropFirst(volatile.count))
            own = own.drop { $0 <= last }
        } else {
            let last = try parameters.cursor.map { try Self.position($0) }
            result = try await services.durable.store.read { snapshot in
                let page = try snapshot.sessionPage(owner: scope.owner, after: last, limit: limit)
                let cursor = page.isCut ? page.sessions.last.map { "\($0.key.owner).\($0.key.identifier)" } : nil
                return ListedSessions(
                    sessions: try page.sessions.map { try Self.view($0, snapshot) }, nextCursor: cursor)
            }
            if result.nextCursor != nil { return result }
        }
        let listed = own.prefix(limit - result.sessions.count)
        result.sessions += try await services.volatile.services.store.read { snapshot in
            try listed.compactMap { try snapshot.session(SessionKey(owner: context.peer.uid, identifier: $0)) }
                .map { try Self.view($0, snapshot) }
        }
        if listed.count < own.count { result.nextCursor = volatile + (listed.last ?? "") }
        return result
    }

    /// What cursors begin with that are among the volatile sessions.
    private static let volatile = "v."

    /// The longest identifier, in bytes.
    static let longestName = Bounds.name

    /// Returns the session that a cursor names. It is the position of a page and says nothing about whose sessions are
    /// listed.
    /// - Throws: `request.bad_field`.
    private static func position(_ cursor: String) throws(TransferError) -> SessionKey {
        let parts = cursor.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let owner = UInt32(parts[0]) else {
            throw TransferError.bad("cursor", "pass `nextCursor` of the page before unchanged.")
        }
        return SessionKey(owner: UserID(owner), identifier: String(parts[1]))
    }

    /// - Throws: `request.bad_field`.
    static func check(identifier: String) throws(TransferError) { try check(name: identifier, field: "id") }

    /// - Throws: `request.bad_field` if the name is empty, too long or contains control characters.
    static func check(name: String, field: String) throws(TransferError) {
        guard !name.isEmpty, name.utf8.count <= longestName, URLRules.firstControl(name) == nil else {
            throw TransferError.bad(field, "use 1 to \(longestName) bytes without control characters.")
        }
    }

    /// Registers a session's subscriber now, so that no launch is for an event before the session.
    private static func register(_ name: String, of owner: UserID, _ services: Services) async throws {
        if try await services.durable.store.read({ try $0.subscriber(name, owner: owner) }) != nil { return }
        try await services.durable.store.write { transaction in
            guard try transaction.subscriber(name, owner: owner) == nil else { return }
            try transaction.acknowledge(name, owner: owner, try transaction.eventHead())
        }
    }

    private static func view(_ session: SessionRecord, _ store: TransferStore) async throws -> SessionView {
        try await store.read { try view(session, $0) }
    }

    private static func view(_ session: SessionRecord, _ snapshot: StoreSnapshot) throws -> SessionView {
        let unacknowledged = try session.configuration.subscriber.map {
            try snapshot.unacknowledgedFinalEvents(session.key, subscriber: $0)
        }
        return SessionView(
            session, tasks: try snapshot.counts(session: session.key), unacknowledgedEvents: unacknowledged ?? 0)
    }
}
