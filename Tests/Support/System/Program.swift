import CLinux
import Glibc
import Threading

/// A started program, known by its process id. It ends with the object that started it.
package final class Program: Sendable {
    package let pid: pid_t
    private let ended = Guarded<Int32?>(nil)

    /// - Parameters:
    ///   - environment: the complete environment; nothing is inherited.
    ///   - output: the file to which standard output and errors are appended; nil for /dev/null.
    package init(
        _ argv: [String], environment: [String: String] = Program.plainEnvironment, output: String? = nil
    ) throws {
        try ProgramTable.admit(argv[0])
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Closes what other tests have open. A connection that this program also held would not end when a server closes it.
        dld_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | dld_spawn_setsid())
        var child: pid_t = 0
        var arguments = argv.map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        let status = posix_spawnp(&child, argv[0], &actions, &attributes, &arguments, &variables)
        guard status == 0 else { throw SupportError("cannot start \(argv[0]): errno \(status)") }
        pid = child
    }

    /// The program has its own session, so that the processes it started end with it.
    deinit {
        if ended.withLock({ $0 == nil }) {
            Glibc.kill(-pid, SIGKILL)
            Glibc.kill(pid, SIGKILL)
            var status: Int32 = 0
            waitpid(pid, &status, 0)
        }
    }

    package func signal(_ number: Int32) { if isRunning { Glibc.kill(pid, number) } }

    /// False after it has ended. Reaps the process.
    package var isRunning: Bool { exitStatus == nil }

    /// The exit status, or 128 plus the number of the signal; nil while it runs.
    package var exitStatus: Int32? {
        ended.withLock { ended in
            if let ended { return ended }
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
            let signal = status & 0x7f
            ended = signal == 0 ? (status >> 8) & 0xff : 128 + signal
            return ended
        }
    }

    /// Waits for the end and returns the exit status.
    package func waitForEnd(within limit: Double = 60) async throws -> Int32 {
        _ = await eventually(within: limit, every: 0.005) { !isRunning }
        guard let status = exitStatus else { throw SupportError("process \(pid) did not end in \(limit) s") }
        return status
    }

    /// Sends SIGKILL, and returns when the process is gone.
    package func killNow() async throws {
        Glibc.kill(pid, SIGKILL)
        _ = try await waitForEnd()
    }

    /// Runs a program to its end, and returns its status and output.
    package static func run(
        _ argv: [String], environment: [String: String] = Program.plainEnvironment, limit: Double = 120
    ) async throws -> (status: Int32, output: String) {
        let folder = try TemporaryFolder()
        let file = folder.file("output")
        let program = try Program(argv, environment: environment, output: file)
        let status = try await program.waitForEnd(within: limit)
        return (status, (try? Files.text(file)) ?? "")
    }

    /// Runs a program to its end. A status other than 0 is an error with the output.
    package static func require(_ argv: [String]) async throws {
        let (status, output) = try await run(argv)
        guard status == 0 else { throw SupportError("\(argv.joined(separator: " ")): \(status): \(output)") }
    }

    package static var plainEnvironment: [String: String] {
        var plain = [
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        ]
        // What scripts/check-sanitizers sets counts for the programs too.
        for name in ["ASAN_OPTIONS", "TSAN_OPTIONS"] { plain[name] = getenv(name).map { String(cString: $0) } }
        return plain
    }

    /// The absolute path of a program in the usual folders, including /usr/sbin.
    package static func find(_ name: String) -> String? {
        (plainEnvironment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 }
    }
}
