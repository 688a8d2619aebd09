import Threading
import TransferModel

/// Holds the configuration in force, for all threads, and decides which changes are allowed.
package final class SettingsRegistry: Sendable {
    /// The result of a reload, by the names of settings.
    package struct Reload: Hashable, Sendable {
        package var applied: [String]
        /// Changed in the files, but in force only after a restart.
        package var needsRestart: [String]
        /// Changed in the files, but a value of `settings.set` takes precedence.
        package var hidden: [String]
    }

    private struct State {
        var configuration: Configuration
        /// The files as they were at the start or the last reload. `settings.set` does not read them again.
        var files: [ConfigurationLayer]
        var runtime: [String: JSONValue]
        /// The change that set each of them last.
        var changes: [SettingName: SequenceNumber] = [:]
    }

    private let loader: ConfigurationLoader
    private let state: Guarded<State>

    /// - Parameter runtime: the values that earlier calls of `settings.set` stored.
    /// - Throws: every mistake in files, environment and flags.
    package init(
        loader: ConfigurationLoader, runtime: [String: JSONValue]
    ) throws(ConfigurationErrors) {
        self.loader = loader
        let files = loader.readFiles()
        state = Guarded(
            State(configuration: try loader.load(runtime: runtime, files: files), files: files, runtime: runtime))
    }

    package var current: Configuration { state.withLock { $0.configuration } }

    /// Checks a `settings.set` before it is stored: names must be known, values accepted, and no stronger origin may
    /// set them.
    ///
    /// - Returns: the values in their normal form; null removes the stored one.
    /// - Throws: `request.unknown_field` or `request.bad_field` that names the setting.
    package func check(_ changes: [String: JSONValue]) throws(TransferError) -> [SettingName: JSONValue] {
        let configuration = current
        var checked: [SettingName: JSONValue] = [:]
        for (text, value) in changes.sorted(by: { $0.key < $1.key }) {
            guard let name = SettingName(rawValue: text), let setting = SettingsTable.setting(named: text) else {
                throw Self.unknown(text)
            }
            let origin = configuration.origin(of: text)
            if let reason = refusal(of: setting, origin) {
                throw TransferError(
                    .badField, "\(text): \(reason)",
                    details: ["field": .string(text), "origin": .string(origin.rawValue)])
            }
            if value == .null {
                checked[name] = .null
            } else if let normal = setting.kind.checked(value) {
                checked[name] = normal
            } else {
                throw TransferError.bad(text, "the value is not accepted; give \(Self.wireForm(setting.kind)).")
            }
        }
        return checked
    }

    /// Puts stored changes in force.
    ///
    /// - Parameters:
    ///   - changes: the result of `check`, after it was stored.
    ///   - number: of the event that was stored with them. Of two changes of the same name, the one that was stored later
    ///     stays in force, in whatever order both come here.
    /// - Returns: the configuration that is in force now.
    @discardableResult
    package func set(
        runtime changes: [SettingName: JSONValue], as number: SequenceNumber
    ) throws(ConfigurationErrors) -> Configuration {
        try state.withLock { state throws(ConfigurationErrors) in
            let changes = changes.filter { number >= state.changes[$0.key] ?? number }
            var runtime = state.runtime
            for (name, value) in changes where value != .null { runtime[name.rawValue] = value }
            for (name, value) in changes where value == .null { runtime.removeValue(forKey: name.rawValue) }
            let next = try loader.load(runtime: runtime, files: state.files)
            // Values that the last reload could not apply still wait for a restart.
            let configuration = state.configuration.adopting(
                next, settings: SettingsTable.all.filter { $0.runtimeName.map { changes[$0] != nil } ?? false })
            state.configuration = configuration
            state.runtime = runtime
            for name in changes.keys { state.changes[name] = number }
            return configuration
        }
    }

    /// Reads the files again and applies the changes that are possible while the daemon runs.
    ///
    /// - Throws: every mistake. Then nothing changes.
    package func reload() throws(ConfigurationErrors) -> Reload {
        try state.withLock { state throws(ConfigurationErrors) in
            let files = loader.readFiles()
            let next = try loader.load(runtime: state.runtime, files: files)
            let (before, after) = (
                try loader.load(runtime: [:], files: state.files), try loader.load(runtime: [:], files: files)
            )
            let hidden = SettingsTable.all.filter { setting in
                setting.runtimeName.map { state.runtime[$0.rawValue] != nil } ?? false
                    && setting.read(before.settings) != setting.read(after.settings)
            }
            var outcome = Reload(applied: [], needsRestart: [], hidden: hidden.map(\.name))
            for setting in SettingsTable.all
            where setting.read(next.settings) != setting.read(state.configuration.settings) {
                switch setting.effect {
                case .reload: outcome.applied.append(setting.name)
                case .restart: outcome.needsRestart.append(setting.name)
                }
            }
            state.configuration = state.configuration.adopting(
                next, settings: SettingsTable.all.filter { $0.effect == .reload })
            state.files = files
            return outcome
        }
    }

    /// The configuration that would be in force after a restart. Reads the files, and blocks.
    package func edited() throws(ConfigurationErrors) -> Configuration {
        try loader.load(runtime: state.withLock { $0.runtime }, files: loader.readFiles())
    }

    /// The file that is edited most often.
    package var file: String { loader.file }

    /// Why nobody may change the setting at run time; nil if one may.
    private func refusal(of setting: Setting, _ origin: SettingOrigin) -> String? {
        if loader.arguments.system, setting.runtimeName == .credentialHelper {
            return "the system daemon runs no credential helper; set it in a user's own daemon."
        }
        let pin: String? =
            switch origin {
            case .flag: "the daemon's command line"
            case .environment: "the environment variable \(setting.environmentName)"
            case .systemFile where setting.sharedFileBindsUsers && !loader.arguments.system:
                "\(loader.systemFile) for all users"
            case .runtime, .userFile, .systemFile, .default: nil
            }
        return pin.map { "pinned by \($0); change it there." }
    }

    private static func unknown(_ name: String) -> TransferError {
        let names = SettingName.allCases.map(\.rawValue)
        let advice =
            SettingsTable.setting(named: name) != nil
            ? "only configuration files, environment and flags set it."
            : Suggestion.nearest(to: name, among: names).map { "did you mean \($0)?" }
                ?? "known are \(names.joined(separator: ", "))."
        return TransferError.bad(name, "no setting of settings.set; \(advice)", .unknownField)
    }

    /// On the wire, quantities are numbers without the suffixes of files.
    private static func wireForm(_ kind: SettingKind) -> String {
        switch kind {
        case .size(let range): "a number of bytes from \(range.lowerBound) to \(range.upperBound)"
        case .rate: "a number of bytes per second, 0 = unlimited"
        case .duration(let range): "a number of seconds from \(range.lowerBound) to \(range.upperBound)"
        case .integer, .boolean, .choice, .path, .text, .proxy, .list: kind.accepts
        }
    }
}

extension Configuration {
    /// This configuration with the values and origins of `settings` from `next`.
    func adopting(_ next: Configuration, settings adopted: [Setting]) -> Configuration {
        var values = settings
        var statements = statements
        for setting in adopted {
            setting.write(setting.read(next.settings), &values)
            statements[setting.name] = next.statements[setting.name]
        }
        return Configuration(
            settings: values, statements: statements, files: next.files, warnings: next.warnings, paths: paths,
            stateDirectory: stateDirectory, socket: socket)
    }
}
