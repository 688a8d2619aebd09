import Glibc

/// The file descriptors that this process may still open.
enum Descriptors {
    /// The event loop needs three, the signals three and the connection two. The rest is for files.
    static let needed = 12

    /// Checked first, because the event loop ends the process if it gets no descriptors.
    /// - Throws: `CommandFailure.local` if too few are free.
    static func require() throws {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < needed {
            let descriptor = open("/", O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw failure(free: opened.count) }
            opened.append(descriptor)
        }
    }

    private static func failure(free: Int) -> CommandFailure {
        let reason = String(cString: strerror(errno))
        var limit = rlimit()
        guard errno == EMFILE, getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return .local("needs \(needed) file descriptors, but only \(free) could be opened: \(reason)")
        }
        return .local(
            "needs \(needed) free file descriptors and has \(free): the limit is \(limit.rlim_cur); raise it with ulimit -n 64"
        )
    }
}
