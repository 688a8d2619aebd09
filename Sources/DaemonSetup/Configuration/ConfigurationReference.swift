/// Writes the documents about settings: config/dld.yaml and docs/configuration.md, from the table alone.
package enum ConfigurationReference {
    /// A complete configuration file in which every setting is a comment with its default.
    package static func yaml() -> String {
        var text = """
            # Configuration of dld. Copy it to ~/.config/dld/dld.yaml (one user) or /etc/dld/dld.yaml (system daemon and
            # defaults of all users), remove the # before a setting and change its value.
            #
            # Strongest first: command line, environment, dlctl settings (settings.set), the user's file, /etc/dld/dld.yaml,
            # the defaults shown here. `dld --check-config` names every mistake with file and line;
            # `systemctl --user reload dld` (or SIGHUP) applies changes.
            #
            # Sizes and rates: 500k, 2M, 1.5G (1024). Times: a number of seconds, or 500ms, 90s, 15m, 12h, 30d, 2w.

            """
        var section: [Substring] = []
        for setting in SettingsTable.all {
            let path = setting.name.split(separator: ".")
            let parents = Array(path.dropLast())
            text += "\n"
            for depth in parents.indices where depth >= section.count || section[depth] != parents[depth] {
                text += "#\(indent(depth))\(parents[depth]):\n\n"
            }
            section = parents
            text += entry(setting, depth: parents.count)
        }
        return text
    }

    /// The same as a table for readers of the documentation.
    package static func markdown() -> String {
        var text = """
            # Settings

            Generated from the table in `Sources/DaemonSetup/Configuration`. `config/dld.yaml` has the same list as a file to
            start from. Precedence, strongest first: command line, environment, `settings.set`, the user's file,
            `/etc/dld/dld.yaml`, default. `settings.set` refuses to change a setting that a stronger source sets.

            `/etc/dld/dld.yaml` also applies to every user's daemon, except for `socket` and `stateDirectory`. Users cannot
            override two of its settings: `maximumConcurrentTasksPerUser` and `maximumQueuedTasksPerUser`. In that file they
            take precedence over everything else. On the system daemon only root and administrators change settings.

            On the system daemon, `session.maximumConcurrentTasks` and `session.httpMaximumConnectionsPerHost` are ceilings:
            a session's own value can only be lower. All other settings of `session` are defaults that a session or task can
            change.

            | setting | type, unit | accepts | default | example | changes | meaning |
            |---|---|---|---|---|---|---|

            """
        for setting in SettingsTable.all {
            let cells = [
                "`\(setting.name)`<br>`\(setting.environmentName)`", typeAndUnit(setting), setting.kind.accepts,
                setting.defaultDescription,
                "`\(setting.example)`", effect(setting), joined(setting.documentation),
            ]
            text += "| \(cells.map { $0.split(separator: "|").joined(separator: "\\|") }.joined(separator: " | ")) |\n"
        }
        return text
    }

    private static func entry(_ setting: Setting, depth: Int) -> String {
        let margin = "#" + indent(depth)
        let leaf = setting.name.split(separator: ".").last ?? ""
        var lines = wrapped(joined(setting.documentation), width: 108 - 2 * depth)
        lines += wrapped("Type: \(typeAndUnit(setting)); \(setting.kind.accepts).", width: 108 - 2 * depth)
        lines += wrapped(
            "Default: \(setting.defaultDescription). Example: \(setting.example). Changes: \(effect(setting)).",
            width: 108 - 2 * depth)
        let prose = lines.map { "\(indent(depth).isEmpty ? "" : indent(depth))# \($0)\n" }.joined()
        let hasFixedDefault = setting.read(DaemonSettings()) != .null
        return prose + "\(margin)\(leaf): \(hasFixedDefault ? setting.defaultDescription : setting.example)\n"
    }

    private static func typeAndUnit(_ setting: Setting) -> String {
        setting.kind.unit == "none" ? "\(setting.kind.name), no unit" : "\(setting.kind.name), \(setting.kind.unit)"
    }

    private static func effect(_ setting: Setting) -> String {
        switch setting.effect {
        case .reload: setting.runtimeName == nil ? "on reload" : "at once by settings.set, and on reload"
        case .restart: "on restart"
        }
    }

    private static func indent(_ depth: Int) -> String { String(repeating: "  ", count: depth) }

    private static func joined(_ text: String) -> String { text.split(separator: "\n").joined(separator: " ") }

    private static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if last.count + 1 + word.count <= width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
