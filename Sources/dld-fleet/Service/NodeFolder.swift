import Glibc

/// The node's state folder: a lock, and the uuid by which the table knows this node from another of its name.
struct NodeFolder: ~Copyable {
    let instance: String
    private let lock: Int32

    /// - Throws: `Failure` with status 4 if another process works here, or with 1 if the folder cannot be used.
    init(_ path: String) throws(Failure) {
        var parent = ""
        for part in path.split(separator: "/") {
            parent += "/\(part)"
            mkdir(parent, 0o700)
        }
        lock = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw Self.failure(path + "/lock") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw Failure(.refused, "node.running", "Another dld-fleet node works in \(path).")
        }
        do throws(Failure) {
            instance = try Self.instance(path)
        } catch {
            close(lock)
            throw error
        }
    }

    deinit { close(lock) }

    private static func instance(_ folder: String) throws(Failure) -> String {
        let path = folder + "/instance"
        if let known = firstLine(path), known.utf8.count == 36 { return known }
        guard let made = firstLine("/proc/sys/kernel/random/uuid") else {
            throw failure("/proc/sys/kernel/random/uuid")
        }
        let new = path + ".new"
        let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure(new) }
        defer { close(file) }
        let text = made + "\n"
        guard write(file, text, text.utf8.count) == text.utf8.count, fsync(file) == 0, rename(new, path) == 0 else {
            throw failure(path)
        }
        return made
    }

    private static func firstLine(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).split(separator: "\n").first.map(
            String.init)
    }

    private static func failure(_ path: String) -> Failure {
        Failure(.failed, "node.folder", "\(path): \(String(cString: strerror(errno))).")
    }
}
