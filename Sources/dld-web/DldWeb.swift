import ArgumentParser
import DaemonSetup
import FoundationEssentials
import Glibc
import TransferModel

/// `dld-web`: arguments in, exit status out; `WebService` does the rest.
@main
struct DldWeb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dld-web",
        abstract: "The page, the metrics and the aria2 endpoint of dld, for one user of this machine.",
        discussion: """
            Runs in the foreground and logs to standard error. `dlctl web` prints a link that opens the page. Every option \
            is also a setting of ~/.config/dld/dld-web.yaml and /etc/dld/dld-web.yaml, and a variable such as DLD_WEB_PORT.
            """,
        version: "dld-web \(Product.version)")

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("Listen on this address in place of 127.0.0.1 and ::1; repeatable.", valueName: "address"))
    var listen: [String] = []
    @Option(help: ArgumentHelp("Listen on this port; 0 = that of the last start, else 8353, else any.", valueName: "n"))
    var port: String?
    @Option(
        name: .customLong("host"), parsing: .singleValue,
        help: ArgumentHelp("Answer to this name too, with or without port; repeatable.", valueName: "name"))
    var hosts: [String] = []
    @Option(help: ArgumentHelp("The socket of dld.", valueName: "path"))
    var socket: String?
    @Flag(help: "Show the system daemon's transfers of this user.")
    var system = false
    @Option(
        name: .customLong("state-dir"), help: ArgumentHelp("Keep port and sessions here.", valueName: "dir"))
    var stateDirectory: String?
    @Option(
        name: .customLong("allow-peer"), parsing: .singleValue,
        help: ArgumentHelp("Let processes of this user connect, such as a proxy's; repeatable.", valueName: "user"))
    var allowedPeers: [String] = []
    @Option(
        name: .customLong("metrics-peer"), parsing: .singleValue,
        help: ArgumentHelp("Let processes of this user read /metrics; repeatable.", valueName: "user"))
    var metricsPeers: [String] = []
    @Option(
        name: .customLong("metrics-token-file"),
        help: ArgumentHelp("Let everybody with this token read /metrics.", valueName: "file"))
    var metricsTokenFile: String?
    @Flag(help: "Serve aria2's interface too.")
    var aria2 = false
    @Option(name: .customLong("aria2-port"), help: ArgumentHelp("Its port; default 6800.", valueName: "n"))
    var aria2Port: String?
    @Option(
        name: .customLong("aria2-secret-file"),
        help: ArgumentHelp("The secret that its clients must send.", valueName: "file"))
    var aria2SecretFile: String?
    @Option(
        name: .customLong("exit-on-idle"),
        help: ArgumentHelp("End after this time without a connection.", valueName: "seconds"))
    var exitOnIdle: String?
    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
    var logLevel: String?
    @Flag(name: .customLong("check-config"), help: "Check the settings, print mistakes, and exit.")
    var checkConfig = false

    private var flags: [(option: String, name: String, values: [String])] {
        let rows: [(String, String, [String])] = [
            ("--listen", "listen", listen), ("--port", "port", [port].compactMap(\.self)), ("--host", "hosts", hosts),
            ("--allow-peer", "allowedPeers", allowedPeers), ("--metrics-peer", "metricsPeers", metricsPeers),
            ("--metrics-token-file", "metricsTokenFile", [metricsTokenFile].compactMap(Self.absolute)),
            ("--aria2", "aria2.enabled", aria2 ? ["true"] : []),
            ("--aria2-port", "aria2.port", [aria2Port].compactMap(\.self)),
            ("--aria2-secret-file", "aria2.secretFile", [aria2SecretFile].compactMap(Self.absolute)),
            ("--exit-on-idle", "exitOnIdle", [exitOnIdle].compactMap(\.self)),
            ("--log-level", "logLevel", [logLevel].compactMap(\.self)),
        ]
        return rows.filter { !$0.2.isEmpty }.map { (option: $0.0, name: $0.1, values: $0.2) }
    }

    /// Relative to the current folder.
    private static func absolute(_ path: String?) -> String? {
        path.map { $0.hasPrefix("/") || $0.hasPrefix("~/") ? $0 : FileManager.default.currentDirectoryPath + "/" + $0 }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        do {
            let arguments = WebArguments(
                flags: flags, socket: Self.absolute(socket), system: system,
                stateDirectory: Self.absolute(stateDirectory))
            let settings = try arguments.settings(environment)
            if checkConfig {
                print("Good.")
                return
            }
            try await WebService.run(arguments, settings, environment)
        } catch let failure as SetupFailure {
            let lines = failure.description.split(separator: "\n").map { "dld-web: \($0)\n" }.joined()
            LogSink.standardError.write(lines)
            LogSink.standardError.flush()
            throw ExitCode(failure.status)
        }
    }
}
