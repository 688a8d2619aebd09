import Glibc

/// The journal that a daemon leaves beside the database if it dies while it creates it.
///
/// Later there is none: changes go to the write-ahead log. A read-only connection refuses a database with such a
/// journal, because the file must first be rolled back, which only a writing connection does.
enum RollbackJournal {
    /// Whether the transaction that was cut off began when the database had at most one page, so that rolling back
    /// leaves no table. False if there is no journal or it cannot be read.
    ///
    /// The header in SQLite's file format (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>): 8 bytes of
    /// magic, number of pages, nonce, and the database's pages at the beginning, big-endian.
    static func isOfNewDatabase(_ database: String) -> Bool {
        let file = open(database + "-journal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: 20)
        guard pread(file, &header, header.count, 0) == header.count, Array(header[..<8]) == magic else {
            return hasOnePage(database)
        }
        return header[16...].reduce(0) { $0 << 8 | Int($1) } <= 1
    }

    /// SQLite ignores a journal whose header is incomplete: the database is unchanged.
    private static func hasOnePage(_ database: String) -> Bool {
        var info = stat()
        return stat(database, &info) == 0 && info.st_size <= 4096
    }

    private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
}
