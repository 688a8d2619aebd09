import ArgumentParser
import TransferModel
import TransferRPC

struct SettingsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show settings in force and their origins, or change global settings.",
        discussion: """
            'name=value' changes a setting durably, 'name=default' removes the change. Sizes and rates take 500k, 2M, \
            1.5G; durations 30s, 5m, 7d. Other settings are set in a configuration file, in the environment or on the \
            daemon's command line. The table has the value in force of each setting, its unit and its source: 'default', \
            FILE:LINE, the variable or option, or 'settings.set'. Values of a changed file that the daemon does not use yet \
            are shown too.

            EXAMPLES:
              dlctl settings                           all of them
              dlctl settings session.retry             those of a section
              dlctl settings historyRetention=7d
              dlctl settings historyRetention=default
            """)

    @Argument(
        help: .init("Settings to change, or settings or sections to show; default: show all.", valueName: "name=value"),
        completion: .list(SettingName.allCases.map { $0.rawValue }))
    var words: [String] = []

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        var values: [SettingName: JSONValue] = [:]
        var names: [String] = []
        for word in words {
            let assignment = Assignment(word)
            names.append(assignment?.name ?? word)
            guard let assignment else { continue }
            let name = try Self.changeable(assignment.name)
            values[name] = try assignment.parsed(as: name.form)
        }
        if !values.isEmpty { _ = try await session.call(Methods.setSettings, SetSettings(values)) }
        var list = try await session.call(Methods.listSettings, Nothing())
        if !names.isEmpty { list.settings = try Self.selected(names, of: list.settings) }
        if session.console.json {
            session.console.value(list)
        } else {
            list.lines.forEach(session.console.line)
        }
    }

    private static func changeable(_ text: String) throws -> SettingName {
        guard let name = SettingName(rawValue: text) else {
            let known = SettingName.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure.usage(
                "\(Printable.text(text, limit: 40)): not a setting that can be changed here. Changeable: \(known). Others are set in a "
                    + "configuration file, see dld.yaml.")
        }
        return name
    }

    /// Returns the settings in the order of `names`. A section stands for all its settings.
    static func selected(_ names: [String], of settings: [ListedSetting]) throws -> [ListedSetting] {
        try names.flatMap { name in
            let meant = settings.filter { $0.name == name || $0.name.hasPrefix(name + ".") }
            guard !meant.isEmpty else {
                throw CommandFailure.usage(
                    "\(Printable.text(name, limit: 40)): no such setting; dlctl settings lists them.")
            }
            return meant
        }
    }
}

extension SettingsView {
    /// These settings with their origins.
    func lines(_ names: [SettingName]) -> [StyledText] {
        var sheet = Sheet()
        for name in names {
            guard let setting = self[name] else { continue }
            sheet.add(
                name.rawValue,
                StyledText(name.form.text(setting.value)) + StyledText("  (\(setting.origin.rawValue))", .faint))
        }
        return sheet.render()
    }
}

extension SettingsInForce {
    /// All settings with their origins: below each, the value that the changed files give it, then the overruled values.
    var lines: [StyledText] {
        var table = Table([
            .init(title: "SETTING"), .init(title: "VALUE"), .init(title: "UNIT"), .init(title: "SOURCE"),
        ])
        func row(_ name: String, _ value: StyledText, _ source: String, of setting: ListedSetting) -> [StyledText] {
            // A duration has its unit in its text: 7d.
            let unit = setting.unit == "seconds" ? nil : setting.unit
            return [StyledText(name), value, StyledText(unit ?? "", .faint), StyledText(source, .faint)]
        }
        for setting in settings {
            table.rows.append(
                row(
                    setting.name, StyledText(Printable.text(setting.text)), Self.place(setting.place, setting.origin),
                    of: setting))
            if let pending = setting.pending {
                let needed = setting.effect == .restart ? "restart" : "reload"
                let remark = "takes effect after a \(needed): \(Self.place(pending.place, pending.origin))"
                table.rows.append(row("", StyledText(Printable.text(pending.text), .bad), remark, of: setting))
            }
            for other in setting.overruled ?? [] {
                let remark = "overruled: \(Self.place(other.place, other.origin))"
                table.rows.append(row("", StyledText(Printable.text(other.text), .faint), remark, of: setting))
            }
        }
        var lines = table.render(width: nil)
        if let problem {
            lines += ["", StyledText("The changed configuration would be refused:", .bad)]
            lines += problem.split(separator: "\n").map { StyledText("  " + Printable.text(String($0))) }
        }
        return lines
    }

    private static func place(_ place: String?, _ origin: SettingSource) -> String {
        place.map { Printable.text($0) } ?? origin.rawValue
    }
}
