import Foundation
import GRDB
import GRDBSQLite
import TransferModel

/// Opens the database the one way that keeps the promises: looked at before it is touched, private, durable.
enum StoreOpening {
    /// - Returns: the pool, migrated, and the store's random name.
    static func open(_ folder: StateFolder) throws -> (DatabasePool, String) {
        do {
            try folder.requireFiles()
            try LostContent.refuse(folder)
            try inspect(folder)
            try folder.prepareDatabaseFile()
            if folder.copiesOnWrite { keepIndexInMemory() }
            let pool = try DatabasePool(path: folder.database, configuration: configuration)
            try pool.writeWithoutTransaction { try makeDurable($0) }
            try Schema.migrator.migrate(pool)
            return (pool, try pool.write { try identify($0) })
        } catch let error as DatabaseError {
            throw refusal(of: folder, error)
        }
    }

    /// SQLite maps the index of its log into memory (`-shm`), which a full disk that copies on write answers with SIGBUS. The
    /// system layer `unix-excl` keeps it in the heap, for connections of this process alone: others find the database
    /// locked. For all connections from now on.
    /// Source: https://sqlite.org/vfs.html
    private static func keepIndexInMemory() {
        sqlite3_vfs_register(sqlite3_vfs_find("unix-excl"), 1)
    }

    /// Checkpoints of the pool's log, made on a connection of their own.
    static func checkpoints(_ folder: StateFolder, of pool: DatabasePool) throws -> Checkpointing {
        do {
            let checkpointing = try Checkpointing(path: folder.database)
            pool.writeWithoutTransaction { checkpointing.follow($0) }
            return checkpointing
        } catch let error as DatabaseError {
            throw refusal(of: folder, error)
        }
    }

    /// Reads the schema through a read-only connection, which neither checkpoints nor deletes the WAL.
    private static func inspect(_ folder: StateFolder) throws {
        let path = folder.database
        var info = stat()
        let hasLog = FileManager.default.fileExists(atPath: path + "-wal")
        guard stat(path, &info) == 0, info.st_size > 0 || hasLog else { return }
        if !hasLog, BlankDatabase.empty(path) { return }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            guard try queue.read({ try Schema.verify($0, path: path) }) else {
                return try LostContent.refuseWithoutTables(folder)
            }
        } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK && RollbackJournal.isOfNewDatabase(path)
        {
            // Nothing to look at: SQLite rolls back to a database without a table once it is opened for writing.
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "dld-store"
        configuration.busyMode = .timeout(10)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            guard !database.configuration.readonly else { return }
            // Only works before the first page is written; lets the file shrink after retention has removed rows.
            try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
        }
        return configuration
    }

    /// GRDB sets synchronous=NORMAL in WAL mode, with which a power loss takes acknowledged commits back. Statement
    /// journals stay in memory: in a file they would need room on a disk that may be full, and each of them, one for
    /// every row with a trigger, would begin with 64 KiB from the allocator.
    private static func makeDurable(_ database: Database) throws {
        try database.execute(
            sql: """
                PRAGMA synchronous = FULL;
                PRAGMA temp_store = MEMORY;
                PRAGMA wal_autocheckpoint = 0;
                PRAGMA journal_size_limit = 16777216;
                """)
    }

    private static func identify(_ database: Database) throws -> String {
        let key = "store_id"
        if let known = try String.fetchOne(database, sql: "SELECT value FROM meta WHERE name = ?", arguments: [key]) {
            return known
        }
        let made = UUID().uuidString.lowercased()
        try database.execute(
            sql: "INSERT INTO meta (name, value) VALUES (?, ?), ('created_at', ?)",
            arguments: [key, made, String(Timestamp.now().rawValue)])
        return made
    }

    static func refusal(of folder: StateFolder, _ error: DatabaseError) -> TransferError {
        let path = folder.database
        return switch error.resultCode {
        case _ where StoreFailure.isStorageFull(error):
            TransferError(
                .diskFull,
                "Cannot open \(path): no space is left in \(folder.path). Free some space there and start again; nothing was "
                    + "changed.", details: ["path": .string(path)])
        case .SQLITE_NOTADB, .SQLITE_CORRUPT:
            TransferError(
                .diskIO,
                "\(path) is not a readable database (\(error.message ?? "damaged")); it was left as it is. "
                    + "Restore it from a backup, or move away \(LostContent.allFiles(of: folder)) to start empty.",
                retryable: false, details: ["path": .string(path)])
        default:
            TransferError(
                StoreFailure.transferError(error, of: path).code,
                "Cannot open \(path): \(error.message ?? "no reason given") (SQLite code \(error.extendedResultCode.rawValue)).",
                details: ["path": .string(path)])
        }
    }
}
