import FoundationEssentials
import Glibc
import TransferModel

/// Distinguishes a database that was lost from one that never existed. SQLite takes both for new, and removes the log
/// beside a file that is missing or empty, with the changes in it.
extension StateFolder {
    /// What became of the database.
    private enum Loss: String {
        case missing = "is missing"
        case empty = "is empty"
        case tables = "holds no tables"
    }

    /// - Throws: `disk.io` if the database is missing or empty and a file lies beside it that is made only after the
    ///   database has content.
    func refuseLost() throws {
        guard let loss = Self.loss(database) else { return }
        try refuse(loss, proofs: (Self.isLog(log) ? [log] : []) + followers)
    }

    /// For a database that can be read and has no tables: they were in its log, which is missing. A log that exists
    /// belongs to a first start that was cut off.
    func refuseWithoutTables() throws { try refuse(.tables, proofs: followers) }

    /// The files that must go before a start with an empty queue, as a list.
    var listOfAll: String { Self.list(databaseFiles.filter(Self.hasContent) + followers) }

    /// The files that are made once the database has its tables.
    private var followers: [String] { [reserve, journal].filter(Self.hasContent) }

    private func refuse(_ loss: Loss, proofs: [String]) throws {
        guard let proof = proofs.first else { return }
        let restore =
            switch loss {
            case .tables: "Its tables were in \(log): put that back beside it, or restore both from a backup."
            case .missing where proof == log, .empty where proof == log:
                "Put back the \(database) that the log belongs to, or restore both from a backup."
            case .missing, .empty: "Restore \(database) from a backup, together with its log if it had one."
            }
        let rest = (loss == .missing ? [] : [database]) + proofs
        throw TransferError(
            .diskIO,
            "\(database) \(loss.rawValue), but \(Self.list(proofs)) \(proofs.count == 1 ? "shows" : "show") that there was a "
                + "queue; nothing was changed. \(restore) To begin with an empty queue, move away \(Self.list(rest)).",
            retryable: false, details: ["path": .string(database), "proof": .string(proof)])
    }

    private static func list(_ paths: [String]) -> String {
        paths.count < 2 ? paths.joined() : paths.dropLast().joined(separator: ", ") + " and " + (paths.last ?? "")
    }

    /// nil if the file has content; zeros alone are not content.
    private static func loss(_ path: String) -> Loss? {
        guard let info = fileStatus(path) else { return errno == ENOENT ? .missing : nil }
        guard info.st_mode & S_IFMT == S_IFREG else { return nil }
        return info.st_size == 0 || isBlank(path) ? .empty : nil
    }

    /// Whether a file holds zeros alone, no more than the schema takes: what a disk leaves that failed while the database
    /// was made.
    static func isBlank(_ path: String) -> Bool {
        guard hasContent(path), fileStatus(path)?.st_size ?? 0 <= 1 << 20 else { return false }
        return FileManager.default.contents(atPath: path)?.allSatisfy { $0 == 0 } ?? false
    }

    private static func hasContent(_ path: String) -> Bool {
        fileStatus(path, followsLinks: false).map { $0.st_mode & S_IFMT == S_IFREG && $0.st_size > 0 } ?? false
    }

    /// Whether a log of SQLite's exists, with more than its header of 32 bytes.
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
