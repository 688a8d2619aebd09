import TransferModel

/// What one origin says of a setting.
package struct SettingStatement: Hashable, Sendable {
    package var origin: SettingOrigin
    package var place: ConfigurationProblem.Place
    package var value: JSONValue
}

/// The configuration in force: typed values, and which origin each came from.
package struct Configuration: Hashable, Sendable {
    package let settings: DaemonSettings
    /// What was said of each setting, by its name; the last is in force. Absent = default.
    package let statements: [String: [SettingStatement]]
    /// Files that were read, strongest first.
    package let files: [String]
    /// What was left out without stopping the start, such as a stored value that is no longer accepted.
    package let warnings: [ConfigurationProblem]
    package let paths: Paths
    /// Absolute path of the state folder.
    package let stateDirectory: String
    /// Absolute path of the listening socket.
    package let socket: String

    package var global: GlobalSettings { settings.global }

    package func origin(of name: String) -> SettingOrigin { statements[name]?.last?.origin ?? .default }

    /// Absolute path of the known_hosts file.
    package var knownHosts: String { settings.knownHosts.map(paths.expanded) ?? paths.knownHosts }

    /// Folder of downloads that name no destination; nil in system mode, where it depends on the owner.
    package var downloadDirectory: String? {
        settings.session.directory.map(paths.expanded) ?? (paths.system ? nil : paths.downloads)
    }

    /// A session's configuration with its open members filled from the defaults, paths absolute.
    /// - Parameter findsDirectory: false leaves the folder open, for which a file may have to be read.
    package func filled(_ session: SessionConfiguration, findsDirectory: Bool = true) -> SessionConfiguration {
        var defaults = settings.session
        defaults.directory = findsDirectory ? downloadDirectory : nil
        defaults.caFile = defaults.caFile.map(paths.expanded)
        return defaults.filling(session)
    }

    /// What holds for settings whose default is no fixed value.
    package func effectiveValue(of setting: Setting) -> JSONValue {
        let value = setting.read(settings)
        guard value == .null else { return value }
        let path: String? =
            switch setting.name {
            case "socket": socket
            case "stateDirectory": stateDirectory
            case "knownHosts": knownHosts
            case "session.directory": downloadDirectory
            default: nil
            }
        return path.map { .string($0) } ?? .null
    }

    /// Every global setting as `settings.get` shows it.
    package func globalValues() -> [(name: SettingName, value: JSONValue, origin: SettingOrigin)] {
        SettingsTable.all.compactMap { setting in
            setting.runtimeName.map { ($0, setting.read(settings), origin(of: setting.name)) }
        }
    }
}
