import FoundationEssentials
import Glibc

/// The content of a small text file, or why there is none. A missing file is a normal case, not an exception.
package enum FileText {
    case missing
    case failed(String)
    case text(String)

    /// Reads at most `limit` bytes; open(2), read(2).
    package static func read(_ path: String, limit: Int) -> FileText {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            return errno == ENOENT || errno == ENOTDIR ? .missing : .failed(String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        // A FIFO without a writer, and /dev/null, would look like an empty file. Other special files might never end.
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .failed(String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT == S_IFREG else { return .failed("it is not a regular file") }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                return .failed(String(cString: strerror(errno)))
            }
            if count == 0 { break }
            bytes += chunk[..<count]
            if bytes.count > limit { return .failed("it has more than \(limit) bytes") }
        }
        return String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .failed("it is not UTF-8 text")
    }
}

/// The process's current folder, which relative paths on the command line start from.
enum CurrentFolder {
    package static var path: String { FileManager.default.currentDirectoryPath }
}
