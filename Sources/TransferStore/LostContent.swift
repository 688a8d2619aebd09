import Foundation
import TransferModel

/// Tells a database that lost its content from one that never had any. SQLite takes both for new ones, and removes the log that
/// lies beside an empty file, with the changes in it.
enum LostContent {
    /// - Throws: `disk.io` where the database is empty, and what lies beside it is made only after the database has content.
    static func refuse(_ folder: StateFolder) throws {
        guard isEmpty(folder.database) else { return }
        let log = folder.database + "-wal"
        if isLog(log) {
            throw refusal(
                folder, proof: log,
                "holds changes of its queue; nothing was changed. Restore \(folder.database) from a backup, together with its log. "
                    + "To begin with an empty queue, move both away.")
        }
        for proof in [folder.journal, folder.reserve] where hasContent(proof) {
            throw refusal(
                folder, proof: proof,
                "shows that there was a queue; nothing was changed. Restore \(folder.database) from a backup. To begin with an empty "
                    + "queue, move it away.")
        }
    }

    private static func refusal(_ folder: StateFolder, proof: String, _ rest: String) -> TransferError {
        TransferError(
            .diskIO, "\(folder.database) is empty, but \(proof) \(rest)", retryable: false,
            details: ["path": .string(folder.database), "proof": .string(proof)])
    }

    /// Without a byte, or of zeros alone.
    private static func isEmpty(_ path: String) -> Bool {
        var info = stat()
        guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return false }
        return info.st_size == 0 || BlankDatabase.isBlank(path)
    }

    private static func hasContent(_ path: String) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFREG && info.st_size > 0
    }

    /// Whether a log of SQLite's is there, with more than its header of 32 bytes.
    /// Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
    private static func isLog(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var start = [UInt8](repeating: 0, count: 33)
        guard pread(file, &start, start.count, 0) == start.count else { return false }
        return start[..<3] == [0x37, 0x7f, 0x06] && start[3] & 0xfe == 0x82
    }
}
