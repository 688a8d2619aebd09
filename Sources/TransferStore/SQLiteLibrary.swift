import GRDB

/// What the linked SQLite says of itself.
enum SQLiteLibrary {
    static let version: String = {
        let answer = try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
        return (answer ?? nil) ?? "unknown"
    }()
}
