/// Inserts rows into one table, many with each statement: beginning, journaling and ending a statement costs SQLite
/// more than a row does. Values go straight to SQLite, without a box each.
struct RowInsert: Sendable {
    /// Rows of the statements that are kept prepared; the smaller ones insert the remaining rows.
    static let sizes = [64, 8, 1]

    private let columns: Int
    private let texts: [SQL]

    init(into table: String, _ columns: [String]) {
        self.columns = columns.count
        let row = "(\(placeholders(columns.count)))"
        texts = Self.sizes.map { size in
            let rows = repeatElement(row, count: size).joined(separator: ",")
            return SQL("INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES \(rows)")
        }
    }

    /// - Parameter bind: sets the values of the row with this index; values that it does not set are NULL.
    /// - Throws: `SQLiteError` if SQLite refuses; the refused statement changed nothing.
    func run(_ count: Int, in connection: Connection, bind: (RowValues, Int) throws -> Void) throws {
        var done = 0
        for (size, text) in zip(Self.sizes, texts) where count - done >= size {
            let statement = try connection.statement(text)
            while count - done >= size {
                do {
                    for row in 0..<size {
                        try bind(RowValues(statement: statement, first: Int32(row * columns)), done + row)
                    }
                } catch {
                    statement.clear()
                    throw error
                }
                try statement.runAndClear()
                done += size
            }
        }
    }
}

/// Sets the values of one row of a statement; columns are counted from 1. Values that are not set are NULL.
struct RowValues {
    let statement: Statement
    let first: Int32

    func set(_ column: Int32, _ value: some Bindable) { value.bind(to: statement, at: first + column) }
    /// - Parameter text: UTF-8.
    func set(_ column: Int32, text: [UInt8]) { statement.bind(text: text, at: first + column) }
}
