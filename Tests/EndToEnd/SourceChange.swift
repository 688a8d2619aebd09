import Glibc
import TestSupport

/// Possible changes of a file that is to be sent.
enum SourceChange: String, CaseIterable, Sendable {
    case truncated, extended, touched, written, replaced, removed

    func happen(to path: String) throws {
        let size = Int(Files.status(path)?.st_size ?? 0)
        switch self {
        case .truncated: truncate(path, size / 2)
        case .extended: truncate(path, size + 5)
        case .touched: utimes(path, nil)
        case .written:
            let file = open(path, O_WRONLY | O_CLOEXEC)
            defer { close(file) }
            _ = pwrite(file, "another version", 15, off_t(size / 2))
        case .replaced:
            // As long as the old one.
            try Files.write(path + ".new", Content(seed: 99, size: size).bytes)
            rename(path + ".new", path)
        case .removed: unlink(path)
        }
    }

    /// The code of the error with which a task ends.
    var code: String { self == .removed ? "source.unreadable" : "source.changed" }
}
