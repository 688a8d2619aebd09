import FoundationEssentials
import Glibc
import TransferClient
import TransferModel

/// Starts `dld` for this user in the background: in its own session, without a terminal, with its output in a log file
/// in the state folder.
struct DaemonLauncher: Sendable {
    var environment: [String: String]
    /// Passed on as `--socket` if the user named one.
    var socket: String?
    /// The name of the daemon's executable.
    var program = "dld"
    /// How long the socket may take to answer.
    var patience = Duration.seconds(10)

    /// If two daemons start at once, the second loses the race for the lock and ends. The first may not be ready yet.
    private static let grace = Duration.seconds(1)

    /// Starts the daemon and returns the first non-nil result of `attempt`.
    /// - Throws: `CommandFailure.noDaemon` with the log's last lines if the daemon ends or does not answer in time.
    func start<Client>(until attempt: () async throws -> Client?) async throws -> Client {
        guard let program = Self.find(program, environment: environment) else {
            throw CommandFailure.noDaemon(
                "no daemon answers, and dld is neither next to dlctl nor in PATH; install it, or name its --socket")
        }
        let log = try logFile()
        Self.turn(log)
        let offset = Self.size(of: log)
        let pid = try spawn(program, log: log)
        let clock = ContinuousClock()
        var end = clock.now.advanced(by: patience)
        var status: Int32?
        var pause = Duration.milliseconds(5)
        while clock.now < end {
            if let client = try await attempt() { return client }
            if status == nil, let ended = Self.ended(pid) {
                status = ended
                end = min(end, clock.now.advanced(by: Self.grace))
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
        if let status {
            throw CommandFailure.noDaemon("dld ended with status \(status)\(Self.limit)" + Self.tail(log, from: offset))
        }
        throw CommandFailure.noDaemon(
            "dld was started (process \(pid)) but does not answer within \(patience.components.seconds) s"
                + Self.tail(log, from: offset))
    }

    /// Finds `name` next to this program, or else in PATH.
    static func find(_ name: String, environment: [String: String]) -> String? {
        var candidates: [String] = []
        if let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            candidates.append(PathText.folder(of: own) + "/" + name)
        }
        let path = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        candidates += path.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
        return candidates.first { access($0, X_OK) == 0 }
    }

    /// The state folder that the daemon itself chooses in user mode (protocol.md, `dld`).
    static func stateFolder(environment: [String: String]) -> String? {
        func named(_ key: String) -> String? { environment[key].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        if let own = named("STATE_DIRECTORY") { return own }
        if let state = named("XDG_STATE_HOME") { return state + "/dld" }
        return named("HOME").map { $0 + "/.local/state/dld" }
    }

    private func logFile() throws -> String {
        guard let folder = Self.stateFolder(environment: environment) else {
            throw CommandFailure.noDaemon("cannot start dld: HOME is not set, so it has no state folder")
        }
        guard Self.makePrivate(folder) else {
            throw CommandFailure.noDaemon(
                "cannot start dld: its state folder \(folder) cannot be created (\(Self.reason()))"
                    + Self.remedy(folder))
        }
        guard access(folder, W_OK | X_OK) == 0 else {
            throw CommandFailure.noDaemon(
                "cannot start dld: its state folder \(folder) cannot be used (\(Self.reason()))" + Self.remedy(folder))
        }
        return folder + "/dld.log"
    }

    /// Says what to do about the folder, and names the folder whose mode blocks access, if there is one. Service users
    /// have no home; they should use the system daemon.
    private static func remedy(_ folder: String) -> String {
        guard let barrier = Barrier(to: folder + "/dld.log") ?? Barrier(to: folder) else {
            return
                "; name a folder of your own with XDG_STATE_HOME, or start the system daemon: "
                + "sudo systemctl enable --now dld.service dld.socket"
        }
        return
            ": \(barrier.path) has the mode \(barrier.mode); run chmod u+rwx on it, or name another folder with XDG_STATE_HOME"
    }

    /// Creates missing folders that only their owner may use, as the daemon does.
    private static func makePrivate(_ folder: String) -> Bool {
        if access(folder, F_OK) == 0 { return true }
        let above = PathText.folder(of: folder)
        guard above.isEmpty || above == folder || makePrivate(above) else { return false }
        return mkdir(folder, 0o700) == 0 || errno == EEXIST
    }

    private func spawn(_ program: String, log: String) throws -> pid_t {
        // The daemon must not keep the caller's folder busy. glibc declares its chdir action only for _GNU_SOURCE
        // programs.
        let words = ["/bin/sh", "-c", "cd / && exec \"$0\" \"$@\"", program] + (socket.map { ["--socket", $0] } ?? [])
        guard let daemon = OtherProgram(words, log: log, environment: environment) else {
            throw CommandFailure.noDaemon("cannot start \(program): \(Self.reason())")
        }
        return daemon.pid
    }

    /// Marks every descriptor except the standard three as close-on-exec. Otherwise a lock or pipe that the caller
    /// inherited would live as long as the daemon.
    static func keepDescriptorsFromChildren() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            if let descriptor = Int32(name), descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        }
    }

    private static func ended(_ pid: pid_t) -> Int32? {
        var status: Int32 = 0
        guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    /// Mentions a file-size limit that dld inherits from this program and that prevents it from writing its state and
    /// its log.
    private static var limit: String {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur < UInt(Int64.max)
        else {
            return ""
        }
        return "; this shell limits files to \(limit.rlim_cur) bytes (ulimit -f), which applies to dld too"
    }

    /// Renames a log that has grown long. Nothing else limits it.
    private static func turn(_ log: String) {
        if size(of: log) > longestLog { rename(log, log + ".1") }
    }

    private static let longestLog = 10 << 20

    private static func size(of path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_size) : 0
    }

    /// The last ten lines that the daemon has logged since it was started.
    private static func tail(_ path: String, from offset: Int) -> String {
        guard let handle = fopen(path, "r") else { return "" }
        defer { fclose(handle) }
        fseek(handle, max(offset, size(of: path) - 8192), SEEK_SET)
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = fread(&buffer, 1, buffer.count, handle)
        let lines = String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: "\n").suffix(10)
        if lines.isEmpty { return "; its log \(path) is empty" }
        return ". From its log \(path):\n" + lines.map { "  " + Printable.text(String($0)) }.joined(separator: "\n")
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
