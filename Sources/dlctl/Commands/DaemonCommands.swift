import ArgumentParser
import TransferModel
import TransferRPC

struct LimitCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Show or change rate limits and slots; running transfers follow at once.",
        discussion: """
            EXAMPLES:
              dlctl limit                      what is in force
              dlctl limit --down 2M            all downloads together
              dlctl limit --down none --tasks 8
            """)

    @Option(help: ArgumentHelp("All downloads together: 500k, 2M, none.", valueName: "rate"))
    var down: RateArgument?

    @Option(help: ArgumentHelp("All uploads together: 500k, 2M, none.", valueName: "rate"))
    var up: RateArgument?

    @Option(help: ArgumentHelp("Tasks that run at the same time.", valueName: "n"))
    var tasks: Int?

    @Option(help: ArgumentHelp("Tasks that run at the same time on one host.", valueName: "n"))
    var perHost: Int?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    static let names: [SettingName] = [
        .downloadRateLimit, .uploadRateLimit, .maximumConcurrentTasks, .maximumConcurrentTasksPerHost,
    ]

    func run(_ session: CommandSession) async throws {
        var values: [SettingName: JSONValue] = [:]
        values[.downloadRateLimit] = down.map { .integer($0.rate.rawValue) }
        values[.uploadRateLimit] = up.map { .integer($0.rate.rawValue) }
        values[.maximumConcurrentTasks] = tasks.map { .integer(Int64($0)) }
        values[.maximumConcurrentTasksPerHost] = perHost.map { .integer(Int64($0)) }
        if values.isEmpty {
            try await session.show(GetSettings.self, Nothing()) { SettingsSheet.render($0, only: Self.names) }
        } else {
            try await session.show(SetSettings.self, SetSettings.Parameters(values)) {
                SettingsSheet.render($0, only: Self.names)
            }
        }
    }
}

struct SettingsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show or change global settings.",
        discussion: """
            'name=value' changes a setting durably, 'name=default' removes the change. Sizes and rates take 500k, 2M, \
            1.5G; durations 30s, 5m, 7d.
            """)

    @Argument(
        help: ArgumentHelp("Settings to change, or names to show; all without it.", valueName: "name=value"),
        completion: .list(SettingName.allCases.map { $0.rawValue }))
    var words: [String] = []

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        var values: [SettingName: JSONValue] = [:]
        var names: [SettingName] = []
        for word in words {
            let assignment = Assignment(word)
            let name = try Self.setting(assignment?.name ?? word)
            names.append(name)
            if let assignment { values[name] = try assignment.parsed(as: name.form) }
        }
        let shown = names.isEmpty ? SettingName.allCases : names
        if values.isEmpty {
            try await session.show(GetSettings.self, Nothing()) { SettingsSheet.render($0, only: shown) }
        } else {
            try await session.show(SetSettings.self, SetSettings.Parameters(values)) {
                SettingsSheet.render($0, only: shown)
            }
        }
    }

    private static func setting(_ text: String) throws -> SettingName {
        guard let name = SettingName(rawValue: text) else {
            let known = SettingName.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure.usage("\(Printable.text(text, limit: 40)): no such setting. Known: \(known)")
        }
        return name
    }
}

/// Settings with their origins.
enum SettingsSheet {
    static func render(_ settings: SettingsView, only names: [SettingName]) -> [StyledText] {
        var sheet = Sheet()
        for name in names {
            guard let setting = settings[name] else { continue }
            sheet.add(
                name.rawValue,
                StyledText(name.text(setting.value)) + StyledText("  (\(setting.origin.rawValue))", .faint))
        }
        return sheet.render()
    }
}

struct StatsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(commandName: "stats", abstract: "Figures of the running daemon.")
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        try await session.show(DaemonStats.self, Nothing(), Self.lines)
    }

    static func lines(_ stats: DaemonStats.Result) -> [StyledText] {
        var sheet = Sheet()
        for state in TaskState.allCases { sheet.add(state.rawValue, stats.tasks[state.rawValue].map(String.init)) }
        sheet.add("active transfers", String(stats.activeTransfers))
        sheet.add("download rate", Figures.rate(stats.downloadRate))
        sheet.add("upload rate", Figures.rate(stats.uploadRate))
        sheet.add("received", Figures.bytes(stats.bytesReceived))
        sheet.add("sent", Figures.bytes(stats.bytesSent))
        sheet.add("memory", Figures.bytes(stats.memory))
        sheet.add("connections", String(stats.connections))
        sheet.add("last event", stats.head.description)
        sheet.add("uptime", Figures.duration(stats.uptime))
        return sheet.render()
    }
}

struct InfoCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "What the daemon is: version, process, folders, features.")
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        try await session.show(DaemonInfo.self, Nothing(), Self.lines)
    }

    static func lines(_ info: DaemonInfo.Result) -> [StyledText] {
        var sheet = Sheet()
        sheet.add("name", "\(info.name) \(info.version)", .strong)
        sheet.add("protocol", String(info.protocol))
        sheet.add("process", "\(info.pid), uid \(info.uid)")
        sheet.add("mode", info.mode.rawValue)
        for socket in info.sockets ?? [info.socket] { sheet.add("socket", Printable.text(socket)) }
        sheet.add("state folder", Printable.text(info.stateDirectory))
        sheet.add("your folder", info.userDirectory.map { Printable.text($0) })
        sheet.add("started", LocalTime.text(info.startedAt))
        sheet.add("libcurl", info.libcurl)
        sheet.add("sqlite", info.sqlite)
        sheet.add("features", info.features.joined(separator: ", "))
        return sheet.render()
    }
}
