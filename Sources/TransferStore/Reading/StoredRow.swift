import GRDB
import GRDBSQLite

/// Rows of a query, read straight from SQLite: GRDB's own rows begin with the names of all columns, lowercased and hashed, for
/// each query.
final class StoredRows {
    private let statement: Statement
    private let database: Database

    init(_ statement: Statement, _ arguments: StatementArguments, in database: Database) throws {
        self.statement = statement
        self.database = database
        try statement.setArguments(arguments)
    }

    /// Another may use the statement now, and what was bound does not stay in memory.
    deinit {
        sqlite3_reset(statement.sqliteStatement)
        sqlite3_clear_bindings(statement.sqliteStatement)
    }

    /// The row is valid until the next one is asked for.
    func next() throws -> StoredRow? {
        switch sqlite3_step(statement.sqliteStatement) {
        case SQLITE_ROW: StoredRow(self, statement.sqliteStatement)
        case SQLITE_DONE: nil
        default: throw DatabaseError(lastOf: database, sql: statement.sql)
        }
    }
}

/// A row by the positions of its columns.
struct StoredRow {
    /// Keeps the row where it is.
    private let rows: StoredRows
    private let statement: SQLiteStatement

    fileprivate init(_ rows: StoredRows, _ statement: SQLiteStatement) {
        self.rows = rows
        self.statement = statement
    }

    subscript(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }
    subscript(_ column: Int) -> Int64? { isNull(column) ? nil : self[column] as Int64 }
    subscript(_ column: Int) -> Int { Int(self[column] as Int64) }
    subscript(_ column: Int) -> UInt32 { UInt32(truncatingIfNeeded: self[column] as Int64) }
    subscript(_ column: Int) -> Bool { self[column] as Int64 != 0 }
    subscript(_ column: Int) -> Double { sqlite3_column_double(statement, Int32(column)) }
    subscript(_ column: Int) -> String { self[column] ?? "" }

    subscript(_ column: Int) -> String? {
        guard let text = sqlite3_column_text(statement, Int32(column)) else { return nil }
        return String(decoding: UnsafeBufferPointer(start: text, count: length(column)), as: UTF8.self)
    }

    /// Bytes of a text.
    func length(_ column: Int) -> Int { Int(sqlite3_column_bytes(statement, Int32(column))) }

    private func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }
}

extension DatabaseError {
    /// What SQLite says of the call that just failed.
    init(lastOf database: Database, sql: String) {
        self.init(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(database.sqliteConnection)),
            message: database.lastErrorMessage, sql: String(sql.prefix(200)))
    }
}
