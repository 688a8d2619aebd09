import TransferModel

/// The values of one origin: checked values by the name of the setting, and the mistakes in the others.
struct ConfigurationLayer: Sendable {
    let origin: SettingOrigin
    /// The file that they are from; nil for other origins.
    let path: String?
    private(set) var values: [String: JSONValue] = [:]
    /// The place of each of `values`.
    private(set) var places: [String: ConfigurationProblem.Place] = [:]
    private(set) var problems: [ConfigurationProblem] = []

    init(origin: SettingOrigin, path: String? = nil) { (self.origin, self.path) = (origin, path) }

    /// Takes `text` as the value of `setting`, or notes why it is refused.
    mutating func take(_ setting: Setting, text: String, at place: ConfigurationProblem.Place) {
        guard let value = setting.kind.value(ofText: text) else {
            refuse(setting, shown: setting.kind == .proxy ? "the value" : "\"\(text)\"", at: place)
            return
        }
        values[setting.name] = value
        places[setting.name] = place
    }

    /// Takes a JSON value, or notes why it is refused.
    mutating func take(_ setting: Setting, value: JSONValue, at place: ConfigurationProblem.Place) {
        guard let value = setting.kind.checked(value) else {
            refuse(setting, shown: "the value", at: place)
            return
        }
        values[setting.name] = value
        places[setting.name] = place
    }

    mutating func note(_ problem: ConfigurationProblem) { problems.append(problem) }

    mutating func note(_ message: String, of name: String = "", at place: ConfigurationProblem.Place) {
        note(ConfigurationProblem(place: place, name: name, message: message))
    }

    mutating func remove(_ name: String) { values[name] = nil }

    /// `shown` may differ from the value, because a proxy may contain a password.
    private mutating func refuse(_ setting: Setting, shown: String, at place: ConfigurationProblem.Place) {
        let unit = setting.kind.unit
        let article = unit == "none" ? "" : " (unit: \(unit))"
        note("\(shown) is not accepted\(article); give \(setting.kind.accepts).", of: setting.name, at: place)
    }
}

extension ConfigurationLayer {
    /// Reads every `DLD_…` variable that names a setting, and ignores all others.
    static func environment(_ variables: [String: String]) -> ConfigurationLayer {
        var layer = ConfigurationLayer(origin: .environment)
        for setting in SettingsTable.all {
            let variable = setting.environmentName
            // An empty variable is an unset one, as in the XDG specification.
            guard let text = variables[variable], !text.isEmpty else { continue }
            layer.take(setting, text: text, at: .environment(variable))
        }
        return layer
    }

    /// Variables whose names are probably mistyped names of settings. Other variables with DLD_ belong to other
    /// programs.
    static func mistyped(_ variables: [String: String]) -> [ConfigurationProblem] {
        let known = SettingsTable.all.map(\.environmentName)
        return variables.keys.sorted().compactMap { variable in
            guard variable.hasPrefix("DLD_"), !known.contains(variable),
                let meant = known.first(where: { Suggestion.distance($0, variable) <= 2 })
            else { return nil }
            return ConfigurationProblem(
                place: .environment(variable), name: "", message: "no such setting; did you mean \(meant)?")
        }
    }

    /// Reads the values that `settings.set` stored. A value that this version does not accept is ignored and noted.
    static func runtime(_ stored: [String: JSONValue]) -> ConfigurationLayer {
        var layer = ConfigurationLayer(origin: .runtime)
        for setting in SettingsTable.all {
            guard let name = setting.runtimeName?.rawValue, let value = stored[name], value != .null else { continue }
            layer.take(setting, value: value, at: .runtime)
        }
        return layer
    }

    /// Reads the command line's options.
    static func flags(_ arguments: DaemonArguments) -> ConfigurationLayer {
        var layer = ConfigurationLayer(origin: .flag)
        for (flag, name, text) in arguments.settingFlags {
            if let setting = SettingsTable.setting(named: name) {
                layer.take(setting, text: text, at: .flag(flag))
            } else {
                layer.note(
                    .unknown(name, among: SettingsTable.all.map(\.name), SettingsTable.manual, at: .flag(flag)))
            }
        }
        return layer
    }
}
