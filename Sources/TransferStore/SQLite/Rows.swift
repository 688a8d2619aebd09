import TransferModel

/// The rows of a query, one after the other.
final class Rows {
    private let statement: Statement

    /// Takes a statement whose parameters are bound.
    init(_ statement: Statement) { self.statement = statement }

    /// Makes the statement usable again, and removes the bound values from memory.
    deinit { statement.clear() }

    /// The row is valid until the next call.
    /// - Throws: `SQLiteError`.
    func next() throws -> Row? { try statement.step() ? Row(self, statement) : nil }

    func map<Value>(_ body: (Row) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        while let row = try next() { values.append(try body(row)) }
        return values
    }

    /// Leaves out damaged rows: one of many must not prevent the others from being read. A caller that reads only one
    /// row gets the error.
    func readable<Value>(_ body: (Row) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        while let row = try next() {
            do { values.append(try body(row)) } catch let error as TransferError where error.code == .internal {}
        }
        return values
    }
}

/// A row by the positions of its columns. A value of another type is converted as SQLite does it; NULL is zero, or an
/// empty text, unless an optional value is requested.
struct Row {
    /// Keeps the query at this row.
    private let rows: Rows
    private let statement: Statement

    fileprivate init(_ rows: Rows, _ statement: Statement) {
        self.rows = rows
        self.statement = statement
    }

    subscript(_ column: Int) -> Int64 { statement.integer(Int32(column)) }
    subscript(_ column: Int) -> Int64? { isNull(column) ? nil : self[column] as Int64 }
    subscript(_ column: Int) -> Int { Int(self[column] as Int64) }
    subscript(_ column: Int) -> UInt32 { UInt32(truncatingIfNeeded: self[column] as Int64) }
    subscript(_ column: Int) -> UInt64 { UInt64(bitPattern: self[column]) }
    subscript(_ column: Int) -> UInt64? { isNull(column) ? nil : self[column] as UInt64 }
    subscript(_ column: Int) -> Bool { self[column] as Int64 != 0 }
    subscript(_ column: Int) -> Double { statement.real(Int32(column)) }
    subscript(_ column: Int) -> Double? { isNull(column) ? nil : self[column] as Double }
    subscript(_ column: Int) -> String { statement.text(Int32(column)) ?? "" }
    subscript(_ column: Int) -> String? { statement.text(Int32(column)) }
    subscript(_ column: Int) -> [UInt8]? { statement.bytes(Int32(column)) }

    subscript(_ column: Int) -> TaskID { TaskID(self[column] as Int64) }
    subscript(_ column: Int) -> UserID { UserID(self[column] as UInt32) }
    subscript(_ column: Int) -> SequenceNumber { SequenceNumber(self[column] as Int64) }
    subscript(_ column: Int) -> ByteCount { ByteCount(self[column] as Int64) }
    subscript(_ column: Int) -> ByteCount? { isNull(column) ? nil : self[column] as ByteCount }
    subscript(_ column: Int) -> Timestamp { Timestamp(milliseconds: self[column]) }
    subscript(_ column: Int) -> Timestamp? { isNull(column) ? nil : self[column] as Timestamp }
    /// From the owner, and the identifier in the next column.
    subscript(_ column: Int) -> SessionKey { SessionKey(owner: self[column], identifier: self[column + 1]) }

    /// A word of a closed vocabulary.
    func word<Value: Word>(_ column: Int) throws -> Value { try JSONColumn.word(self[column]) }
    func word<Value: Word>(_ column: Int) throws -> Value? {
        try (self[column] as String?).map { try JSONColumn.word($0) }
    }

    /// A document that `JSONColumn` wrote.
    func document<Value: WireValue>(_ column: Int) throws -> Value { try JSONColumn.decode(self[column]) }
    func document<Value: WireValue>(_ column: Int) throws -> Value? {
        try (self[column] as String?).map { try JSONColumn.decode($0) }
    }

    /// Bytes of a text.
    func length(_ column: Int) -> Int { statement.length(Int32(column)) }

    var count: Int { Int(statement.columnCount) }

    private func isNull(_ column: Int) -> Bool { statement.isNull(Int32(column)) }
}
