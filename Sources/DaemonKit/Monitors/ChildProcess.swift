import CLinux
import Glibc
import TransferModel

/// posix_spawn(3) for a program that has nothing to do with the daemon: its own session, no signals blocked or
/// ignored, no descriptors but three: input empty, standard output joined to the error output (the journal).
enum ChildProcess {
    /// - Parameter argv: the program is searched in the daemon's PATH where it has no slash.
    /// - Throws: `request.bad_field` where the program cannot be started.
    static func spawn(_ argv: [String], environment: [String: String]) throws(TransferError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, 2, 1)
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
                posix_spawnp(&child, argv[0], &actions, &attributes, arguments, variables)
            }
        }
        guard status == 0 else {
            throw TransferError(.badField, "Cannot start \(argv[0]): \(errorText(status)).")
        }
        return child
    }

    /// Waits for the child and returns its exit status, or 128 and the signal that ended it. Blocks.
    static func wait(_ child: pid_t) -> Int32 {
        var status: Int32 = 0
        let (result, _) = retrying { waitpid(child, &status, 0) }
        guard result == child else { return -1 }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
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
