import ArgumentParser
import DaemonKit
import DaemonSetup
import Glibc

/// `dld`: arguments in, exit status out; `DaemonKit.Daemon` does the rest.
@main
struct DaemonCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dld",
        abstract: "The background transfer daemon: runs, resumes and reports downloads and uploads.",
        discussion: """
            Runs in the foreground and logs to standard error. Without options it serves this user, with folders as in \
            the XDG base directory specification; `dlctl` starts it on demand.
            """,
        version: "dld \(Daemon.version)")

    @Flag(help: "Serve all users of this machine, running as its own unprivileged user.")
    var system = false

    @Option(help: ArgumentHelp("Read this file instead of the user's and /etc/dld/dld.yaml.", valueName: "file"))
    var config: String?

    @Option(name: .customLong("state-dir"), help: ArgumentHelp("Keep database and journal here.", valueName: "dir"))
    var stateDirectory: String?

    @Option(help: ArgumentHelp("Listen on this Unix socket.", valueName: "path"))
    var socket: String?

    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
    var logLevel: String?

    @Option(
        name: .customLong("set"), parsing: .singleValue,
        help: ArgumentHelp("Set any setting of the configuration file; repeatable.", valueName: "name=value"))
    var settings: [String] = []

    @Flag(
        name: .customLong("check-config"),
        help: "Check the configuration and the files, folders and groups that it names, print mistakes, and exit.")
    var checkConfig = false

    func validate() throws {
        for setting in settings where !setting.contains("=") {
            throw ValidationError("--set \(setting): write NAME=VALUE.")
        }
    }

    func run() async throws {
        var arguments = DaemonArguments()
        arguments.system = system
        arguments.configFile = config
        arguments.stateDirectory = stateDirectory
        arguments.socket = socket
        arguments.logLevel = logLevel
        for setting in settings {
            let pair = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            arguments.settings[String(pair[0])] = String(pair[1])
        }
        let status =
            checkConfig ? Daemon.checkConfiguration(arguments) : await Daemon.run(arguments)
        throw ExitCode(status)
    }
}
