import Glibc

/// Writes a file completely or not at all.
enum WholeFile {
    /// - Parameter mode: who may read it, whatever the umask; by default only its user.
    /// - Returns: false if it could not be written. Then nothing remains.
    static func write(_ text: String, to path: String, mode: mode_t = 0o600) -> Bool {
        let temporary = "\(path).\(getpid()).new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard file >= 0 else { return false }
        let isWritten = writeAll(Array(text.utf8), to: file) && fchmod(file, mode) == 0
        guard close(file) == 0, isWritten, rename(temporary, path) == 0 else {
            unlink(temporary)
            return false
        }
        return true
    }

    private static func writeAll(_ bytes: [UInt8], to file: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
