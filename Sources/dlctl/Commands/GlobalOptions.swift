import ArgumentParser
import FoundationEssentials
import Glibc
import TransferClient
import TransferModel
import TransferRPC

/// The options that every command takes, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use the daemon at this socket and no other.",
            discussion:
                "If none runs, dlctl starts one there with your usual state folder, unless one with another folder died there. "
                + "dlctl talks to no daemon of another user than root, unless --system says that it is the system daemon.",
            valueName: "path"),
        completion: .file())
    var socket: String?

    @Flag(help: "Use the system daemon, not your own; with --socket, at that socket.")
    var system = false

    @Flag(help: "Print JSON: one value, or one per line if results come one by one.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print only results, no remarks and no progress.")
    var quiet = false

    @Flag(help: "Do not start a daemon if none runs.")
    var noStart = false

    /// How to call this program for the same daemon.
    var program: String {
        let option = socket.map { " --socket \(ShellText.word(Printable.text($0)))" } ?? ""
        return "dlctl" + option + (system ? " --system" : "")
    }

    func validate() throws {
        if socket == "" { throw ValidationError("--socket: name the path of a socket.") }
    }
}

/// A command that talks to the daemon.
protocol DaemonCommand: AsyncParsableCommand {
    var global: GlobalOptions { get }
    func run(_ session: CommandSession) async throws
}

extension DaemonCommand {
    mutating func run() async throws {
        let session = CommandSession(global)
        do {
            try await run(session)
        } catch let error as TransferError {
            throw CommandFailure.refused(error)
        } catch let error as ClientError {
            throw CommandFailure(error)
        }
    }
}

extension CommandFailure {
    /// Maps the loss of the daemon during a call to a failure.
    init(_ error: ClientError) {
        switch error {
        case .noDaemon, .notPermitted, .noAnswer, .connectionLost: self = .noDaemon(error.description)
        case .protocolMismatch: self = .local(error.description)
        }
    }
}

/// The environment of a running command: its output, and its access to the daemon.
struct CommandSession: Sendable {
    var console: Console
    var access: DaemonAccess
    var environment: [String: String]
    var currentFolder: String
    /// Without its rights, which only the daemon knows.
    var asker: Asker

    init(_ global: GlobalOptions, environment: [String: String] = Self.environment) {
        let console = Console(json: global.json, quiet: global.quiet, environment: environment)
        self.console = console
        self.environment = environment
        currentFolder = WorkingFolder.path
        asker = Asker(program: global.program)
        access = DaemonAccess(
            socket: global.socket.map { PathText.absolute($0, in: WorkingFolder.path) },
            system: global.system, mayStart: !global.noStart && !global.system, environment: environment,
            remark: { console.remark($0) })
    }

    /// The environment of the process. If HOME is missing, as in some cron jobs and services, it comes from the user
    /// database, as in the daemon.
    private static var environment: [String: String] {
        var environment = ProcessInfo.processInfo.environment
        if environment["HOME"]?.hasPrefix("/") != true, let entry = getpwuid(getuid()),
            let folder = entry.pointee.pw_dir
        {
            environment["HOME"] = String(cString: folder)
        }
        return environment
    }

    /// The user with their rights: only administrators may change the settings of the system's daemon.
    func asker(_ client: any DaemonCalling) async throws -> Asker {
        var asker = asker
        asker.mayConfigure = try await client.call(DaemonInfo.self, Nothing()).administrator ?? true
        return asker
    }

    func connect() async throws -> any DaemonCalling { try await access.connect() }

    /// Makes one call on its own connection.
    func call<M: RPCMethod>(_ method: M.Type, _ parameters: M.Parameters) async throws -> M.Result {
        let client = try await connect()
        do {
            let result = try await client.call(method, parameters)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }

    /// Makes a call and prints the result: the value itself with `--json`, otherwise the lines made by `describe`.
    func show<M: RPCMethod>(
        _ method: M.Type, _ parameters: M.Parameters, _ describe: (M.Result) -> [StyledText]
    ) async throws {
        let result = try await call(method, parameters)
        if console.json { console.value(result) } else { describe(result).forEach(console.line) }
    }

    func absolute(_ path: String) -> String { PathText.absolute(path, in: currentFolder) }
}

/// Chooses the owner of tasks and sessions, for root and administrators.
struct OwnerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Another user's (administrators only): a user name or id, or 'all' or '*'.", valueName: "user"))
    var owner: OwnerArgument?

    var scope: OwnerScope? { owner?.scope }
}

struct OwnerArgument: ExpressibleByArgument, Hashable {
    var scope: OwnerScope

    init?(argument: String) {
        if argument == "all" || argument == "*" {
            scope = .everyone
        } else if let uid = UInt32(argument) {
            scope = .user(UserID(uid))
        } else if let entry = getpwnam(argument) {
            scope = .user(UserID(entry.pointee.pw_uid))
        } else {
            return nil
        }
    }
}
