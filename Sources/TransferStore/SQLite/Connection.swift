import CSQLite
import TransferModel

/// One connection to a database. Only one thread uses it at a time: it may be passed from thread to thread.
final class Connection: @unchecked Sendable {
    /// nil once it is closed.
    private(set) var handle: OpaquePointer?
    /// The statements used so far, all kept prepared.
    private var statements: [String: Statement] = [:]
    private var known: [Statement?] = []

    /// - Parameters:
    ///   - path: `:memory:` for a database in memory, of this connection alone.
    ///   - patience: milliseconds for which it waits for other connections' locks.
    ///   - options: more flags of sqlite3_open_v2.
    /// - Throws: `SQLiteError`.
    init(_ path: String, isReadOnly: Bool = false, patience: Int32 = 10_000, options: Int32 = 0) throws {
        _ = Self.library
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let code = sqlite3_open_v2(path, &handle, access | options | SQLITE_OPEN_NOMUTEX, nil)
        do {
            guard code == SQLITE_OK else {
                throw handle.map { SQLiteError(lastOf: $0) } ?? SQLiteError(code, String(cString: sqlite3_errstr(code)))
            }
            sqlite3_extended_result_codes(handle, 1)
            sqlite3_busy_timeout(handle, patience)
            try check(dld_sqlite_require_quotes(handle))
            try execute("PRAGMA foreign_keys = ON")
        } catch {
            close()
            throw error
        }
    }

    /// Reads a database that nobody else has open, and leaves its folder as it is: SQLite makes no log and no index of a
    /// log (`-shm`), and closing makes no checkpoint.
    ///
    /// SQLite reads a log without an index in a file if the connection has the database for itself, and `unix-none`
    /// grants that without a lock. It would make a log that is missing; `immutable` looks for none. Run by root, SQLite
    /// gives an existing log the owner of its database.
    /// Source: https://sqlite.org/wal.html#use_of_wal_without_shared_memory, https://sqlite.org/uri.html
    /// - Parameter hasLog: whether there is a log, or a rollback journal.
    /// - Throws: `SQLiteError`.
    convenience init(untouched path: String, hasLog: Bool) throws {
        let place = path.split(separator: "/", omittingEmptySubsequences: false).map {
            PathSegment.encoded(String($0))
        }.joined(separator: "/")
        try self.init(
            "file:\(path.hasPrefix("/") ? "//" : "")\(place)?\(hasLog ? "vfs=unix-none" : "immutable=1")",
            isReadOnly: true, options: SQLITE_OPEN_URI)
        try check(dld_sqlite_keep_log(handle))
        if hasLog { try execute("PRAGMA locking_mode = EXCLUSIVE") }
    }

    deinit { close() }

    /// Further calls do nothing; nothing else may be called afterwards.
    func close() {
        statements = [:]
        known = []
        // A statement that is still in use keeps the file open until it is gone.
        sqlite3_close_v2(handle)
        handle = nil
    }

    private static let library: Void = { _ = dld_sqlite_omit_memory_statistics() }()

    static var libraryVersion: String { String(cString: sqlite3_libversion()) }

    // MARK: Statements

    /// Runs statements without parameters, one after the other.
    func execute(_ script: String) throws {
        guard sqlite3_exec(handle, script, nil, nil, nil) == SQLITE_OK else {
            throw SQLiteError(lastOf: handle, sql: script)
        }
    }

    /// The prepared statement of a text; another one if the rows of the first are still being read.
    func statement(_ sql: String) throws -> Statement {
        if let known = statements[sql] {
            return known.isBusy ? try Statement(sql, on: handle, isKept: false) : known
        }
        let made = try Statement(sql, on: handle, isKept: true)
        statements[sql] = made
        return made
    }

    /// Like `statement(_:)`, without a search.
    func statement(_ sql: SQL) throws -> Statement {
        if sql.number < known.count, let statement = known[sql.number] { return statement }
        while known.count <= sql.number { known.append(nil) }
        let made = try Statement(sql.text, on: handle, isKept: true)
        known[sql.number] = made
        return made
    }

    func execute<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws {
        let statement = try statement(sql)
        statement.bind(all: repeat each values)
        try statement.runAndClear()
    }

    func execute<each Value: Bindable>(_ sql: SQL, _ values: repeat each Value) throws {
        let statement = try statement(sql)
        statement.bind(all: repeat each values)
        try statement.runAndClear()
    }

    func rows<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> Rows {
        let statement = try statement(sql)
        statement.bind(all: repeat each values)
        return Rows(statement)
    }

    /// The same, without a search for the statement.
    func rows<each Value: Bindable>(_ sql: SQL, _ values: repeat each Value) throws -> Rows {
        var statement = try statement(sql)
        if statement.isBusy { statement = try Statement(sql.text, on: handle, isKept: false) }
        statement.bind(all: repeat each values)
        return Rows(statement)
    }

    func rows(_ sql: String, list values: [any Bindable]) throws -> Rows {
        let statement = try statement(sql)
        statement.bind(list: values)
        return Rows(statement)
    }

    /// The first column of the first row; nil if there is none, or if it is NULL.
    func integer<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> Int64? {
        try rows(sql, repeat each values).next().flatMap { $0[0] as Int64? }
    }

    func text<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> String? {
        try rows(sql, repeat each values).next().flatMap { $0[0] as String? }
    }

    // MARK: Transactions

    /// Runs `body` in a transaction that may write.
    /// - Parameter body: returns false to undo its changes.
    func writing(_ body: () throws -> Bool) throws {
        try run(Self.beginWriting)
        try end(body)
    }

    /// Runs `body` on the last commit, whatever is committed meanwhile.
    func reading<Value>(_ body: () throws -> Value) throws -> Value {
        try run(Self.beginReading)
        var value: Value?
        try end {
            value = try body()
            return true
        }
        guard let value else { throw SQLiteError(SQLITE_INTERNAL, "A read has no result.") }
        return value
    }

    /// Runs `body` so that only its changes are rolled back if it throws.
    func savepoint(_ body: () throws -> Void) throws {
        try run(Self.beginSavepoint)
        do {
            try body()
            try run(Self.releaseSavepoint)
        } catch {
            // SQLite may have rolled back the whole transaction.
            if isInTransaction {
                try run(Self.undoSavepoint)
                try run(Self.releaseSavepoint)
            }
            throw error
        }
    }

    private func end(_ body: () throws -> Bool) throws {
        do {
            try run(try body() ? Self.commit : Self.rollback)
        } catch {
            if isInTransaction { try? run(Self.rollback) }
            throw error
        }
    }

    private func run(_ sql: SQL) throws { try statement(sql).run() }

    private static let beginWriting = SQL("BEGIN IMMEDIATE")
    private static let beginReading = SQL("BEGIN DEFERRED")
    private static let commit = SQL("COMMIT")
    private static let rollback = SQL("ROLLBACK")
    private static let beginSavepoint = SQL("SAVEPOINT body")
    private static let undoSavepoint = SQL("ROLLBACK TO body")
    private static let releaseSavepoint = SQL("RELEASE body")

    var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    // MARK: What SQLite says

    /// Rows that the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Changes with each commit, whichever program made it.
    var dataVersion: UInt32? {
        guard let handle else { return nil }
        var version: UInt32 = 0
        return sqlite3_file_control(handle, nil, SQLITE_FCNTL_DATA_VERSION, &version) == SQLITE_OK ? version : nil
    }

    /// Copies the write-ahead log into the database, except the part that a reader still needs.
    /// - Parameter emptying: waits for these readers, and empties the log.
    /// - Returns: pages of the log, and how many of them are copied.
    @discardableResult
    func checkpoint(emptying: Bool = false) throws -> (length: Int, copied: Int) {
        guard handle != nil else { throw SQLiteError(SQLITE_MISUSE, "The connection is closed.") }
        var (length, copied): (Int32, Int32) = (-1, -1)
        let mode = emptying ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        try check(sqlite3_wal_checkpoint_v2(handle, nil, mode, &length, &copied))
        return (Int(length), Int(copied))
    }

    /// Releases the pages that SQLite keeps in memory.
    func releaseMemory() { if let handle { sqlite3_db_release_memory(handle) } }

    /// Whether triggers fire for the changes of this connection; they do by default.
    func enableTriggers(_ isOn: Bool) throws { try check(dld_sqlite_enable_triggers(handle, isOn ? 1 : 0)) }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw SQLiteError(lastOf: handle) }
    }
}
