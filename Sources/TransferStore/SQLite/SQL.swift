import Threading

/// The text of a statement that runs so often that a connection finds it by number. Keep it in a `static let`: each
/// value is another statement.
struct SQL: Sendable {
    let text: String
    let number: Int

    init(_ text: String) {
        self.text = text
        number = Self.last.withLock { last in
            last += 1
            return last
        }
    }

    /// Inserts a row, or changes the other columns of the row that has the same key.
    /// - Parameters:
    ///   - columns: separated by commas, the key first.
    ///   - key: how many columns are the key.
    init(puttingInto table: String, _ columns: String, key: Int = 1) {
        let names = columns.split(separator: ", ")
        let changes = names.dropFirst(key).map { "\($0) = excluded.\($0)" }
        self.init(
            """
            INSERT INTO \(table) (\(columns)) VALUES (\(placeholders(names.count))) \
            ON CONFLICT (\(names.prefix(key).joined(separator: ", "))) DO UPDATE SET \(changes.joined(separator: ", "))
            """)
    }

    private static let last = Guarded(-1)
}

/// `?,?,?` for `count` arguments.
func placeholders(_ count: Int) -> String {
    repeatElement("?", count: count).joined(separator: ",")
}
