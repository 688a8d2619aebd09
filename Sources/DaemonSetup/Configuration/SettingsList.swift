import TransferCore
import TransferModel
import TransferRPC

/// Every setting as `settings.list` shows it: the value in force, its origin, and values that wait for a reload or a
/// restart.
package enum SettingsList {
    /// - Parameter edited: the configuration of a daemon that would start now; nil if it would refuse to start.
    package static func result(
        _ current: Configuration, _ edited: Configuration?, problem: String? = nil
    ) -> SettingsInForce {
        let settings = SettingsTable.all.map { setting in
            let statements = current.statements[setting.name] ?? []
            let value = current.effectiveValue(of: setting)
            let overruled = statements.dropLast().reversed().map { statement($0, of: setting) }
            return ListedSetting(
                name: setting.name, value: shown(value, of: setting),
                text: value == .null && setting.kind == .proxy
                    ? proxies(current.paths) : text(value, of: setting),
                unit: setting.kind.unit == "none" ? nil : setting.kind.unit,
                origin: SettingSource(current.origin(of: setting.name)), place: statements.last?.place.shown,
                default: setting.defaultDescription, effect: effect(of: setting),
                overruled: overruled.isEmpty ? nil : overruled,
                pending: edited.flatMap { pending(setting, current, $0) })
        }
        return SettingsInForce(settings: settings, files: current.files, problem: problem)
    }

    private static func pending(
        _ setting: Setting, _ current: Configuration, _ edited: Configuration
    ) -> SettingStatementView? {
        guard setting.read(edited.settings) != setting.read(current.settings) else { return nil }
        return edited.statements[setting.name]?.last.map { statement($0, of: setting) }
            ?? SettingStatementView(text: setting.defaultDescription, origin: .default)
    }

    private static func effect(of setting: Setting) -> SettingEffect {
        switch setting.effect {
        case .restart: .restart
        case .reload: setting.runtimeName == nil ? .reload : .runtime
        }
    }

    private static func statement(_ statement: SettingStatement, of setting: Setting) -> SettingStatementView {
        SettingStatementView(
            text: text(statement.value, of: setting), origin: SettingSource(statement.origin),
            place: statement.place.shown)
    }

    private static func text(_ value: JSONValue, of setting: Setting) -> String {
        value == .null ? setting.defaultText ?? "not set" : setting.kind.text(of: shown(value, of: setting))
    }

    /// The proxies that the environment names (curl(1), ENVIRONMENT), without their passwords.
    private static func proxies(_ paths: Paths) -> String {
        let named = paths.proxyVariables.map { name, value in
            "\(name)=\(name.lowercased() == "no_proxy" ? value : withoutPassword(value))"
        }
        return named.isEmpty ? "none" : named.joined(separator: " ")
    }

    /// libcurl takes a proxy without a scheme for an http proxy (CURLOPT_PROXY(3)).
    private static func withoutPassword(_ proxy: String) -> String {
        URLRules.redacted(proxy.contains("://") || !proxy.contains("@") ? proxy : "http://" + proxy)
    }

    /// A proxy may have a password.
    private static func shown(_ value: JSONValue, of setting: Setting) -> JSONValue {
        guard setting.kind == .proxy, let text = value.stringValue else { return value }
        return .string(withoutPassword(text))
    }
}
