import DaemonSetup
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Changes global settings durably and applies them, also to running transfers.
package final class SettingsService: Sendable {
    private let registry: SettingsRegistry
    private let store: TransferStore
    private let time: any TimeSource
    private let pool: BlockingPool
    private let logger: Logger
    private let applied: @Sendable () -> Void

    /// - Parameter applied: called after each change has been applied.
    package init(
        registry: SettingsRegistry, store: TransferStore, time: any TimeSource, pool: BlockingPool, logger: Logger,
        applied: @escaping @Sendable () -> Void
    ) {
        self.registry = registry
        self.store = store
        self.time = time
        self.pool = pool
        self.logger = logger
        self.applied = applied
    }

    package func values() -> [(name: SettingName, value: JSONValue, origin: SettingOrigin)] {
        registry.current.globalValues()
    }

    package func list() async -> ListSettings.Result {
        let (registry, current) = (registry, registry.current)
        do {
            let edited = try await pool.run(at: registry.file) { () throws(ConfigurationErrors) in
                try registry.edited()
            }
            return SettingsList.result(current, edited)
        } catch {
            return SettingsList.result(current, nil, problem: "\(error)")
        }
    }

    /// Applies all changes or none. Null removes a stored value.
    /// - Throws: `request.unknown_field`, `request.bad_field` (pinned by a stronger origin, or not accepted).
    package func set(_ changes: [String: JSONValue], by peer: Peer) async throws {
        let checked = try registry.check(changes)
        guard !checked.isEmpty else { return }
        let now = time.reading().wall
        let names = checked.keys.map(\.rawValue).sorted()
        let session = SessionKey.shared(of: peer.uid)
        let change = try await store.write { transaction in
            for (name, value) in checked {
                if value == .null {
                    try transaction.removeSetting(name.rawValue)
                } else {
                    try transaction.setSetting(name.rawValue, value)
                }
            }
            return try transaction.append(
                EventRecord(
                    time: now, type: .settingsChanged, session: session,
                    payload: ["settings": .object(Dictionary(uniqueKeysWithValues: checked.map { ($0.rawValue, $1) }))])
            )
        }
        do {
            try registry.set(runtime: checked, as: change)
        } catch {
            throw TransferError(.badField, "\(names.joined(separator: ", ")): \(error)")
        }
        logger.notice("settings changed", metadata: ["names": "\(names.joined(separator: ","))"])
        applied()
    }
}
