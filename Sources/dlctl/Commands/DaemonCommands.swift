import ArgumentParser
import TransferModel
import TransferRPC

struct LimitCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Show or change rate limits and slots, also for running transfers.",
        discussion: """
            EXAMPLES:
              dlctl limit                      show the limits in force
              dlctl limit --down 2M            all downloads together
              dlctl limit --down none --tasks 8
              dlctl limit --down default       back to the configuration
            """)

    @Option("All downloads together: 500k, 2M, none or default.", "rate")
    var down: String?

    @Option("All uploads together: 500k, 2M, none or default.", "rate")
    var up: String?

    @Option("Tasks that run at the same time, or default.", "n")
    var tasks: String?

    @Option("Tasks that run at the same time on one host, or default.", "n")
    var perHost: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// A small number without a unit would nearly stop all transfers. Usually, `2` is meant as 2M.
    static func unitHint(_ option: String, _ value: String) -> String? {
        guard option == "--down" || option == "--up", let bytes = Int(value), (1..<1024).contains(bytes) else {
            return nil
        }
        return "\(option) \(value) is \(bytes) bytes a second; for more write \(bytes)k or \(bytes)M"
    }

    func run(_ session: CommandSession) async throws {
        var values: [SettingName: JSONValue] = [:]
        let given: [(option: String, value: String?, name: SettingName)] = [
            ("--down", down, .downloadRateLimit), ("--up", up, .uploadRateLimit),
            ("--tasks", tasks, .maximumConcurrentTasks), ("--per-host", perHost, .maximumConcurrentTasksPerHost),
        ]
        for case (let option, let value?, let name) in given {
            values[name] = try Assignment("\(option)=\(value)")?.parsed(as: name.form)
            if let hint = Self.unitHint(option, value) { session.console.remark(hint) }
        }
        let names = given.map(\.name)
        if values.isEmpty {
            try await session.show(Methods.getSettings, Nothing()) { $0.lines(names) }
        } else {
            try await session.show(Methods.setSettings, SetSettings(values)) { $0.lines(names) }
        }
    }
}

struct StatsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Show figures of the running daemon.")
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        try await session.show(Methods.daemonStats, Nothing(), Self.lines)
    }

    static func lines(_ stats: DaemonStats) -> [StyledText] {
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
        let machine = [
            stats.isMetered.map { $0 ? "metered" : "not metered" },
            stats.isCellular.map { $0 ? "cellular" : "not cellular" },
            stats.isBehindPortal.map { $0 ? "shows a login page" : "shows no login page" },
        ].compactMap(\.self)
        sheet.add("network", machine.isEmpty ? nil : machine.joined(separator: ", "))
        sheet.add("power", stats.isOnBattery.map { $0 ? "battery" : "mains" })
        sheet.add("database", stats.damage.map { Printable.text($0) }, .bad)
        return sheet.render()
    }
}

struct InfoCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show the daemon's version, process, folders and features.")
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        try await session.show(Methods.daemonInfo, Nothing(), Self.lines)
    }

    static func lines(_ info: DaemonInfo) -> [StyledText] {
        var sheet = Sheet()
        sheet.add("name", "\(info.name) \(info.version)", .strong)
        sheet.add("protocol", String(info.protocol))
        sheet.add("process", "\(info.pid), uid \(info.uid)")
        sheet.add("mode", info.mode.rawValue)
        for socket in info.sockets ?? [info.socket] { sheet.add("socket", Printable.text(socket)) }
        sheet.add("state folder", Printable.text(info.stateDirectory))
        sheet.add("database", info.damage.map { Printable.text($0) }, .bad)
        sheet.add("your folder", info.userDirectory.map { Printable.text($0) })
        sheet.add("started", LocalTime.text(info.startedAt))
        sheet.add("libcurl", info.libcurl)
        sheet.add("sqlite", info.sqlite)
        if let schemes = info.schemes, !schemes.isEmpty {
            sheet.add("helper schemes", schemes.joined(separator: ", "))
        }
        sheet.add("features", info.features.joined(separator: ", "))
        return sheet.render()
    }
}
