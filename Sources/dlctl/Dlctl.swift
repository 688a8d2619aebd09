import ArgumentParser
import Glibc
import TransferModel

/// The command line of dld.
@main
struct Dlctl: AsyncParsableCommand {
    static let version = Product.version

    static let configuration = CommandConfiguration(
        commandName: "dlctl",
        abstract: "Add downloads and uploads to dld, the background transfer daemon, and manage them.",
        discussion: """
            Transfers continue after this command has ended, and resume after a crash or a reboot. If no daemon runs, \
            dlctl starts one.

            EXAMPLES:
              dlctl add https://example.org/f.iso    download to this folder
              dlctl add -w -o f.iso URL              download, wait with a live bar
              dlctl add -i list.txt -d ~/Downloads   download a list of URLs
              dlctl upload -w big.iso URL            upload, wait with a live bar
              dlctl list                             list tasks
              dlctl watch                            show a live screen
              dlctl explain 12                       why is task 12 not running?

            EXIT STATUS:
              0 done, 1 a task failed or was cancelled (or a file or the output
              cannot be read or written), 2 usage, 3 no daemon,
              4 refused by the daemon, 5 the time limit of wait is over, 130 interrupted
            """,
        version: "dlctl \(version)",
        subcommands: [DocumentationCommand.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Queue",
                subcommands: [AddCommand.self, UploadCommand.self, FetchCommand.self, UpdateCommand.self]),
            CommandGroup(
                name: "Look",
                subcommands: [
                    ListCommand.self, ShowCommand.self, ExplainCommand.self, WatchCommand.self, WaitCommand.self,
                    EventsCommand.self, DecisionsCommand.self,
                ]),
            CommandGroup(
                name: "Control",
                subcommands: [
                    PauseCommand.self, ResumeCommand.self, CancelCommand.self, RetryCommand.self, RemoveCommand.self,
                    AnswerCommand.self,
                ]),
            CommandGroup(
                name: "Desktop", subcommands: [WebCommand.self, BrowserCommand.self, NotifyCommand.self]),
            CommandGroup(
                name: "Daemon",
                subcommands: [
                    SessionCommand.self, CookiesCommand.self, CredentialCommand.self, HSTSCommand.self,
                    TrustCommand.self, CacheCommand.self, LimitCommand.self, SettingsCommand.self, StatsCommand.self,
                    MetricsCommand.self, InfoCommand.self, StartCommand.self, StopCommand.self,
                ]),
        ]
    )

    static func main() async {
        // A write beyond the file-size limit must fail with an error instead of ending the program (setrlimit(2),
        // RLIMIT_FSIZE).
        signal(SIGXFSZ, SIG_IGN)
        // Otherwise another file would get the number of a standard stream, and output would be written into it.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        // Swift's own list repairs invalid UTF-8, and a repaired path is a different path.
        let raw = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        let garbled = raw.firstIndex { $0.map { String(validatingCString: $0) == nil } ?? false }
        let arguments = withGlobalsLast(Array(CommandLine.arguments.dropFirst()))
        let status =
            if arguments.first == "---completion" {
                await complete(garbled == nil ? arguments : [])
            } else if let garbled {
                refuse(garbled)
            } else {
                await run(arguments)
            }
        Glibc.exit(status.rawValue)
    }
}

extension Dlctl {
    /// Parses and runs one command line, and reports how it ended.
    static func run(_ arguments: [String]) async -> ExitStatus {
        var command: any ParsableCommand
        do {
            command = try await Dlctl.asyncParseAsRoot(arguments)
        } catch {
            return report(parsing: error, arguments)
        }
        let console = (command as? any DaemonCommand).map { CommandSession($0.global).console }
        do {
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return .done
        } catch let failure as CommandFailure {
            (console ?? plainConsole).report(failure)
            return failure.status
        } catch is CancellationError {
            return .interrupted
        } catch  where Dlctl.exitCode(for: error) == .success || error is ValidationError || error is ExitCode {
            return report(parsing: error, arguments)
        } catch {
            let failure = CommandFailure.local(String(describing: error))
            (console ?? plainConsole).report(failure)
            return failure.status
        }
    }

    /// Answers the shell's completion script. An incomplete line is not an error.
    static func complete(_ arguments: [String]) async -> ExitStatus {
        do {
            _ = try await Dlctl.asyncParseAsRoot(arguments)
        } catch  where Dlctl.exitCode(for: error) == .success {
            return report(parsing: error, arguments)
        } catch {
            return .usage
        }
        return .done
    }

    private static var plainConsole: Console { Console(json: false, quiet: false, environment: [:]) }

    /// Reports a command line that does not run. Help and version go to standard output with status 0. Anything else is
    /// wrong usage, which is reported as JSON if the unreadable line contains `--json`.
    private static func report(parsing error: any Error, _ arguments: [String]) -> ExitStatus {
        let text = Dlctl.fullMessage(for: error)
        let isAnswer = Dlctl.exitCode(for: error) == .success
        // Help about a command that does not exist would show the help of dlctl, as if nothing were wrong.
        if !isAnswer || arguments.first == "help", let reason = Mistake.command(arguments, of: Dlctl.self) {
            return refuse(reason)
        }
        if isAnswer {
            plainConsole.raw(text.isEmpty || text.hasSuffix("\n") ? text : text + "\n")
            return .done
        }
        if arguments.contains(where: { $0.hasPrefix("-") }),
            let reason = Mistake.option(arguments, toolInfo: Dlctl._dumpHelp())
        {
            return refuse(reason)
        }
        if let reason = Mistake.value(arguments) { return refuse(reason) }
        return refuse(text.hasPrefix("Error: ") ? String(text.dropFirst("Error: ".count)) : text)
    }

    /// - Parameter number: the number of the argument that is not valid UTF-8.
    static func refuse(_ number: Int) -> ExitStatus {
        refuse(
            "Argument \(number) is not valid UTF-8, which dlctl requires of names and URLs. Rename the file or folder.")
    }

    private static func refuse(_ lines: String) -> ExitStatus {
        // The words as they were written: a line that does not run may have lost its global options.
        let isJSON = CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains("--json")
        let console = Console(json: isJSON, quiet: false, environment: [:])
        console.report(.usage(lines))
        return .usage
    }

    private static let globalFlags: Set = ["--json", "-q", "--quiet", "--no-start", "--system"]

    /// Also accepts global options before the command or in it: `dlctl --json session list` and `dlctl session --json
    /// list` mean `dlctl session list --json`.
    static func withGlobalsLast(_ arguments: [String]) -> [String] {
        var globals: [String] = []
        var rest = arguments[...]
        var path: [String] = []
        var level: any ParsableCommand.Type = Dlctl.self
        while let word = rest.first, !level.configuration.subcommands.isEmpty {
            if globalFlags.contains(word) || word.hasPrefix("--socket=") {
                globals.append(word)
                rest = rest.dropFirst()
            } else if word == "--socket", rest.count >= 2 {
                globals += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else if let next = level.configuration.subcommands.first(where: { $0.isNamed(word) }) {
                path.append(word)
                level = next
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        if globals.isEmpty { return arguments }
        // A group alone prints its help, and has no options.
        return level.configuration.subcommands.isEmpty ? path + globals + rest : path + rest
    }
}

extension ParsableCommand {
    static func isNamed(_ word: String) -> Bool {
        configuration.commandName == word || configuration.aliases.contains(word)
    }
}
