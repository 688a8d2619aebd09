import GRDB
import TransferModel

/// The list of migrations, and what a database must look like before this version touches it.
enum Schema {
    struct Migration: Sendable {
        var identifier: String
        var sql: String
    }

    /// In order; shipped ones never change (a test holds their fingerprints).
    static let migrations = [
        Migration(identifier: Migration0001.identifier, sql: Migration0001.sql),
        Migration(identifier: Migration0002.identifier, sql: Migration0002.sql),
        Migration(identifier: Migration0003.identifier, sql: Migration0003.sql),
        Migration(identifier: Migration0004.identifier, sql: Migration0004.sql),
        Migration(identifier: Migration0005.identifier, sql: Migration0005.sql),
        Migration(identifier: Migration0006.identifier, sql: Migration0006.sql),
        Migration(identifier: Migration0007.identifier, sql: Migration0007.sql),
        Migration(identifier: Migration0008.identifier, sql: Migration0008.sql),
        Migration(identifier: Migration0009.identifier, sql: Migration0009.sql),
        Migration(identifier: Migration0010.identifier, sql: Migration0010.sql),
        Migration(identifier: Migration0011.identifier, sql: Migration0011.sql),
        Migration(identifier: Migration0012.identifier, sql: Migration0012.sql),
        Migration(identifier: Migration0013.identifier, sql: Migration0013.sql),
        Migration(identifier: Migration0014.identifier, sql: Migration0014.sql),
        Migration(identifier: Migration0015.identifier, sql: Migration0015.sql),
        Migration(identifier: Migration0016.identifier, sql: Migration0016.sql),
        Migration(identifier: Migration0018.identifier, sql: Migration0018.sql),
        Migration(identifier: Migration0019.identifier, sql: Migration0019.sql),
    ]

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for migration in migrations {
            migrator.registerMigration(migration.identifier) { database in
                try database.execute(sql: migration.sql)
            }
        }
        return migrator
    }

    /// Refuses a database that this version must not write to; reads only.
    /// - Returns: false if it has no tables.
    /// - Throws: `TransferError` that says which file and what to do.
    static func verify(_ database: Database, path: String) throws -> Bool {
        let hasTables = try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema)") ?? false
        guard hasTables else { return false }
        guard try database.tableExists("grdb_migrations") else {
            throw TransferError(
                .internal, "\(path) is a database of another program; move it away or choose another state folder.",
                retryable: false, details: ["path": .string(path)])
        }
        let applied = try String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid")
        let known = Set(migrations.map(\.identifier))
        if let unknown = applied.first(where: { !known.contains($0) }) {
            throw TransferError(
                .internal,
                "\(path) was written by a newer dld (schema \(unknown)); start that version or a newer one. "
                    + "The file was left as it is.",
                retryable: false, details: ["path": .string(path), "schema": .string(unknown)])
        }
        return true
    }
}
