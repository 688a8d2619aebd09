import Glibc
import TransferClient
import TransferModel

/// Finds the daemon, starts it if none answers and this is allowed, and explains failures.
struct DaemonAccess: Sendable {
    /// The value of `--socket`.
    var socket: String?
    var system = false
    var mayStart: Bool
    var environment: [String: String]
    /// Called with one sentence when a daemon is being started.
    var remark: @Sendable (String) -> Void
    /// Name of the daemon's executable.
    var program = "dld"

    /// How long a call waits before it checks whether the daemon answers at all. With that check, the limit is 30 s.
    static let patience = Duration.seconds(20)

    /// A service manager starts the daemon again within this time (RestartSec=2).
    static let restart = Duration.seconds(3)

    /// How long to wait for a lost daemon if this program must not start it.
    static let longestOutage = Duration.seconds(60)

    /// The sockets at which this user's own daemon may be, in order. An explicit path is the only one.
    private var own: [String] { candidates.filter { !DaemonClient.systemSocketPaths.contains($0) || isExplicit } }

    /// The sockets of the system daemon, for users who have no daemon of their own.
    private var shared: [String] { candidates.filter { !own.contains($0) } }

    private var candidates: [String] {
        DaemonClient.candidateSocketPaths(explicit: socket, system: system, environment: environment)
    }

    /// The option or variable that names the only socket, and the path.
    private var explicit: (name: String, path: String)? {
        if let socket { return ("--socket", socket) }
        guard let named = environment["DLD_SOCKET"], !named.isEmpty else { return nil }
        return ("DLD_SOCKET", named)
    }

    private var isExplicit: Bool { explicit != nil }

    /// - Throws: `CommandFailure.noDaemon` if none answers and none could be started, or if this user has no access.
    func connect() async throws -> DaemonClient {
        if !isExplicit, !system, let runtime = DaemonClient.unusableRuntimeFolder(environment: environment) {
            remark("XDG_RUNTIME_DIR \(Printable.text(runtime.path)) \(runtime.reason) and is ignored")
        }
        let (found, reasons) = try await look(own + shared)
        if let found { return found }
        guard mayStart else {
            let advice = system ? "sudo systemctl enable --now dld.service dld.socket" : starting
            throw CommandFailure.noDaemon(
                "no daemon answers; start one with: \(advice)\n" + reasons.joined(separator: "\n"))
        }
        return try await start()
    }

    /// Returns the running daemon, if there is one. Starts none.
    /// - Throws: `CommandFailure.noDaemon` if this user has no access.
    func connectToRunning() async throws -> DaemonClient? { try await look(own + shared).found }

    /// Looks once for a lost daemon. Restarts this user's own daemon if it died and nothing else restarts it.
    /// - Parameter place: its previous socket. Another daemon does not have its tasks.
    /// - Returns: nil if the caller must look again.
    /// - Throws: `CommandFailure.noDaemon` if it did not come back, could not be started, or refuses this user.
    func reconnect(to place: String, _ outage: Outage) async throws -> DaemonClient? {
        let isOwn = own.contains(place)
        // An explicit path may belong to a daemon with an unknown state folder.
        let isToBeStarted = isOwn && mayStart && !isExplicit && own.contains(where: Self.isLeftBehind)
        if outage.attempts == 1, !isToBeStarted {
            remark(
                "the daemon at \(Printable.text(place)) is gone; waiting \(Self.longestOutage.components.seconds) s for it"
            )
        }
        let (found, reasons) = try await look(isOwn ? own : [place])
        if outage.waited >= Self.longestOutage { throw lost(place, reasons) }
        if found == nil, isToBeStarted, outage.waited >= Self.restart { return try await start() }
        return found
    }

    /// Tells whether a daemon left its socket there. A daemon that is stopped removes its socket, and must stay
    /// stopped.
    private static func isLeftBehind(_ socket: String) -> Bool { access(socket, F_OK) == 0 }

    private static func isNoSocket(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFSOCK
    }

    /// The command that starts this user's daemon. At a socket that was named, its state folder may be another.
    private var starting: String { isExplicit ? "dld" : "dlctl start" }

    private func lost(_ place: String, _ reasons: [String]) -> CommandFailure {
        let advice =
            DaemonClient.systemSocketPaths.contains(place)
            ? "systemctl status dld.service shows why" : "start one with: \(starting)"
        return .noDaemon(
            "the daemon at \(Printable.text(place)) did not come back within \(Self.longestOutage.components.seconds) s; "
                + "its tasks continue when it does (\(advice))\n" + reasons.joined(separator: "\n"))
    }

    private func start() async throws -> DaemonClient {
        let path = explicit.map { PathText.absolute($0.path, in: PathText.current) }
        let ofState = DaemonLauncher.stateFolder(environment: environment).map { $0 + "/dld.sock" }
        if let explicit, explicit.path.utf8.count > Self.longestPath, path != ofState {
            throw CommandFailure.noDaemon(
                "no daemon answers, and none can listen there: \(explicit.name) has \(explicit.path.utf8.count) bytes, but a "
                    + "socket's path has at most \(Self.longestPath); name a shorter one")
        }
        if let explicit, let path, path != ofState, let owner = Self.otherOwner(of: path) {
            throw CommandFailure.noDaemon(
                "no daemon answers at \(explicit.name) \(Printable.text(explicit.path)), and none is started there: \(owner); "
                    + "start the daemon that belongs there, or name a socket in your own folder")
        }
        if let explicit, let path, path != ofState { try await refuseSecond(explicit.name, path) }
        let launcher = DaemonLauncher(environment: environment, socket: path, program: program)
        let place = path.flatMap { path in
            DaemonLauncher.stateFolder(environment: environment).map {
                " at \(Printable.text(path)), with the state folder \(Printable.text($0))"
            }
        }
        remark("starting dld" + (place ?? ""))
        DaemonLauncher.keepDescriptorsFromChildren()
        return try await launcher.start { try await look(own).found }
    }

    /// Refuses to start a second daemon: it cannot use the state folder of the first, and with a new folder it would
    /// have none of the tasks.
    private func refuseSecond(_ name: String, _ path: String) async throws {
        var environment = environment
        environment["DLD_SOCKET"] = nil
        let usual = DaemonClient.candidateSocketPaths(environment: environment)
            .filter { !DaemonClient.systemSocketPaths.contains($0) }
        if let client = try? await look(usual.filter { $0 != path }).found {
            await client.close()
            throw CommandFailure.noDaemon(
                "no daemon answers at \(name) \(Printable.text(path)); yours runs at \(Printable.text(client.socketPath))"
            )
        }
        if Self.isNoSocket(path) {
            throw CommandFailure.noDaemon(
                "no daemon answers at \(name) \(Printable.text(path)), which is not a socket; name a daemon's socket")
        }
        if !usual.contains(path), Self.isLeftBehind(path), !isOfUsualState(path) {
            throw CommandFailure.noDaemon(
                "no daemon answers at \(name) \(Printable.text(path)); one listened there and has died. dlctl does not know "
                    + "its state folder, and a daemon with another one would have none of its tasks; start it as before: "
                    + "dld --socket \(ShellText.word(Printable.text(path))) --state-dir FOLDER")
        }
        if path.hasSuffix("/dld.sock"), !usual.contains(path), access(PathText.folder(of: path), F_OK) != 0 {
            throw CommandFailure.noDaemon(
                "no daemon answers at \(name) \(Printable.text(path)), and its folder does not exist; if a state folder "
                    + "was moved, start dld on it at its new path, or create the folder for a new queue")
        }
    }

    /// Tells whether the daemon that last listened there used the state folder that a new daemon would use. The
    /// folder's lock file has the socket.
    private func isOfUsualState(_ socket: String) -> Bool {
        guard let folder = DaemonLauncher.stateFolder(environment: environment),
            let bytes = try? InputFile.read(folder + "/lock")
        else { return false }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains { $0 == socket }
    }

    /// Returns why this user must not listen at a socket. A daemon of their own there would replace the one that others
    /// use.
    private static func otherOwner(of socket: String) -> String? {
        if DaemonClient.systemSocketPaths.contains(socket) { return "it is the system daemon's" }
        let folder = PathText.folder(of: socket)
        var status = stat()
        guard stat(folder, &status) == 0 else { return nil }
        // For example /tmp.
        if status.st_mode & 0o1002 == 0o1002 { return nil }
        if status.st_uid != geteuid() { return "\(Printable.text(folder)) belongs to another user" }
        if status.st_mode & 0o070 != 0, status.st_gid != getegid() {
            return "\(Printable.text(folder)) is shared with another group"
        }
        return nil
    }

    /// The size of `sun_path` without its terminating NUL; unix(7).
    private static let longestPath = 107

    /// Connects to the first daemon that answers.
    /// - Throws: `CommandFailure.noDaemon` if the intended daemon refuses the user or ends the connection: no other
    ///   daemon replaces it. The system daemon is intended only if the user said so. Also if another user runs the daemon,
    ///   before anything is sent, except for root and the system daemon.
    private func look(_ paths: [String]) async throws -> (found: DaemonClient?, reasons: [String]) {
        try Self.requireDescriptors()
        var reasons: [String] = []
        var refusal: ClientError?
        for path in paths {
            if let refusal, !system, shared.contains(path) { throw CommandFailure(refusal) }
            do {
                let client = try await DaemonClient.connect(to: path, patience: Self.patience)
                if let user = client.daemonUser, user != geteuid(), user != 0, !system,
                    !DaemonClient.systemSocketPaths.contains(path)
                {
                    await client.close()
                    throw CommandFailure.noDaemon(
                        "the daemon at \(Printable.text(path)) runs as user \(user), who could read what you send, passwords "
                            + "and cookies too; if you trust it as the system daemon, add --system")
                }
                return (client, [])
            } catch let error as CommandFailure {
                throw error
            } catch let error as ClientError {
                reasons.append("  " + error.brief)
                if case .connectionLost = error { refusal = refusal ?? error }
                guard case .notPermitted = error else { continue }
                if system || own.contains(path) {
                    refusal = refusal ?? error
                } else if mayStart {
                    remark(error.description)
                }
            } catch {
                reasons.append("  \(Printable.text(path)): \(error)")
            }
        }
        if let refusal { throw CommandFailure(refusal) }
        return (nil, reasons)
    }

    /// File descriptors: the event loop needs three, the signals three and the connection two. The rest is for files.
    private static let neededDescriptors = 12

    /// Checked first, because the event loop ends the process if it gets no descriptors.
    /// - Throws: `CommandFailure.local` if too few are free.
    private static func requireDescriptors() throws {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < neededDescriptors {
            let descriptor = open("/", O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw tooFewDescriptors(opened.count) }
            opened.append(descriptor)
        }
    }

    private static func tooFewDescriptors(_ free: Int) -> CommandFailure {
        let reason = String(cString: strerror(errno))
        var limit = rlimit()
        guard errno == EMFILE, getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return .local("needs \(neededDescriptors) file descriptors, but only \(free) could be opened: \(reason)")
        }
        return .local(
            "needs \(neededDescriptors) free file descriptors and has \(free): the limit is \(limit.rlim_cur); raise it with ulimit -n 64"
        )
    }
}

extension ClientError {
    /// The description without the part that the line above already has.
    fileprivate var brief: String {
        switch self {
        case .noDaemon(let socket, let reason), .notPermitted(let socket, let reason):
            "\(Printable.text(socket)): \(reason)"
        case .noAnswer, .connectionLost, .protocolMismatch: description
        }
    }
}

/// Counts the attempts and the waiting time since the daemon was lost.
struct Outage: Hashable, Sendable {
    private(set) var attempts = 0
    private(set) var waited = Duration.zero

    static let firstDelay = Duration.milliseconds(250)
    static let longestDelay = Duration.seconds(5)

    /// How long to wait before the next attempt.
    var delay: Duration { min(Self.firstDelay * (1 << min(attempts, 10)), Self.longestDelay) }

    /// Waits before the next attempt.
    mutating func pass() async throws {
        let delay = delay
        attempts += 1
        waited += delay
        try await Task.sleep(for: delay)
    }
}
