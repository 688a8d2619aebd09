import Glibc

/// The folder in which dlctl was started.
enum WorkingFolder {
    /// What is wrong with the folder if its path is empty.
    static var fault: String {
        guard let name = getcwd(nil, 0) else { return errno == ENOENT ? "no longer exists" : "cannot be read" }
        free(name)
        return "has a name that is not valid UTF-8"
    }

    /// Absolute; empty if there is none that JSON, which is UTF-8, can name.
    static var path: String {
        guard let name = getcwd(nil, 0) else { return "" }
        defer { free(name) }
        return String(validatingCString: name) ?? ""
    }
}
