import Glibc
import TestSupport

/// One user's folders, and the programs as that user starts them: in a login, or by cron, ssh and su, which have no
/// runtime folder.
final class UserHouse: Sendable {
    let folder: TemporaryFolder
    let home: String
    let runtime: String

    /// - Parameters:
    ///   - name: the home folder's name; several components make nested folders.
    ///   - runtimeName: the runtime folder's name, in the same form.
    init(home name: String = "home", runtime runtimeName: String = "runtime") throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        home = try Self.folders(name, in: folder.path, mode: 0o755)
        runtime = try Self.folders(runtimeName, in: folder.path, mode: 0o700)
    }

    /// Ends a daemon that dlctl started here.
    deinit {
        guard let holder, (try? Files.text("/proc/\(holder)/environ"))?.contains("HOME=\(home)\0") == true else {
            return
        }
        kill(holder, SIGKILL)
    }

    private static func folders(_ name: String, in folder: String, mode: mode_t) throws -> String {
        var path = folder
        for part in name.split(separator: "/") {
            path += "/" + part
            guard mkdir(path, mode) == 0 else { throw SupportError("mkdir \(path): errno \(errno)") }
        }
        return path
    }

    var state: String { home + "/.local/state/dld" }
    var stateSocket: String { state + "/dld.sock" }
    var runtimeSocket: String { runtime + "/dld/dld.sock" }
    var log: String { (try? Files.text(folder.file("log"))) ?? "" }

    /// The process that has the state folder, according to its lock.
    var holder: pid_t? {
        (try? Files.text(state + "/lock")).flatMap { $0.split(separator: "\n").first }.flatMap { pid_t($0) }
    }

    func environment(_ runtime: String?) -> [String: String] {
        var variables = Program.plainEnvironment
        variables["HOME"] = home
        variables["XDG_RUNTIME_DIR"] = runtime
        return variables
    }

    /// Starts a daemon without naming its socket. Returns when the daemon says that it is ready.
    func start(_ runtime: String?, _ arguments: [String] = []) async throws -> Program {
        let program = try Program(
            [try Binaries.path("dld")] + arguments, environment: environment(runtime),
            output: folder.file("log"))
        let isReady = await eventually(within: 30) { log.contains("ready ") || !program.isRunning }
        guard isReady, program.isRunning else { throw SupportError("dld does not start: \(log)") }
        return program
    }

    func dlctl(_ runtime: String?, _ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await Program.run([try Binaries.path("dlctl")] + arguments, environment: environment(runtime))
    }

    /// Tells whether dlctl reaches the daemon with this process number without starting one.
    func reaches(_ pid: pid_t, _ runtime: String?) async throws -> Bool {
        let (status, output) = try await dlctl(runtime, ["info", "--no-start"])
        return status == 0 && output.contains("\(pid), uid")
    }

    /// Runs a program as another user, to whom the folders' modes apply.
    func program(_ name: String, as user: UInt32, _ arguments: [String]) async throws -> (status: Int32, output: String)
    {
        chmod(folder.path, 0o711)
        let identity = ["setpriv", "--reuid", "\(user)", "--regid", "\(user)", "--clear-groups"]
        return try await Program.run(
            identity + [try await reachablePrograms() + "/" + name] + arguments, environment: environment(nil))
    }

    /// A folder with copies of the programs. The checkout may be in a folder that only its owner can enter, and dlctl
    /// starts the dld next to it.
    private func reachablePrograms() async throws -> String {
        let programs = folder.file("programs")
        if mkdir(programs, 0o755) == 0 {
            try await Program.require(["cp", try Binaries.path("dld"), try Binaries.path("dlctl"), programs])
        }
        return programs
    }
}

/// The inode of a socket's file; nil if there is none.
func socketInode(_ path: String) -> ino_t? {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK ? status.st_ino : nil
}
