import TransferModel

/// The list of migrations, and what a database must look like before this version touches it.
enum Schema {
    struct Migration: Sendable {
        var identifier: String
        var sql: String
    }

    /// Runs the migrations that the database does not have yet, each in its own transaction. The table that records
    /// them has the name and the form that GRDB gave it, which created the first databases.
    /// - Parameter last: the last one that runs; nil for all.
    static func migrate(_ connection: Connection, upTo last: String? = nil) throws {
        try connection.execute("CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
        let applied = Set(try applied(connection))
        for migration in migrations {
            if !applied.contains(migration.identifier) { try run(migration, connection) }
            if migration.identifier == last { return }
        }
    }

    /// A migration may replace a table by another one with the same name: references between tables are checked at the
    /// end. Source: https://www.sqlite.org/lang_altertable.html#otheralter
    private static func run(_ migration: Migration, _ connection: Connection) throws {
        try connection.execute("PRAGMA foreign_keys = OFF")
        defer { try? connection.execute("PRAGMA foreign_keys = ON") }
        try connection.writing {
            try connection.execute(migration.sql)
            try connection.execute("INSERT INTO grdb_migrations (identifier) VALUES (?)", migration.identifier)
            if let broken = try connection.text("PRAGMA foreign_key_check") {
                throw TransferError(
                    .internal, "Migration \(migration.identifier) leaves a row of \(broken) without what it refers to.")
            }
            return .commit
        }
    }

    private static func applied(_ connection: Connection) throws -> [String] {
        try connection.rows("SELECT identifier FROM grdb_migrations ORDER BY rowid").map { $0[0] }
    }

    /// Refuses a database that this version must not write to; reads only.
    /// - Returns: false if it has no tables.
    /// - Throws: `TransferError` that says which file and what to do.
    static func verify(_ connection: Connection, path: String) throws -> Bool {
        guard try connection.integer("SELECT 1 FROM sqlite_schema LIMIT 1") != nil else { return false }
        let hasNotes = try connection.integer(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'grdb_migrations'")
        guard hasNotes != nil else {
            throw TransferError(
                .internal, "\(path) is a database of another program; move it away or choose another state folder.",
                retryable: false, details: ["path": .string(path)])
        }
        let known = Set(migrations.map(\.identifier))
        if let unknown = try applied(connection).first(where: { !known.contains($0) }) {
            throw TransferError(
                .unsupported,
                "\(path) was written by a newer dld (schema \(unknown)); start that version or a newer one. "
                    + "The file was left as it is.",
                retryable: false, details: ["path": .string(path), "schema": .string(unknown)])
        }
        return true
    }
}
