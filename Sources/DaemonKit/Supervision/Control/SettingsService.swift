import DaemonSetup
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Changes global settings durably and applies them, also to running transfers.
struct SettingsService: SettingsServing {
    let registry: SettingsRegistry
    let store: TransferStore
    let time: any TimeSource
    let pool: BlockingPool
    let logger: Logger
    /// Called after each change has been applied.
    let applied: @Sendable () -> Void

    func values() -> [(name: SettingName, value: JSONValue, origin: SettingOrigin)] {
        registry.current.globalValues()
    }

    func list() async -> SettingsInForce {
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
    func set(_ changes: [String: JSONValue], by peer: Peer) async throws {
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
