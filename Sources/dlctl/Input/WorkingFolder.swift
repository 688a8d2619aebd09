import Glibc

/// The folder in which dlctl was started.
enum WorkingFolder {
    /// The folder was deleted (getcwd(3)).
    static var isGone: Bool {
        guard let name = getcwd(nil, 0) else { return errno == ENOENT }
        free(name)
        return false
    }

    /// Absolute; empty if it no longer exists, or if its name is not valid UTF-8, which JSON requires.
    static var path: String {
        guard let name = getcwd(nil, 0) else { return "" }
        defer { free(name) }
        return String(validatingCString: name) ?? ""
    }
}
