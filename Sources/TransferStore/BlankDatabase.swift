import Glibc

/// What a disk leaves if it failed while the database was made and lost what it had been given: zeros, no more than the
/// schema takes. SQLite would refuse that as not a database.
enum BlankDatabase {
    private static let limit = 1 << 20

    /// Empties such a file; returns false for any other file, which stays as it is.
    static func empty(_ path: String) -> Bool { check(path) { ftruncate($0, 0) == 0 } }

    static func isBlank(_ path: String) -> Bool { check(path) { _ in true } }

    private static func check(_ path: String, _ body: (Int32) -> Bool) -> Bool {
        let file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        let length = Int(lseek(file, 0, SEEK_END))
        guard (1...limit).contains(length) else { return false }
        var content = [UInt8](repeating: 0, count: length)
        guard pread(file, &content, length, 0) == length, content.allSatisfy({ $0 == 0 }) else { return false }
        return body(file)
    }
}
