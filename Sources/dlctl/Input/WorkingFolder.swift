import Glibc

/// The folder that dlctl was called in.
enum WorkingFolder {
    /// Somebody deleted it (getcwd(3)).
    static var isGone: Bool {
        guard let name = getcwd(nil, 0) else { return errno == ENOENT }
        free(name)
        return false
    }

    /// Absolute; empty where it is gone, or its name is no UTF-8, as JSON has to be: with letters replaced it were another.
    static var path: String {
        guard let name = getcwd(nil, 0) else { return "" }
        defer { free(name) }
        return String(validatingCString: name) ?? ""
    }
}
