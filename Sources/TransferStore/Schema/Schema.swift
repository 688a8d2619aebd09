import TransferModel

/// How a database gets its tables, and what it must look like before this version touches it.
enum Schema {
    /// The `application_id` of dld's databases: "dld" and a zero.
    static let application: Int64 = 0x646c_6400
    /// In order. A database's `user_version` is the number of texts that it was given.
    static let texts = [version1, version2]
    /// What unreleased builds left whose last schema is that of version 1: they noted migrations in a table.
    static let convertible = "32 migrations up to 0035"

    /// Gives a database the texts that it does not have yet, all or none.
    static func update(_ connection: Connection) throws {
        let version = Int(try connection.integer("PRAGMA user_version") ?? 0)
        guard version < texts.count else { return }
        try connection.writing {
            let isConverted = try migrations(connection) != nil
            if isConverted { try connection.execute("DROP TABLE grdb_migrations") }
            for text in texts.dropFirst(isConverted ? 1 : version) { try connection.execute(text) }
            try connection.execute("PRAGMA application_id = \(application); PRAGMA user_version = \(texts.count)")
            return true
        }
    }

    /// nil if no unreleased build wrote the database.
    private static func migrations(_ connection: Connection) throws -> String? {
        guard try connection.integer("SELECT 1 FROM sqlite_schema WHERE name = 'grdb_migrations'") != nil else {
            return nil
        }
        return try connection.text(
            "SELECT count(*) || ' migrations up to ' || ifnull(max(identifier), '0000') FROM grdb_migrations")
    }

    /// Refuses a database that this version must not write to; reads only.
    /// - Returns: false if it has no tables.
    /// - Throws: `TransferError` that says which file and what to do.
    static func verify(_ connection: Connection, path: String) throws -> Bool {
        guard try connection.integer("SELECT 1 FROM sqlite_schema LIMIT 1") != nil else { return false }
        if let found = try migrations(connection) {
            if found == convertible { return true }
            throw refusal(
                "was written by an unreleased dld (\(found)), and this version converts only \(convertible). "
                    + "Start the last build that has these once, then this version, or choose another state folder.",
                path, schema: found)
        }
        guard try connection.integer("PRAGMA application_id") == application else {
            throw TransferError(
                .internal, "\(path) is a database of another program; move it away or choose another state folder.",
                retryable: false, details: ["path": .string(path)])
        }
        let version = try connection.integer("PRAGMA user_version") ?? 0
        guard version > 0 else {
            throw refusal(
                "has tables, but the number of its schema is \(version), which no dld writes. Restore a backup, or choose "
                    + "another state folder.", path, schema: String(version))
        }
        guard version <= texts.count else {
            throw refusal(
                "was written by a newer dld (schema \(version); this one knows schema \(texts.count)). Install that version "
                    + "or a newer one, or restore a backup from before the upgrade.", path, schema: String(version),
                .stateNewer)
        }
        return true
    }

    private static func refusal(
        _ reason: String, _ path: String, schema: String, _ code: ErrorCode = .unsupported
    ) -> TransferError {
        TransferError(
            code, "\(path) \(reason) The file was left as it is.", retryable: false,
            details: ["path": .string(path), "schema": .string(schema)])
    }
}
