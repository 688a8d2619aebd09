import CLinux
import FileKit
import Glibc
import Threading
import TransferModel
import TransferStore

/// Starts, with posix_spawn(3), a program that is independent of the daemon. It gets its own session, no blocked or
/// ignored signals, and three descriptors: empty input, and standard output joined to the error output (the journal).
///
/// The process waits before it becomes the program, so that its number can be stored first. If the daemon dies before
/// `begin`, the process ends.
final class ChildProcess: Sendable {
    let pid: pid_t
    /// A shell at the other end waits for a line. If the pipe closes without one, the shell ends.
    private let gate: Guarded<Descriptor?>

    /// The shell becomes the program and keeps its process number and start time. It removes the variables that shells
    /// add to the environment.
    private static let waiting = "read -r go && unset go PWD OLDPWD SHLVL && exec \"$0\" \"$@\" </dev/null"

    /// - Parameter argv: a program without a slash is searched in the PATH of `environment`.
    /// - Throws: `request.bad_field` if the program cannot be started.
    init(_ argv: [String], environment: [String: String]) throws(TransferError) {
        try Self.requireProgram(argv[0])
        var (reader, writer): (Int32, Int32) = (-1, -1)
        guard dld_pipe(&reader, &writer) == 0 else { throw Self.failure(argv[0], errno) }
        defer { close(reader) }
        gate = Guarded(Descriptor(writer))
        // Blocking: a shell does not handle EAGAIN.
        _ = fcntl(reader, F_SETFL, 0)
        pid = try Self.spawn(["/bin/sh", "-c", Self.waiting] + argv, input: reader, environment: environment)
    }

    /// Lets the process become the program.
    func begin() {
        gate.withLock { gate in
            if let writer = gate?.rawValue { _ = write(writer, "\n", 1) }
            gate = nil
        }
    }

    /// Lets the process end instead; `wait` reaps it.
    func abandon() { gate.withLock { $0 = nil } }

    /// Checks in advance what the shell could report only to the log.
    private static func requireProgram(_ program: String) throws(TransferError) {
        guard program.contains("/") else { return }
        guard access(program, X_OK) == 0 else { throw failure(program, errno) }
        var status = stat()
        if stat(program, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { throw failure(program, EISDIR) }
    }

    private static func failure(_ program: String, _ code: Int32) -> TransferError {
        TransferError(.badField, "Cannot start \(program): \(errorText(code)).")
    }

    private static func spawn(
        _ argv: [String], input: Int32, environment: [String: String]
    ) throws(TransferError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, 2, 1)
        // A connection opened by a library would otherwise stay open for as long as the program runs.
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
        let status = withCStrings(argv, environment) { arguments, variables in
            posix_spawn(&child, argv[0], &actions, &attributes, arguments, variables)
        }
        guard status == 0 else { throw failure(argv[0], status) }
        return child
    }

    /// Waits for the child. Returns its exit status, or 128 plus the signal that ended it. Blocks.
    func wait() -> Int32 {
        var status: Int32 = 0
        let (result, _) = retrying { waitpid(pid, &status, 0) }
        guard result == pid else { return -1 }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    /// Starts a program that is killed when the calling thread ends, so it never outlives the daemon.
    /// - Parameter descriptors: its descriptors 0 to 3; -1 for no descriptor 3.
    /// - Returns: -1 and errno if it cannot be started.
    static func startBound(_ argv: [String], _ descriptors: [Int32], environment: [String: String]) -> pid_t {
        withCStrings(argv, environment) { dld_start_helper(argv[0], $0, $1, descriptors) }
    }

    private static func withCStrings<T>(
        _ argv: [String], _ environment: [String: String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>, UnsafePointer<UnsafeMutablePointer<CChar>?>) -> T
    ) -> T {
        withCStrings(argv) { arguments in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }.sorted()) { body(arguments, $0) }
        }
    }

    private static func withCStrings<T>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> T
    ) -> T {
        let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { (pointers + index).initialize(to: strdup(text)) }
        (pointers + texts.count).initialize(to: nil)
        defer {
            for index in texts.indices { free(pointers[index]) }
            pointers.deallocate()
        }
        return body(pointers)
    }
}

/// Identifies processes by more than their number, because the kernel reuses numbers.
enum ProcessTable {
    /// nil if there is no such process, or if /proc does not show it.
    static func identity(of pid: pid_t) -> ProgramIdentity? {
        guard let boot = BootName.current, let found = look(pid) else { return nil }
        return ProgramIdentity(pid: pid, startTime: found.startTime, boot: boot)
    }

    /// Tells whether this very process still runs. A process that waits to be reaped does not count.
    static func isRunning(_ program: ProgramIdentity) -> Bool {
        guard program.boot == BootName.current, let found = look(program.pid) else { return false }
        return found.startTime == program.startTime && !["Z", "X"].contains(found.state)
    }

    private static func look(_ pid: pid_t) -> (state: String, startTime: UInt64)? {
        let descriptor = open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let (count, _) = retrying { read(descriptor, &buffer, buffer.count) }
        return fields(of: buffer.prefix(max(0, count)))
    }

    /// proc_pid_stat(5): `state` is the third field and `starttime` the 22nd. The second field, the name, ends at the
    /// last `)` and may contain anything: the kernel cuts it after 15 bytes, even within a character.
    static func fields(of line: ArraySlice<UInt8>) -> (state: String, startTime: UInt64)? {
        guard let end = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = String(decoding: line[end...], as: UTF8.self).split(separator: " ")
        guard fields.count > 20, let startTime = UInt64(fields[20]) else { return nil }
        return (String(fields[1]), startTime)
    }
}
