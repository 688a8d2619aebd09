import Glibc
import TransferClient

/// Finds the daemon, starts it if none answers and that is allowed, and explains failures.
struct DaemonAccess: Sendable {
    /// `--socket`.
    var socket: String?
    var system = false
    var mayStart: Bool
    var environment: [String: String]
    /// Told in one sentence when a daemon is being started.
    var remark: @Sendable (String) -> Void
    /// Name of the daemon's executable.
    var program = "dld"

    /// How long a call waits before it asks whether the daemon answers anybody; with the question that is 30 s.
    static let patience = Duration.seconds(20)

    /// A service manager starts the daemon again within this time (RestartSec=2).
    static let restart = Duration.seconds(3)

    /// How long a lost daemon is waited for if this program may not start it.
    static let longestOutage = Duration.seconds(60)

    /// Where this user's own daemon is looked for, in order; an explicit path is the only one.
    private var own: [String] { candidates.filter { !DaemonClient.systemSocketPaths.contains($0) || isExplicit } }

    /// The system daemon serves users who have none of their own.
    private var shared: [String] { candidates.filter { !own.contains($0) } }

    private var candidates: [String] {
        DaemonClient.candidateSocketPaths(explicit: socket, system: system, environment: environment)
    }

    /// The option or variable that names the one socket.
    private var explicit: (name: String, path: String)? {
        if let socket { return ("--socket", socket) }
        guard let named = environment["DLD_SOCKET"], !named.isEmpty else { return nil }
        return ("DLD_SOCKET", named)
    }

    private var isExplicit: Bool { explicit != nil }

    /// - Throws: `CommandFailure.noDaemon` if none answers and none could be started, or if this user is kept out.
    func connect() async throws -> DaemonClient {
        if !isExplicit, !system, let runtime = DaemonClient.unusableRuntimeFolder(environment: environment) {
            remark("XDG_RUNTIME_DIR \(Printable.text(runtime.path)) \(runtime.reason) and is ignored")
        }
        let (found, reasons) = try await look(own + shared)
        if let found { return found }
        guard mayStart else {
            let advice = system ? "sudo systemctl enable --now dld.service dld.socket" : "dld"
            throw CommandFailure.noDaemon(
                "no daemon answers; start one with: \(advice)\n" + reasons.joined(separator: "\n"))
        }
        return try await start()
    }

    /// The daemon that runs, if one does; none is started.
    /// - Throws: `CommandFailure.noDaemon` if this user is kept out.
    func connectToRunning() async throws -> DaemonClient? { try await look(own + shared).found }

    /// Looks once for a lost daemon, and restarts this user's own if it died and nothing else restarts it.
    /// - Parameter place: its previous socket; the tasks of one daemon are not another's.
    /// - Returns: nil if it must be looked for again.
    /// - Throws: `CommandFailure.noDaemon` if it did not come back, could not be started, or keeps this user out.
    func reconnect(to place: String, _ outage: Outage) async throws -> DaemonClient? {
        let isOwn = own.contains(place)
        // Another daemon may be behind a path that was named, with a state folder that is not known here.
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

    /// Whether a daemon left its socket there. One that is stopped removes it, and is to stay stopped.
    private static func isLeftBehind(_ socket: String) -> Bool { access(socket, F_OK) == 0 }

    private func lost(_ place: String, _ reasons: [String]) -> CommandFailure {
        let advice =
            DaemonClient.systemSocketPaths.contains(place)
            ? "systemctl status dld.service shows why" : "start one with: \(isExplicit ? "dld" : "dlctl start")"
        return .noDaemon(
            "the daemon at \(Printable.text(place)) did not come back within \(Self.longestOutage.components.seconds) s; "
                + "its tasks continue when it does (\(advice))\n" + reasons.joined(separator: "\n"))
    }

    private func start() async throws -> DaemonClient {
        let path = explicit.map { PathText.absolute($0.path, in: WorkingFolder.path) }
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

    /// A second daemon cannot use the state folder of the first, and one with a new folder has none of the tasks.
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

    /// Whether the daemon that listened there last used the state folder that one would be started with: it says so in the
    /// folder's lock file.
    private func isOfUsualState(_ socket: String) -> Bool {
        guard let folder = DaemonLauncher.stateFolder(environment: environment),
            let bytes = try? InputFile.read(folder + "/lock")
        else { return false }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains { $0 == socket }
    }

    /// Why a socket is not this user's to listen at. A daemon of one's own in its place would keep the one out that others use.
    private static func otherOwner(of socket: String) -> String? {
        if DaemonClient.systemSocketPaths.contains(socket) { return "it is the system daemon's" }
        let folder = PathText.folder(of: socket)
        var status = stat()
        guard stat(folder, &status) == 0 else { return nil }
        // Such as /tmp.
        if status.st_mode & 0o1002 == 0o1002 { return nil }
        if status.st_uid != geteuid() { return "\(Printable.text(folder)) belongs to another user" }
        if status.st_mode & 0o070 != 0, status.st_gid != getegid() {
            return "\(Printable.text(folder)) is shared with another group"
        }
        return nil
    }

    /// `sun_path` less its terminating NUL; unix(7).
    private static let longestPath = 107

    /// Connects to the first that answers.
    /// - Throws: `CommandFailure.noDaemon` if the intended daemon keeps the user out or ends the connection: no other daemon
    ///   replaces it. The system daemon is intended only if the user said so.
    private func look(_ paths: [String]) async throws -> (found: DaemonClient?, reasons: [String]) {
        try Descriptors.require()
        var reasons: [String] = []
        var refusal: ClientError?
        for path in paths {
            if let refusal, !system, shared.contains(path) { throw CommandFailure(refusal) }
            do {
                return (try await DaemonClient.connect(to: path, patience: Self.patience), [])
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
}

extension ClientError {
    /// Without the part that the line above already says.
    fileprivate var brief: String {
        switch self {
        case .noDaemon(let socket, let reason), .notPermitted(let socket, let reason):
            "\(Printable.text(socket)): \(reason)"
        case .noAnswer, .connectionLost, .protocolMismatch: description
        }
    }
}

/// How long a daemon that was there has been away, in time that was waited for it.
struct Outage: Hashable, Sendable {
    private(set) var attempts = 0
    private(set) var waited = Duration.zero

    static let firstDelay = Duration.milliseconds(250)
    static let longestDelay = Duration.seconds(5)

    /// How long to wait before the next attempt.
    var delay: Duration { min(Self.firstDelay * (1 << min(attempts, 10)), Self.longestDelay) }

    /// Waits for it.
    mutating func pass() async throws {
        let delay = delay
        attempts += 1
        waited += delay
        try await Task.sleep(for: delay)
    }
}
