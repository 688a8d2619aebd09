import Glibc
import Threading
import TransferModel

/// The built `dld`, used from outside like by its users: started, killed, and started again with the same state folder.
package final class DaemonProcess: Sendable {
    package let folder: TemporaryFolder
    package let socket: String
    package let stateFolder: String
    private let arguments: [String]
    private let wrapper: [String]
    private let environment: [String: String]
    private let program = Guarded<Program?>(nil)

    /// - Parameters:
    ///   - arguments: added after `--state-dir`, `--socket` and `--log-level debug`.
    ///   - wrapper: put before the command, for example to run it in a network namespace.
    ///   - stateFolder: used instead of one in the test's folder.
    package init(
        _ arguments: [String] = [], wrapper: [String] = [], environment: [String: String] = [:],
        stateFolder: String? = nil
    ) throws {
        folder = try TemporaryFolder()
        chmod(folder.path, 0o755)
        socket = folder.file("dld.sock")
        self.stateFolder = stateFolder ?? folder.file("state")
        self.arguments = arguments
        self.wrapper = wrapper
        var variables = Program.plainEnvironment
        variables["HOME"] = folder.path
        variables["XDG_STATE_HOME"] = folder.file("xdg-state")
        variables["XDG_CONFIG_HOME"] = folder.file("xdg-config")
        // No realm of this machine, and nobody's tickets.
        (variables["KRB5_CONFIG"], variables["KRB5CCNAME"]) = ("/dev/null", "MEMORY:none")
        // Whether this machine is metered or on battery is no matter of a test.
        variables["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=\(folder.file("no-bus"))"
        self.environment = variables.merging(environment) { $1 }
    }

    /// Starts a new daemon and waits until it answers.
    package static func started(
        _ arguments: [String] = [], wrapper: [String] = [], environment: [String: String] = [:],
        stateFolder: String? = nil
    ) async throws -> DaemonProcess {
        let daemon = try DaemonProcess(
            arguments, wrapper: wrapper, environment: environment, stateFolder: stateFolder)
        try await daemon.start()
        return daemon
    }

    package var pid: pid_t? { program.withLock { $0?.pid } }
    package var isRunning: Bool { program.withLock { $0?.isRunning ?? false } }
    package var log: String { (try? Files.text(folder.file("log"))) ?? "" }

    package func start() async throws {
        let dld = try Binaries.path("dld")
        let started = try Program(
            wrapper + [dld, "--state-dir", stateFolder, "--socket", socket, "--log-level", "debug"] + arguments,
            environment: environment, output: folder.file("log"))
        program.withLock { $0 = started }
        // At the start of a run, all suites start their daemons at once.
        let answers = await eventually(within: 120) {
            if !started.isRunning { return true }
            guard let probe = try? await RPCProbe(socket) else { return false }
            return (try? await probe.call("daemon.info", within: 30)) != nil
        }
        guard answers, started.isRunning else {
            throw SupportError("the daemon does not answer: \(log.suffix(4000))")
        }
    }

    /// Sends SIGKILL, and returns when the process is gone.
    package func kill() async throws {
        let running = program.withLock { $0 }
        // With a wrapper that does not exec, the daemon is a child, so the whole session is killed.
        if let running { Glibc.kill(-running.pid, SIGKILL) }
        try await running?.killNow()
    }

    /// Sends SIGTERM, and returns the exit status.
    package func terminate(within limit: Double = 30) async throws -> Int32 {
        guard let running = program.withLock({ $0 }) else { throw SupportError("not started") }
        running.signal(SIGTERM)
        return try await running.waitForEnd(within: limit)
    }

    package func signal(_ number: Int32) { program.withLock { $0 }?.signal(number) }

    package func restart() async throws {
        try await kill()
        try await start()
    }

    package func probe(uid: UInt32? = nil) async throws -> RPCProbe { try await RPCProbe(socket, uid: uid) }

    /// Runs `dlctl` against this daemon.
    package func dlctl(_ arguments: [String], limit: Double = 120) async throws -> (status: Int32, output: String) {
        try await Program.run(
            [try Binaries.path("dlctl"), "--no-start"] + arguments,
            environment: environment.merging(["DLD_SOCKET": socket]) { $1 },
            limit: limit)
    }

    /// Tells whether this text is in the database or its log.
    package func stores(_ text: String) async throws -> Bool {
        let files = ["dld.sqlite", "dld.sqlite-wal"].map { "\(stateFolder)/\($0)" }
        return try await Program.run(["grep", "-qaF", "-e", text] + files).status == 0
    }

    /// The daemon's resident memory in bytes.
    package func residentMemory() throws -> Int64 { try memory("VmRSS:") }

    /// The daemon's highest resident memory in bytes since its start or since `resetPeakMemory`.
    package func peakMemory() throws -> Int64 { try memory("VmHWM:") }

    /// Uses proc(5), clear_refs.
    package func resetPeakMemory() throws {
        guard let pid else { throw SupportError("not started") }
        try Files.write("/proc/\(pid)/clear_refs", "5")
    }

    private func memory(_ line: String) throws -> Int64 {
        guard let pid else { throw SupportError("not started") }
        let line = try Files.text("/proc/\(pid)/status").split(separator: "\n").first { $0.hasPrefix(line) }
        let figure = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        guard let kibibytes = figure.flatMap({ Int64($0) }) else { throw SupportError("no such figure") }
        return kibibytes * 1024
    }
}

/// The programs of this build, next to the test bundle.
package enum Binaries {
    /// - Throws: `SupportError` if the program was not built.
    package static func path(_ name: String) throws -> String {
        let folder = getenv("DLD_BINARIES").map { String(cString: $0) } ?? bundleFolder
        let path = folder + "/" + name
        guard access(path, X_OK) == 0 else { throw SupportError("\(path) is not there: run swift build first") }
        return path
    }

    /// The folder of the file from which this code was loaded, according to /proc/self/maps.
    private static let bundleFolder: String = {
        let here = UInt(bitPattern: #dsohandle)
        for line in ((try? Files.text("/proc/self/maps")) ?? "").split(separator: "\n") {
            let bounds = line.prefix(while: { $0 != " " }).split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard bounds.count == 2, bounds[0]..<bounds[1] ~= here, let start = line.firstIndex(of: "/"),
                let end = line.lastIndex(of: "/")
            else { continue }
            return String(line[start..<end])
        }
        return "."
    }()
}
