import CSQLite

/// What SQLite reports for a failed call.
struct SQLiteError: Error, CustomStringConvertible {
    /// The extended result code: https://www.sqlite.org/rescode.html
    let code: Int32
    let message: String
    /// The beginning of the statement that failed; nil if it was another call.
    let sql: String?

    /// The result code without its details.
    var primaryCode: Int32 { code & 0xff }

    init(_ code: Int32, _ message: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.sql = sql.map { String($0.prefix(200)) }
    }

    /// Describes the last call on this connection.
    init(lastOf database: OpaquePointer?, sql: String? = nil) {
        self.init(
            sqlite3_extended_errcode(database), String(cString: sqlite3_errmsg(database)), sql: sql)
    }

    var description: String {
        "SQLite error \(code): \(message)" + (sql.map { " in \"\($0)\"" } ?? "")
    }
}
