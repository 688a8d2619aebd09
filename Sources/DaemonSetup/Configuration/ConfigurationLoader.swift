import TransferModel

/// Combines the layers, strongest first: flags, environment, settings.set, the user's file, the file in /etc, defaults.
/// In a user's daemon, /etc is the strongest for the limits per user.
package struct ConfigurationLoader: Sendable {
    package let arguments: DaemonArguments
    package let environment: [String: String]
    /// Replaced in tests.
    let systemFile: String
    private let paths: Paths

    package init(
        arguments: DaemonArguments, environment: [String: String], systemFile: String = Paths.systemFile
    ) {
        self.arguments = arguments
        self.environment = environment
        self.systemFile = systemFile
        paths = Paths(system: arguments.system, environment: environment)
    }

    /// The strongest file, which need not exist.
    var file: String { arguments.configFile ?? (arguments.system ? systemFile : paths.userFile) }

    package static func load(
        arguments: DaemonArguments, environment: [String: String], runtime: [String: JSONValue] = [:]
    ) throws(ConfigurationErrors) -> Configuration {
        try ConfigurationLoader(arguments: arguments, environment: environment).load(runtime: runtime)
    }

    /// - Parameter runtime: the values that `settings.set` stored, by `SettingName`.
    /// - Throws: every mistake in files, environment and flags at once.
    package func load(runtime: [String: JSONValue] = [:]) throws(ConfigurationErrors) -> Configuration {
        try load(runtime: runtime, files: readFiles())
    }

    /// The same with files that were read earlier.
    func load(runtime: [String: JSONValue], files: [ConfigurationLayer]) throws(ConfigurationErrors) -> Configuration {
        let (configuration, problems) = combined(runtime: runtime, files: files)
        guard problems.isEmpty else { throw ConfigurationErrors(problems) }
        return configuration
    }

    /// The correct values of the layers, and all mistakes in them.
    private func combined(
        runtime: [String: JSONValue], files: [ConfigurationLayer]
    ) -> (configuration: Configuration, problems: [ConfigurationProblem]) {
        let stored = ConfigurationLayer.runtime(runtime)
        // Weakest first, so that later ones overwrite.
        let layers =
            files + [stored, ConfigurationLayer.environment(environment), ConfigurationLayer.flags(arguments)]
        var problems = layers.filter { $0.origin != .runtime }.flatMap(\.problems)

        var settings = DaemonSettings()
        var statements: [String: [SettingStatement]] = [:]
        settings.session.maximumsAreCeilings = arguments.system
        let binding = bindingNames(layers)
        var unheard: [ConfigurationProblem] = []
        for layer in layers {
            for (name, value) in layer.values.sorted(by: { $0.key < $1.key }) {
                guard let setting = SettingsTable.setting(named: name), let place = layer.places[name] else { continue }
                let statement = SettingStatement(origin: layer.origin, place: place, value: value)
                if layer.origin != .systemFile, binding.contains(name) {
                    unheard.append(unheardProblem(name, at: place))
                    statements[name]?.insert(statement, at: 0)
                    continue
                }
                setting.write(value, &settings)
                statements[name, default: []].append(statement)
            }
        }
        problems += contradictions(settings, statements)
        let stateDirectory = settings.stateDirectory.map(paths.expanded) ?? paths.stateDirectory
        let socket = settings.socket.map(paths.expanded) ?? paths.socket(stateDirectory: stateDirectory)
        // The programs can reach a longer path if it is in the state folder. Other clients cannot, so any other path
        // must fit.
        if socket != "\(stateDirectory)/\(ListeningPlaces.stateName)", let fault = Paths.socketPathFault(socket) {
            let place = statements["socket"]?.last?.place ?? .environment("XDG_RUNTIME_DIR")
            problems.append(ConfigurationProblem(place: place, name: "socket", message: fault))
        }
        let configuration = Configuration(
            settings: settings, statements: statements, files: files.compactMap(\.path).reversed(),
            warnings: stored.problems + unheard + ConfigurationLayer.mistyped(environment) + passedOver(settings),
            paths: paths, stateDirectory: stateDirectory, socket: socket)
        return (configuration, problems)
    }

    /// Also checks the groups, units, files and folders that the configuration names. Changes nothing.
    /// - Throws: every mistake at once.
    package func tried() throws(ConfigurationErrors) -> Configuration {
        let files = readFiles()
        var (configuration, problems) = combined(runtime: [:], files: files)
        let layers = files + [.environment(environment), .flags(arguments)]
        // A setting with a mistake has its default here.
        let wrong = Set(problems.map(\.name))
        for (name, message) in ConfigurationTrial(configuration: configuration, searchPath: environment["PATH"])
            .problems() where !wrong.contains(name)
        {
            let origin = configuration.origin(of: name)
            let place = layers.last { $0.origin == origin }?.places[name]
            problems.append(ConfigurationProblem(place: place ?? .byDefault, name: name, message: message))
        }
        guard problems.isEmpty else { throw ConfigurationErrors(problems) }
        return configuration
    }

    /// The layers of the files that exist, weakest first.
    func readFiles() -> [ConfigurationLayer] {
        func read(
            _ path: String, _ origin: SettingOrigin, _ scope: ConfigurationFile.Scope = .everything,
            required: Bool = false
        ) -> ConfigurationLayer? {
            ConfigurationFile(path: path, origin: origin, scope: scope).read(required: required)
        }
        guard let path = arguments.configFile else {
            let shared = read(systemFile, .systemFile, arguments.system ? .everything : .allUsers)
            // The system daemon has no user, and so no user's file.
            let own = arguments.system ? nil : read(paths.userFile, .userFile)
            return [shared, own].compactMap(\.self)
        }
        let own = read(path, .userFile, required: true)
        // The values of /etc that apply no matter which file a user names.
        let binding = arguments.system ? nil : read(systemFile, .systemFile, .bindingUsers)
        let isBinding = binding.map { !$0.values.isEmpty || !$0.problems.isEmpty } ?? false
        return [isBinding ? binding : nil, own].compactMap(\.self)
    }

    /// The settings for which /etc takes precedence over everything.
    private func bindingNames(_ layers: [ConfigurationLayer]) -> Set<String> {
        guard !arguments.system else { return [] }
        let names = layers.filter { $0.origin == .systemFile }.flatMap(\.values.keys)
        return Set(names.filter { SettingsTable.setting(named: $0)?.sharedFileBindsUsers ?? false })
    }

    private func unheardProblem(_ name: String, at place: ConfigurationProblem.Place) -> ConfigurationProblem {
        ConfigurationProblem(
            place: place, name: name, message: "is not used: \(systemFile) sets it for all users.")
    }

    private func passedOver(_ settings: DaemonSettings) -> [ConfigurationProblem] {
        guard settings.socket == nil, let runtime = paths.unusableRuntimeFolder else { return [] }
        return [
            ConfigurationProblem(
                place: .environment("XDG_RUNTIME_DIR"), name: "",
                message: "\(runtime.path) \(runtime.reason), and is ignored; the socket is in the state folder.")
        ]
    }

    /// Values that are valid alone but not together. The fault is attributed to the one that was set; if both were, to
    /// the first.
    private func contradictions(
        _ settings: DaemonSettings, _ statements: [String: [SettingStatement]]
    ) -> [ConfigurationProblem] {
        let session = settings.session
        guard session.retryFirstDelay > session.retryLongestDelay else { return [] }
        let (firstName, longestName) = ("session.retry.firstDelay", "session.retry.longestDelay")
        let first = QuantityText.text(seconds: session.retryFirstDelay.rawValue)
        let longest = QuantityText.text(seconds: session.retryLongestDelay.rawValue)
        guard let statement = statements[firstName]?.last else {
            return [
                ConfigurationProblem(
                    place: statements[longestName]?.last?.place ?? .byDefault, name: longestName,
                    message: "is \(longest), shorter than \(firstName) (\(first)); make it at least that, or set both.")
            ]
        }
        return [
            ConfigurationProblem(
                place: statement.place, name: firstName,
                message: "is \(first), longer than \(longestName) (\(longest)); make it at most that.")
        ]
    }
}
