import Dispatch
import Glibc

/// A program that dlctl starts: the daemon, systemctl, and xdg-open for what the user opens. It has no input, and a
/// session of its own, so that it may outlive dlctl.
struct OtherProgram: Sendable {
    /// posix_spawn(3): POSIX_SPAWN_SETSID, which glibc shows only to programs that define _GNU_SOURCE.
    private static let setSession: Int16 = 0x80

    let pid: pid_t

    /// - Parameters:
    ///   - words: the program, which is looked for in PATH, and its arguments.
    ///   - log: gets its output, after what the file has; without it the output is lost.
    ///   - environment: without it, dlctl's own.
    /// - Returns: nil, with errno set, if it cannot be started.
    init?(_ words: [String], log: String? = nil, environment: [String: String]? = nil) {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, STDOUT_FILENO, log ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        posix_spawnattr_setflags(&attributes, Self.setSession | Int16(POSIX_SPAWN_SETSIGDEF))
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            (environment ?? [:]).map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var pid: pid_t = 0
        let status = variables.withUnsafeMutableBufferPointer { own in
            posix_spawnp(
                &pid, words[0], &actions, &attributes, &arguments, environment == nil ? environ : own.baseAddress)
        }
        guard status == 0 else {
            errno = status
            return nil
        }
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
