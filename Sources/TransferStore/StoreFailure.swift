import CSQLite
import Glibc
import TransferModel

/// Translates failures of SQLite and of the system into `TransferError`.
enum StoreFailure {
    /// - Parameter path: of the database.
    static func transferError(_ error: any Error, of path: String) -> any Error {
        switch error {
        case let error as TransferError: error
        case let error as SQLiteError: transferError(error, of: path)
        case is CancellationError: error
        default: TransferError(.internal, "The store failed: \(error).")
        }
    }

    static func transferError(_ error: SQLiteError, of path: String) -> TransferError {
        let text = "\(error.message) (SQLite code \(error.code))"
        return switch error.primaryCode {
        case _ where isStorageFull(error):
            TransferError(.diskFull, "No space is left in the state folder; free some.")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            damage("The state database \(path) is damaged: \(text). \(remedy)", of: path)
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY:
            TransferError(.diskIO, "The state database cannot be used: \(text).")
        default:
            TransferError(.internal, "The state database refused a statement: \(text).")
        }
    }

    static let remedy = "Stop dld and restore the database from a backup; docs/operations.md says how."

    static func damage(_ message: String, of path: String) -> TransferError {
        TransferError(.diskIO, message, retryable: false, details: ["path": .string(path), damaged: true])
    }

    /// Member of an error's details.
    private static let damaged = "damaged"

    static func isDamage(_ error: TransferError) -> Bool { error.details[damaged] == true }

    /// Whether SQLite ran out of space: for a page, or for the index of the WAL (-shm).
    static func isStorageFull(_ error: SQLiteError) -> Bool {
        error.primaryCode == SQLITE_FULL || error.code == dld_sqlite_shared_memory_full
    }

    /// Failures after which the whole transaction is void, not only the body in which they happened.
    static func voidsTransaction(_ error: any Error) -> Bool {
        guard let error = error as? SQLiteError else { return false }
        return switch error.primaryCode {
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_READONLY, SQLITE_CANTOPEN,
            SQLITE_INTERRUPT, SQLITE_NOTADB:
            true
        default: false
        }
    }

    /// A failed system call as a sentence.
    static func system(_ what: String, path: String, errno code: Int32) -> TransferError {
        let cause = String(cString: strerror(code))
        let kind: ErrorCode =
            switch code {
            case EACCES, EPERM, EROFS: .permissionDenied
            case ENOSPC: .diskFull
            case EDQUOT: .diskQuota
            default: .diskIO
            }
        return TransferError(
            kind, "\(what) \(path): \(cause). Check the state folder or name another with --state-dir.",
            details: ["path": .string(path), "errno": .integer(Int64(code))])
    }
}

/// stat(2); nil with errno set if it fails.
/// - Parameter followsLinks: false for lstat(2).
func fileStatus(_ path: String, followsLinks: Bool = true) -> stat? {
    var info = stat()
    return (followsLinks ? stat(path, &info) : lstat(path, &info)) == 0 ? info : nil
}
