import TransferModel

/// Reads one YAML file into a layer, with the line of every mistake.
struct ConfigurationFile {
    package let path: String
    let origin: SettingOrigin
    let scope: Scope

    /// The settings that a file may set.
    enum Scope {
        case everything
        /// Those that /etc may set for a user's daemon: none that make sense for one daemon only.
        case allUsers
        /// Those that /etc sets for a user's daemon even if that daemon reads another file instead.
        case bindingUsers

        func includes(_ setting: Setting) -> Bool {
            switch self {
            case .everything: true
            case .allUsers: setting.sharedFileHoldsForUsers
            case .bindingUsers: setting.sharedFileBindsUsers
            }
        }
    }

    /// - Parameter required: whether a missing file is a mistake (`--config`).
    /// - Returns: nil if the file does not exist.
    package func read(required: Bool) -> ConfigurationLayer? {
        var layer = ConfigurationLayer(origin: origin, path: path)
        guard
            let file = SettingsFile(
                path, names: SettingsTable.all.map(\.name), manual: SettingsTable.manual, required: required)
        else { return nil }
        for problem in file.problems {
            let isOfSetting = SettingsTable.setting(named: problem.name) != nil
            if scope != .bindingUsers || problem.name.isEmpty || isOfSetting { layer.note(problem) }
        }
        for given in file.given {
            guard let setting = SettingsTable.setting(named: given.name), scope.includes(setting) else { continue }
            take(setting, given.value, at: given.place, into: &layer)
        }
        return layer
    }

    private func take(
        _ setting: Setting, _ value: YAMLNode, at place: ConfigurationProblem.Place,
        into layer: inout ConfigurationLayer
    ) {
        switch value.content {
        case .scalar(_, isPlain: true) where value.isEmpty:
            layer.note("has no value; give \(setting.kind.accepts), or remove the line.", of: setting.name, at: place)
        case .scalar(let text, _): layer.take(setting, text: text, at: place)
        case .sequence(let items):
            // An item that is not a scalar becomes null, which no list accepts.
            layer.take(setting, value: .array(items.map { $0.text.map(JSONValue.string) ?? .null }), at: place)
        case .mapping:
            layer.note("holds other settings, but takes \(setting.kind.accepts).", of: setting.name, at: place)
        }
    }
}
