import Logging
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// What serves the tasks of one store, each part as narrow as handlers need it.
package struct TaskServices: Sendable {
    package var adder: any TaskAdding
    package var controller: any TaskControlling
    package var updater: any TaskUpdating
    package var reader: any TaskReading
    package var sessions: any SessionServing
    package var decisions: any DecisionServing
    package var store: TransferStore

    package init(
        adder: any TaskAdding, controller: any TaskControlling, updater: any TaskUpdating, reader: any TaskReading,
        sessions: any SessionServing, decisions: any DecisionServing, store: TransferStore
    ) {
        self.adder = adder
        self.controller = controller
        self.updater = updater
        self.reader = reader
        self.sessions = sessions
        self.decisions = decisions
        self.store = store
    }

    package init(_ supervision: Supervision) {
        self.init(
            adder: supervision.adder, controller: supervision.controller, updater: supervision.updater,
            reader: supervision.reader, sessions: supervision.sessions, decisions: supervision.decisions,
            store: supervision.store)
    }
}

/// Everything the handlers may use.
package struct Services: Sendable {
    package var durable: TaskServices
    package var volatile: VolatileSessions
    package var cookies: CookieKeeper
    package var cache: CacheKeeper
    package var credentials: CredentialKeeper
    package var hsts: HSTSKeeper
    package var feed: EventFeed
    package var settings: any SettingsServing
    package var facts: DaemonFacts
    /// System mode: a user's own folder, made by the time this returns if that is possible.
    package var userFolder: @Sendable (UserID) async -> String?

    package init(
        durable: TaskServices, volatile: VolatileSessions, cookies: CookieKeeper? = nil,
        cache: CacheKeeper? = nil, credentials: CredentialKeeper? = nil, hsts: HSTSKeeper? = nil,
        feed: EventFeed,
        settings: any SettingsServing,
        facts: DaemonFacts, userFolder: @escaping @Sendable (UserID) async -> String? = { _ in nil }
    ) {
        self.durable = durable
        self.volatile = volatile
        self.cookies = cookies ?? CookieKeeper(store: durable.store)
        self.cache = cache ?? CacheKeeper(disk: nil)
        self.credentials = credentials ?? CredentialKeeper(store: durable.store, logger: Logger(label: "dld"))
        self.hsts = hsts ?? HSTSKeeper(store: durable.store)
        self.feed = feed
        self.settings = settings
        self.facts = facts
        self.userFolder = userFolder
    }

    /// Those of a session as a connection sees it.
    /// - Throws: `session.in_use` if the session is another connection's.
    func tasks(of session: SessionKey, _ context: RequestContext) throws(TransferError) -> TaskServices {
        try volatile.owns(session, context.connection.id) ? volatile.services : durable
    }

    /// Those of a task as a connection sees it: the volatile tasks of others are not there.
    func tasks(of task: TaskID, _ context: RequestContext) async throws -> TaskServices {
        try await volatile.visible([task], to: context.connection.id).isEmpty ? durable : volatile.services
    }
}

/// What the settings methods need.
package protocol SettingsServing: Sendable {
    func values() -> [(name: SettingName, value: JSONValue, origin: SettingOrigin)]
    /// Every setting, with what the files say now.
    func list() async -> ListSettings.Result
    /// Checks, stores and puts in force, all or none; `.null` removes a run-time value.
    /// - Throws: `request.bad_field` for values out of range and for settings that a stronger origin pins.
    func set(_ changes: [String: JSONValue], by peer: Peer) async throws
}

extension SettingsService: SettingsServing {}

/// What `daemon.info` and `daemon.stats` tell that does not change while the daemon runs.
package struct DaemonFacts: Sendable {
    package var version: String
    package var mode: DaemonMode
    /// Where it listens at this moment.
    package var sockets: @Sendable () -> [String]
    package var stateDirectory: String
    package var startedAt: ClockReading
    package var libcurl: String
    package var sqlite: String
    /// That have a helper now.
    package var schemes: @Sendable () async -> [String]

    package init(
        version: String, mode: DaemonMode, sockets: @escaping @Sendable () -> [String], stateDirectory: String,
        startedAt: ClockReading,
        libcurl: String, sqlite: String, schemes: @escaping @Sendable () async -> [String] = { [] }
    ) {
        self.version = version
        self.mode = mode
        self.sockets = sockets
        self.stateDirectory = stateDirectory
        self.startedAt = startedAt
        self.libcurl = libcurl
        self.sqlite = sqlite
        self.schemes = schemes
    }
}
