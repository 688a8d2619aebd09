import ArgumentParser
import Glibc
import TransferModel

/// The command line of the fleet: arguments in, exit status out.
@main
struct DldFleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dld-fleet",
        abstract: "One queue of transfers in PostgreSQL for many machines with dld.",
        discussion: """
            The database is named by `database` in /etc/dld/fleet.yaml or ~/.config/dld/fleet.yaml, or by PGHOST, PGSERVICE \
            and libpq's other variables. Passwords come from ~/.pgpass or a service file.

            EXAMPLES:
              dld-fleet migrate                         create or update the schema
              dld-fleet node                            work for the fleet
              dld-fleet add -w https://example.org/f    queue a download, wait for it
              dld-fleet list --state failed             what went wrong
              dld-fleet drain node-7                    take a machine out

            EXIT STATUS:
              0 done, 1 a job that was waited for failed or was cancelled, or
              migrate --check found work, 2 usage, 3 no database, 4 refused, 5 the time
              limit is over, 76 schema and program do not fit, 78 a mistake in the
              configuration, 130 interrupted
            """,
        version: "dld-fleet \(Product.version)",
        subcommands: [
            MigrateCommand.self, NodeCommand.self, AddCommand.self, ListCommand.self, ShowCommand.self,
            WatchCommand.self, CancelCommand.self, RetryCommand.self, NodesCommand.self, DrainCommand.self,
            LimitCommand.self,
        ])

    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // Otherwise the database would get the number of a standard stream, and output would go into it.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDWR)
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        Glibc.exit(await run(arguments).rawValue)
    }

    /// Parses and runs one command line, and reports how it ended.
    static func run(_ arguments: [String]) async -> ExitStatus {
        // A line that does not run may have lost its options.
        let console = Console(json: arguments.prefix { $0 != "--" }.contains("--json"))
        do {
            var command = try await asyncParseAsRoot(arguments)
            if !(command is NodeCommand) {
                // The process ends at once; a statement that runs is taken back or not, as after kill -9.
                signal(SIGINT) { _ in _exit(ExitStatus.interrupted.rawValue) }
            }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return .done
        } catch let failure as Failure {
            console.report(failure)
            return failure.status
        } catch let error as DatabaseError {
            let failure = Failure(error)
            console.report(failure)
            return failure.status
        } catch let status as ExitStatus {
            return status
        } catch {
            return report(parsing: error, console)
        }
    }

    /// Help and version go to standard output with status 0. Anything else is wrong usage.
    static func report(parsing error: any Error, _ console: Console) -> ExitStatus {
        let text = fullMessage(for: error)
        if exitCode(for: error) == .success {
            Console.write(text.isEmpty || text.hasSuffix("\n") ? text : text + "\n", to: STDOUT_FILENO)
            return .done
        }
        let reason = text.hasPrefix("Error: ") ? String(text.dropFirst("Error: ".count)) : text
        console.report(Failure(.usage, "usage", reason))
        return .usage
    }
}

/// Thrown by commands that have already printed everything.
extension ExitStatus: Error {}
