import TransferModel
import TransferRPC

/// settings.get, settings.list and settings.set.
enum SettingsHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.getSettings) { _, _ in Self.view(services) }
        table.add(Methods.listSettings) { _, _ in await services.settings.list() }
        table.add(Methods.setSettings) { parameters, context in
            try Self.checkMayChange(context.peer, services)
            let changes = parameters.values.map { ($0.key.rawValue, $0.value) }
            try await services.settings.set(Dictionary(uniqueKeysWithValues: changes), by: context.peer)
            return Self.view(services)
        }
    }

    private static func view(_ services: Services) -> SettingsView {
        var views: [SettingName: SettingView] = [:]
        for (name, value, origin) in services.settings.values() {
            views[name] = SettingView(value: value, origin: SettingSource(origin))
        }
        return SettingsView(views)
    }

    private static func checkMayChange(_ peer: Peer, _ services: Services) throws(TransferError) {
        switch services.facts.mode {
        case .system where !peer.isAdmin:
            throw TransferError(.permissionDenied, "Only administrators change the settings of the system's daemon.")
        case .system, .user: break
        }
    }
}
