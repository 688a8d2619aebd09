import CSQLite

/// A prepared statement. It belongs to the connection that made it, and to one thread at a time.
final class Statement {
    let handle: OpaquePointer
    /// The error code if SQLite refused a value; reported when the statement runs.
    private var refusal: Int32 = SQLITE_OK

    /// - Parameter isKept: it will be used many times.
    init(_ sql: String, on database: OpaquePointer?, isKept: Bool) throws {
        var handle: OpaquePointer?
        let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let (code, isWhole) = sql.withCString { text in
            var rest: UnsafePointer<CChar>?
            return (sqlite3_prepare_v3(database, text, -1, flags, &handle, &rest), rest?.pointee ?? 0 == 0)
        }
        guard code == SQLITE_OK else { throw SQLiteError(lastOf: database, sql: sql) }
        guard let handle, isWhole else { throw SQLiteError(SQLITE_MISUSE, "It is not one statement.", sql: sql) }
        self.handle = handle
    }

    deinit { sqlite3_finalize(handle) }

    var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

    /// A query whose rows are still being read.
    var isBusy: Bool { sqlite3_stmt_busy(handle) != 0 }

    // MARK: Parameters, counted from 1

    func bind(_ value: Int64, at index: Int32) { note(sqlite3_bind_int64(handle, index, value)) }

    func bind(_ value: Double, at index: Int32) { note(sqlite3_bind_double(handle, index, value)) }

    func bind(_ text: String, at index: Int32) {
        // SQLite takes a null pointer for NULL.
        guard !text.isEmpty else { return note(sqlite3_bind_text(handle, index, "", 0, Self.copied)) }
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                note(
                    sqlite3_bind_text(
                        handle, index, characters.baseAddress, Int32(clamping: characters.count), Self.copied))
            }
        }
    }

    /// - Parameter text: UTF-8; not empty.
    func bind(text: [UInt8], at index: Int32) {
        text.withUnsafeBytes { bytes in
            note(
                sqlite3_bind_text(
                    handle, index, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count),
                    Self.copied))
        }
    }

    func bind(_ bytes: [UInt8], at index: Int32) {
        guard !bytes.isEmpty else { return note(sqlite3_bind_zeroblob(handle, index, 0)) }
        note(sqlite3_bind_blob(handle, index, bytes, Int32(clamping: bytes.count), Self.copied))
    }

    /// Binds all parameters in order.
    func bind<each Value: Bindable>(all values: repeat each Value) {
        var index: Int32 = 1
        for value in repeat each values {
            value.bind(to: self, at: index)
            index += 1
        }
    }

    func bind(list values: [any Bindable]) {
        for (index, value) in values.enumerated() { value.bind(to: self, at: Int32(index + 1)) }
    }

    /// SQLITE_TRANSIENT: SQLite copies the value.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private func note(_ code: Int32) { if code != SQLITE_OK { refusal = code } }

    // MARK: Running

    /// Runs a change to its end; the bound values remain.
    /// - Throws: `SQLiteError`.
    func run() throws {
        while try step() {}
        sqlite3_reset(handle)
    }

    /// Runs a change, and clears the bound values, which would otherwise stay in memory until the statement is used
    /// again.
    func runAndClear() throws {
        defer { sqlite3_clear_bindings(handle) }
        try run()
    }

    /// Goes to the next row.
    /// - Returns: false at the end.
    func step() throws -> Bool {
        guard refusal == SQLITE_OK else { throw failure(refusal) }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw failure(nil)
        }
    }

    private func failure(_ refused: Int32?) -> SQLiteError {
        let error =
            refused.map { SQLiteError($0, String(cString: sqlite3_errstr($0)), sql: sql) }
            ?? SQLiteError(lastOf: sqlite3_db_handle(handle), sql: sql)
        clear()
        return error
    }

    /// Ends the query and clears the bound values.
    func clear() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
        refusal = SQLITE_OK
    }

    // MARK: The current row, whose columns are counted from 0

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// Bytes of a text or BLOB.
    func length(_ column: Int32) -> Int { Int(sqlite3_column_bytes(handle, column)) }

    func text(_ column: Int32) -> String? {
        guard let text = sqlite3_column_text(handle, column) else { return nil }
        return String(decoding: UnsafeBufferPointer(start: text, count: length(column)), as: UTF8.self)
    }

    func bytes(_ column: Int32) -> [UInt8]? {
        if isNull(column) { return nil }
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: length(column)))
    }

    var columnCount: Int32 { sqlite3_column_count(handle) }
}
