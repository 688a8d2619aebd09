import TransferModel

/// The value that one origin gives to a setting.
package struct SettingStatement: Hashable, Sendable {
    package var origin: SettingOrigin
    package var place: ConfigurationProblem.Place
    package var value: JSONValue
}

/// The configuration in force: typed values, and the origin of each.
package struct Configuration: Hashable, Sendable {
    package let settings: DaemonSettings
    /// The values of each setting by its name, weakest origin first. The last one is in force. Absent = default.
    package let statements: [String: [SettingStatement]]
    /// Files that were read, strongest first.
    package let files: [String]
    /// Values that are ignored although the daemon starts, such as a stored value that is no longer accepted.
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

    /// The User-Agent of requests that set none.
    package var userAgent: String { settings.userAgent ?? "dld/\(Product.version)" }

    /// The folder of downloads without a destination; nil in system mode, because it then depends on the owner.
    package var downloadDirectory: String? {
        settings.session.directory.map(paths.expanded) ?? (paths.system ? nil : paths.downloads)
    }

    /// A session's configuration with its unset members filled from the defaults, and with absolute paths.
    /// - Parameter findsDirectory: false leaves the folder unset, because finding it may mean reading a file.
    package func filled(_ session: SessionConfiguration, findsDirectory: Bool = true) -> SessionConfiguration {
        var defaults = settings.session
        defaults.directory = findsDirectory ? downloadDirectory : nil
        defaults.caFile = defaults.caFile.map(paths.expanded)
        return defaults.filling(session)
    }

    /// The value in force, also for settings whose default is not a fixed value.
    package func effectiveValue(of setting: Setting) -> JSONValue {
        let value = setting.read(settings)
        guard value == .null else { return value }
        let derived: JSONValue? =
            switch setting.name {
            case "socket": .string(socket)
            case "stateDirectory": .string(stateDirectory)
            case "knownHosts": .string(knownHosts)
            case "userAgent": .string(userAgent)
            case "session.directory": downloadDirectory.map { .string($0) }
            case "session.httpMaximumConnectionsPerHost": .integer(Int64(global.maximumConcurrentTasksPerHost))
            case "session.maximumConcurrentTasks": .integer(Int64(global.maximumConcurrentTasks))
            default: nil
            }
        return derived ?? .null
    }

    /// Every global setting as `settings.get` shows it.
    package func globalValues() -> [(name: SettingName, value: JSONValue, origin: SettingOrigin)] {
        SettingsTable.all.compactMap { setting in
            setting.runtimeName.map { ($0, setting.read(settings), origin(of: setting.name)) }
        }
    }
}
