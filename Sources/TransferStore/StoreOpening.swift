import CSQLite
import FoundationEssentials
import Glibc
import TransferModel

/// Opens the database in the only way that keeps the promises: checked before it is changed, private, durable.
extension Database {
    /// - Parameter accepted: called before anything in the folder is changed.
    /// - Returns: the database with the schema of this version, and the store's random name.
    static func open(_ folder: StateFolder, accepted: () -> Void) throws -> (Database, String) {
        do {
            try folder.requireFiles()
            try folder.refuseLost()
            try inspect(folder)
            accepted()
            try folder.prepareDatabaseFile()
            if folder.copiesOnWrite { keepIndexInMemory() }
            let writer = try Connection(folder.database)
            try setUp(writer, logOf: folder)
            let identifier = try prepare(writer)
            return (Database(writer, path: folder.database), identifier)
        } catch let error as SQLiteError {
            throw refusal(of: folder, error)
        }
    }

    /// Makes a client token remember the session of its removed task, so that it can be forgotten with that session
    /// (`forgetSession`). Used only for the volatile store, to which no later schema applies.
    private static let tokensEndWithTheirSession = "ALTER TABLE client_token ADD COLUMN session INTEGER"

    /// A new database that exists only in memory.
    /// - Parameter first: the first id of the tasks and questions of a volatile store.
    static func openInMemory(isVolatile: Bool, from first: TaskID) throws -> (Database, String) {
        do {
            let writer = try Connection(":memory:")
            let identifier = try prepare(writer)
            if isVolatile {
                try writer.execute("UPDATE counter SET value = ? WHERE name = 'task'", first.rawValue - 1)
                try writer.execute(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES ('decision', ?)", first.rawValue - 1)
                try writer.execute(tokensEndWithTheirSession)
            }
            return (Database(writer, path: nil), identifier)
        } catch let error as SQLiteError {
            throw StoreFailure.transferError(error, of: ":memory:")
        }
    }

    /// SQLite maps the index of its log into memory (`-shm`). If a copy-on-write disk is full, access to it ends in
    /// SIGBUS. The VFS `unix-excl` keeps the index in the heap, for connections of this process only: other processes
    /// find the database locked. Holds for all connections from now on. Source: https://sqlite.org/vfs.html
    private static func keepIndexInMemory() {
        sqlite3_vfs_register(sqlite3_vfs_find("unix-excl"), 1)
    }

    /// WAL checkpoints, made on a separate connection.
    /// - Parameter inPlace: without a separate thread.
    func checkpoints(_ folder: StateFolder, inPlace: Bool) throws -> Checkpointing {
        do {
            let checkpointing = try Checkpointing(path: folder.database, hasThread: !inPlace)
            write { checkpointing.follow($0) }
            return checkpointing
        } catch let error as SQLiteError {
            throw Self.refusal(of: folder, error)
        }
    }

    /// Reads the schema, also what of it is only in the log, and changes nothing.
    private static func inspect(_ folder: StateFolder) throws {
        let path = folder.database
        let hasLog = access(folder.log, F_OK) == 0
        guard let info = fileStatus(path), info.st_size > 0 || hasLog else { return }
        if !hasLog, StateFolder.isBlank(path), truncate(path, 0) == 0 { return }
        do {
            let connection = try Connection(
                untouched: path, hasLog: hasLog || access(path + "-journal", F_OK) == 0)
            defer { connection.close() }
            guard try connection.reading({ try Schema.verify(connection, path: path) }) else {
                return try folder.refuseWithoutTables()
            }
        } catch let error as SQLiteError where error.code == dld_sqlite_has_journal && info.st_size <= 4096 {
            // A daemon died while it made the first page, the only time at which it has a rollback journal. SQLite rolls
            // back to a database without tables once it is opened for writing.
        }
    }

    /// Readers that come before the first commit need a log that is not empty.
    private static func setUp(_ writer: Connection, logOf folder: StateFolder) throws {
        // Only works before the first page is written; lets the file shrink after retention has removed rows.
        try writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
        guard try writer.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw SQLiteError(SQLITE_ERROR, "It has no write-ahead log.")
        }
        // Without FULL, a power loss undoes acknowledged commits. `Checkpointing` makes the WAL checkpoints.
        try writer.execute(
            "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 16777216")
        guard fileStatus(folder.log)?.st_size ?? 0 == 0 else { return }
        try writer.writing {
            let version = try writer.integer("PRAGMA user_version") ?? 0
            try writer.execute("PRAGMA user_version = \(version)")
            return true
        }
    }

    /// Statement journals stay in memory: in a file they would need room on a disk that may be full.
    private static func prepare(_ writer: Connection) throws -> String {
        // Deleted content is overwritten, as Debian's SQLite does anyway.
        try writer.execute("PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON")
        try Schema.update(writer)
        // This connection counts without triggers: see Tallies.
        try writer.enableTriggers(false)
        return try identify(writer)
    }

    private static func identify(_ writer: Connection) throws -> String {
        if let known = try writer.text("SELECT value FROM meta WHERE name = 'store_id'") { return known }
        let made = UUID().uuidString.lowercased()
        try writer.execute(
            "INSERT INTO meta (name, value) VALUES ('store_id', ?), ('created_at', ?)", made,
            String(Timestamp.now().rawValue))
        return made
    }

    static func refusal(of folder: StateFolder, _ error: SQLiteError) -> TransferError {
        let path = folder.database
        return switch error.primaryCode {
        case _ where StoreFailure.isStorageFull(error):
            TransferError(
                .diskFull,
                "Cannot open \(path): no space is left in \(folder.path). Free some space there and start again; nothing was "
                    + "changed.", details: ["path": .string(path)])
        case SQLITE_NOTADB, SQLITE_CORRUPT:
            TransferError(
                .diskIO,
                "\(path) is not a readable database (\(error.message)); it was left as it is. "
                    + "Restore it from a backup, or move away \(folder.listOfAll) to start empty.",
                retryable: false, details: ["path": .string(path)])
        default:
            TransferError(
                StoreFailure.transferError(error, of: path).code,
                "Cannot open \(path): \(error.message) (SQLite code \(error.code)).",
                details: ["path": .string(path)])
        }
    }
}
