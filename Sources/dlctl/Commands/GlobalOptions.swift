import ArgumentParser
import FoundationEssentials
import Glibc
import TransferClient
import TransferModel
import TransferRPC

/// The options that every command takes, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(
        "Use the daemon at this socket and no other.", "path",
        discussion:
            "If none runs, dlctl starts one there with your usual state folder, unless one with another folder died there. "
            + "dlctl talks to no daemon of another user than root, unless --system says that it is the system daemon.",
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

    /// The words that choose the same daemon, wherever they are used.
    var words: [String] {
        (socket.map { ["--socket", PathText.absolute($0, in: PathText.current)] } ?? []) + (system ? ["--system"] : [])
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
        currentFolder = PathText.current
        asker = Asker(program: global.program)
        access = DaemonAccess(
            socket: global.socket.map { PathText.absolute($0, in: PathText.current) },
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
        asker.mayConfigure = try await client.call(Methods.daemonInfo, Nothing()).administrator ?? true
        return asker
    }

    func connect() async throws -> any DaemonCalling { try await access.connect() }

    /// Connects to the daemon for `work`.
    func withDaemon<Result>(_ work: (any DaemonCalling) async throws -> Result) async throws -> Result {
        let client = try await connect()
        do {
            let result = try await work(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }

    /// Makes one call on its own connection.
    func call<M: RPCMethod>(_ method: M, _ parameters: M.Parameters) async throws -> M.Result {
        try await withDaemon { try await $0.call(method, parameters) }
    }

    /// Makes a call and prints the result: the value itself with `--json`, otherwise the lines made by `describe`.
    func show<M: RPCMethod>(
        _ method: M, _ parameters: M.Parameters, _ describe: (M.Result) -> [StyledText]
    ) async throws {
        let result = try await call(method, parameters)
        if console.json { console.value(result) } else { describe(result).forEach(console.line) }
    }

    /// Makes a call that lists something: prints a table, or remarks that there is `none`.
    func list<M: RPCMethod, Element>(
        _ method: M, _ parameters: M.Parameters, _ elements: (M.Result) -> [Element], none: String,
        _ table: ([Element]) -> Table
    ) async throws {
        try await show(method, parameters) { result in
            let elements = elements(result)
            if elements.isEmpty { console.remark(none) }
            return elements.isEmpty ? [] : table(elements).render(width: console.width)
        }
    }

    /// Makes a call that changes something, and remarks what it did.
    func tell<M: RPCMethod>(
        _ method: M, _ parameters: M.Parameters, _ remark: (M.Result) -> String
    ) async throws {
        try await show(method, parameters) {
            console.remark(remark($0))
            return []
        }
    }

    func absolute(_ path: String) -> String { PathText.absolute(path, in: currentFolder) }
}

/// Chooses the owner of tasks and sessions, for root and administrators.
struct OwnerOptions: ParsableArguments {
    @Option("Another user's (administrators only): a user name or id, or 'all' or '*'.", "user", long: "owner")
    var scope: OwnerScope?
}

extension OwnerScope: ExpressibleByArgument {
    public init?(argument: String) {
        if argument == "all" || argument == "*" {
            self = .everyone
        } else if let uid = UInt32(argument) {
            self = .user(UserID(uid))
        } else if let entry = getpwnam(argument) {
            self = .user(UserID(entry.pointee.pw_uid))
        } else {
            return nil
        }
    }
}

extension Option {
    /// An option with a value, which the help calls `value`. A short name may be joined with the value: `-s7`.
    init<T: ExpressibleByArgument>(
        _ help: String, _ value: String, short: Character? = nil, long: String? = nil, discussion: String? = nil,
        completion: CompletionKind? = nil
    ) where Value == T? {
        self.init(
            name: .of(short, long), help: .init(help, discussion: discussion, valueName: value), completion: completion)
    }

    /// The same for an option that may be repeated.
    init<T: ExpressibleByArgument>(
        wrappedValue: [T], _ help: String, _ value: String, short: Character? = nil, long: String? = nil,
        completion: CompletionKind? = nil
    ) where Value == [T] {
        self.init(
            wrappedValue: wrappedValue, name: .of(short, long), help: .init(help, valueName: value),
            completion: completion)
    }
}

extension NameSpecification {
    /// - Parameter long: nil for the name of the property.
    fileprivate static func of(_ short: Character?, _ long: String?) -> NameSpecification {
        let long = long.map { NameSpecification.Element.customLong($0) } ?? .long
        return NameSpecification(short.map { [.customShort($0, allowingJoined: true), long] } ?? [long])
    }
}
