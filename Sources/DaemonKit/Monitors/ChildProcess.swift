import CLinux
import FileKit
import Glibc
import Threading
import TransferModel
import TransferStore

/// posix_spawn(3) for a program that has nothing to do with the daemon: its own session, no signals blocked or
/// ignored, no descriptors but three: input empty, standard output joined to the error output (the journal).
///
/// The process waits before it becomes the program, so that its number can be stored first: a daemon that dies before
/// `begin` leaves nothing behind.
final class ChildProcess: Sendable {
    let pid: pid_t
    /// A shell waits for a line at the other end; without one it ends.
    private let gate: Guarded<Descriptor?>

    /// The shell becomes the program: number and start time stay. What shells put into the environment goes.
    private static let waiting = "read -r go && unset go PWD OLDPWD SHLVL && exec \"$0\" \"$@\" </dev/null"

    /// - Parameter argv: the program is searched in the PATH of `environment` if it has no slash.
    /// - Throws: `request.bad_field` if the program cannot be started.
    init(_ argv: [String], environment: [String: String]) throws(TransferError) {
        try Self.requireProgram(argv[0])
        var (reader, writer): (Int32, Int32) = (-1, -1)
        guard dld_pipe(&reader, &writer) == 0 else { throw Self.failure(argv[0], errno) }
        defer { close(reader) }
        gate = Guarded(Descriptor(writer))
        // A shell that reads gets no EAGAIN.
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

    /// What the shell could only tell the log.
    private static func requireProgram(_ program: String) throws(TransferError) {
        guard program.contains("/") else { return }
        guard access(program, X_OK) == 0 else { throw failure(program, errno) }
        var status = stat()
        if stat(program, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { throw failure(program, EISDIR) }
    }

    private static func failure(_ program: String, _ code: Int32) -> TransferError {
        TransferError(.badField, "Cannot start \(program): \(errorText(code)).")
    }

    /// - Parameter output: standard output; by default joined to the error output.
    static func spawn(
        _ argv: [String], input: Int32, output: Int32 = 2, environment: [String: String]
    ) throws(TransferError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        // A connection that a library opened would stay open for as long as the program runs.
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
        let status = withCStrings(argv) { arguments in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }.sorted()) { variables in
                posix_spawn(&child, argv[0], &actions, &attributes, arguments, variables)
            }
        }
        guard status == 0 else { throw failure(argv[0], status) }
        return child
    }

    /// Waits for the child and returns its exit status, or 128 and the signal that ended it. Blocks.
    func wait() -> Int32 {
        var status: Int32 = 0
        let (result, _) = retrying { waitpid(pid, &status, 0) }
        guard result == pid else { return -1 }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    static func withCStrings<T>(
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

/// Processes by more than their number, which the kernel gives to others later.
enum ProcessTable {
    /// nil if there is no such process, or /proc does not tell.
    static func identity(of pid: pid_t) -> ProgramIdentity? {
        guard let boot = BootName.current, let found = look(pid) else { return nil }
        return ProgramIdentity(pid: pid, startTime: found.startTime, boot: boot)
    }

    /// Whether the very process still runs; one that waits to be reaped does not.
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

    /// proc_pid_stat(5): `state` is the third field, `starttime` the 22nd. The second, the name, ends at the last `)` and may
    /// hold anything: the kernel cuts it after 15 bytes, be it inside a letter.
    static func fields(of line: ArraySlice<UInt8>) -> (state: String, startTime: UInt64)? {
        guard let end = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = String(decoding: line[end...], as: UTF8.self).split(separator: " ")
        guard fields.count > 20, let startTime = UInt64(fields[20]) else { return nil }
        return (String(fields[1]), startTime)
    }
}
