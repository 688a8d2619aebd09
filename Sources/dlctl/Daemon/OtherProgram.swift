import Dispatch
import Glibc

/// Starts programs of the system that are not the daemon: systemctl, and xdg-open for what the user opens.
struct OtherProgram: Sendable {
    /// posix_spawn(3): POSIX_SPAWN_SETSID, which glibc shows only to programs that define _GNU_SOURCE.
    private static let setSession: Int16 = 0x80

    let pid: pid_t

    /// Starts a program without input and output, in a session of its own, so that it may outlive this one.
    /// - Parameter words: the program, which is looked for in PATH, and its arguments.
    /// - Returns: nil if it cannot be started.
    init?(_ words: [String]) {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for descriptor in STDIN_FILENO...STDERR_FILENO {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        posix_spawnattr_setflags(&attributes, Self.setSession | Int16(POSIX_SPAWN_SETSIGDEF))
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var pid: pid_t = 0
        guard posix_spawnp(&pid, words[0], &actions, &attributes, &arguments, environ) == 0 else { return nil }
        self.pid = pid
    }

    /// Waits for its end.
    /// - Returns: whether its status is 0.
    @discardableResult func succeeds() async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var status: Int32 = 0
                while waitpid(pid, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: status == 0)
            }
        }
    }

    /// Opens a file or a page as the desktop does.
    static func open(_ place: String) -> OtherProgram? { OtherProgram(["xdg-open", place]) }
}
