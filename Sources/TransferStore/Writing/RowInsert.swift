import GRDB
import GRDBSQLite

/// Inserts rows into one table, many with each statement: what SQLite does to begin, journal and end a statement costs
/// more than a row does, triggers included. Values go straight to SQLite, without a box for each.
struct RowInsert: Sendable {
    /// Rows of the statements that are kept prepared; what is left over goes through the smaller ones.
    static let sizes = [64, 8, 1]

    private let columns: Int
    private let texts: [String]

    init(into table: String, _ columns: [String]) {
        self.columns = columns.count
        let row = "(\(placeholders(columns.count)))"
        texts = Self.sizes.map { size in
            let rows = repeatElement(row, count: size).joined(separator: ",")
            return "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES \(rows)"
        }
    }

    /// - Parameter bind: gives the values of the row with this index; what it does not give is NULL.
    /// - Throws: `DatabaseError` where SQLite refuses; the statement that met it changed nothing.
    func run(_ count: Int, in database: Database, bind: (inout RowValues, Int) throws -> Void) throws {
        var done = 0
        for (size, text) in zip(Self.sizes, texts) where count - done >= size {
            let statement = try database.cachedStatement(sql: text)
            while count - done >= size {
                try Self.run(statement, rows: done..<done + size, columns: columns, in: database, bind: bind)
                done += size
            }
            // What is bound would stay in memory until the statement is used again.
            sqlite3_clear_bindings(statement.sqliteStatement)
        }
    }

    /// Runs a change with the values of one row.
    static func run(
        _ statement: Statement, in database: Database, bind: (inout RowValues) throws -> Void
    ) throws {
        try run(statement, rows: 0..<1, columns: 0, in: database) { row, _ in try bind(&row) }
        sqlite3_clear_bindings(statement.sqliteStatement)
    }

    /// Runs a statement of so many rows once.
    private static func run(
        _ statement: Statement, rows: Range<Int>, columns: Int, in database: Database,
        bind: (inout RowValues, Int) throws -> Void
    ) throws {
        sqlite3_clear_bindings(statement.sqliteStatement)
        var values = RowValues(statement.sqliteStatement)
        for row in rows {
            values.first = Int32((row - rows.lowerBound) * columns)
            try bind(&values, row)
        }
        try step(statement, in: database)
    }

    private static func step(_ statement: Statement, in database: Database) throws {
        defer { sqlite3_reset(statement.sqliteStatement) }
        guard sqlite3_step(statement.sqliteStatement) == SQLITE_DONE else {
            throw DatabaseError(lastOf: database, sql: statement.sql)
        }
    }
}

/// The values of one row on their way into a statement; columns are counted from 1.
struct RowValues {
    fileprivate var first: Int32 = 0
    private let statement: SQLiteStatement

    fileprivate init(_ statement: SQLiteStatement) { self.statement = statement }

    func set(_ column: Int32, _ value: Int64?) {
        if let value { sqlite3_bind_int64(statement, first + column, value) }
    }

    func set(_ column: Int32, _ value: Double) { sqlite3_bind_double(statement, first + column, value) }

    func set(_ column: Int32, _ text: String?) {
        guard var text else { return }
        text.withUTF8 { bytes in
            // Of an empty string SQLite needs an address too, or it takes it for NULL.
            _ = bytes.withMemoryRebound(to: CChar.self) { characters in
                sqlite3_bind_text(
                    statement, first + column, characters.baseAddress, Int32(characters.count), Self.copied)
            }
        }
    }

    /// SQLITE_TRANSIENT: SQLite copies what it is given.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
