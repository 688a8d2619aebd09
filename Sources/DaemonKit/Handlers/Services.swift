import CurlEngine
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Everything that handlers may use.
package struct Services: Sendable {
    package var durable: TaskServices
    package var volatile: VolatileSessions
    package var keepers: Keepers
    package var cache = CacheKeeper(disk: nil)
    package var feed: EventFeed
    package var settings: any SettingsServing
    package var facts: DaemonFacts
    package var ends = EndCounts()
    /// In system mode: returns a user's own folder and creates it if possible.
    package var userFolder: @Sendable (UserID) async -> String? = { _ in nil }

    /// Returns the services for a session, as the connection sees it.
    /// - Throws: `session.in_use` if the session belongs to another connection.
    func tasks(of session: SessionKey, _ context: RequestContext) throws(TransferError) -> TaskServices {
        try volatile.owns(session, context.connection.id) ? volatile.services : durable
    }

    /// Returns the session that a caller names.
    /// - Throws: `session.not_found`, also if the session has ended; `session.in_use`.
    func session(_ name: String, of context: RequestContext) async throws -> SessionRecord {
        let key = SessionKey(owner: context.peer.uid, identifier: name)
        guard let record = try await tasks(of: key, context).store.read({ try $0.session(key) }),
            record.state != .invalidated
        else { throw TransferError.noSession(name) }
        return record
    }

    /// Returns the services for a task, as the connection sees it. Volatile tasks of other connections do not exist for
    /// it.
    func tasks(of task: TaskID, _ context: RequestContext) async throws -> TaskServices {
        try await volatile.visible([task], to: context.connection.id).isEmpty ? durable : volatile.services
    }
}

/// The part of the settings that their methods need.
package protocol SettingsServing: Sendable {
    func values() -> [(name: SettingName, value: JSONValue, origin: SettingOrigin)]
    /// Returns every setting, with the current values in the files.
    func list() async -> SettingsInForce
    /// Checks, stores and applies all changes or none; `.null` removes a run-time value.
    /// - Throws: `request.bad_field` for values out of range and for settings that a stronger origin pins.
    func set(_ changes: [String: JSONValue], by peer: Peer) async throws
}

/// The facts in `daemon.info`, `daemon.stats` and `daemon.metrics`.
package struct DaemonFacts: Sendable {
    package var version: String
    package var mode: DaemonMode
    /// The sockets on which the daemon listens now.
    package var sockets: @Sendable () -> [String]
    package var stateDirectory: String
    package var startedAt: ClockReading
    package var libcurl: String
    package var sqlite: String
    /// The schemes that have a helper now.
    package var schemes: @Sendable () async -> [String] = { [] }
    package var conditions: @Sendable () -> MachineConditions = { MachineConditions() }
    package var answers = AnswerCounts()
}
