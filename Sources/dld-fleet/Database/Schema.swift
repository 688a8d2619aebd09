import FleetDatabase
import Glibc

/// A file of `FleetDatabase/sql`.
struct SchemaFile: Sendable {
    let name: String
    let text: String

    /// All of them, in the order in which they run.
    static let all = (0..<fleet_sql_count).map { index in
        let file = fleet_sql_file(index)
        return SchemaFile(
            name: String(cString: file.name),
            text: String(decoding: UnsafeBufferPointer(start: file.bytes, count: file.length), as: UTF8.self))
    }

    /// The files that bring version `step` - 1 to `step`: `0001-tables.sql`. Roles come first, in each step.
    static func files(of step: Int) -> [SchemaFile] {
        all.filter { $0.name == "roles.sql" || $0.name.split(separator: "-").first.flatMap { Int($0) } == step }
    }
}

/// The versions of schema and program, and the way from one to the next (section "Versions" of the contract).
struct Schema: Hashable, Sendable {
    /// P: the version that this program knows.
    static let known = 1

    /// V and C: what the table says; 0 without a schema.
    let version: Int
    let compatibleFrom: Int

    /// - Throws: `refused` if the role has no right to read it.
    init(of database: Database) throws(DatabaseError) {
        // A catalog is read as it is now; to_regclass could answer from a cache of before the lock of a migration.
        let found = try database.rows(
            """
            SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = 'dld' AND c.relname = 'meta'
            """)
        let row = found.isEmpty ? nil : try database.rows("SELECT * FROM dld.meta").first
        version = Int(row?.integer("version") ?? 0)
        compatibleFrom = Int(row?.integer("compatible_from") ?? 0)
    }

    init(version: Int, compatibleFrom: Int) { (self.version, self.compatibleFrom) = (version, compatibleFrom) }

    /// Why this program cannot work with the schema; nil if it can: C ≤ P ≤ V.
    var misfit: String? {
        let versions = "The schema dld has version \(version), and this program knows version \(Self.known)"
        if Self.known > version { return "\(versions): run dld-fleet migrate." }
        guard Self.known < compatibleFrom else { return nil }
        return "\(versions), but \(compatibleFrom) is needed: install a newer dld-fleet."
    }

    /// Ends every command but `migrate`, and a node, if schema and program do not fit.
    /// - Throws: `Failure` with status 76.
    static func check(_ database: Database) throws {
        if let misfit = try Schema(of: database).misfit { throw Failure(.misfit, "schema.version", misfit) }
    }

    // MARK: Migration

    struct Migration: Hashable, Sendable {
        var from: Int
        var to: Int
        var isDue: Bool { from < to }
    }

    /// - Parameter isTrial: changes nothing.
    /// - Returns: what was done, or is to do.
    /// - Throws: `Failure`: 76 if the schema is too new, 4 if the role has too few rights. Then nothing has changed.
    static func migrate(_ database: Database, isTrial: Bool) throws -> Migration {
        let found = try Schema(of: database)
        if found.version >= known {
            if let misfit = found.misfit { throw Failure(.misfit, "schema.version", misfit) }
            return Migration(from: found.version, to: found.version)
        }
        let migration = Migration(from: found.version, to: known)
        if isTrial { return migration }
        // Another migration may hold the lock for long, and an index of a large table takes time.
        try database.allow(.seconds(3600))
        var changed: Int?
        for step in found.version + 1...known {
            do throws(DatabaseError) {
                if try database.repeating({ () throws(DatabaseError) in try take(step, database) }) {
                    changed = changed ?? step - 1
                }
            } catch {
                throw try failure(error, database)
            }
        }
        return Migration(from: changed ?? known, to: known)
    }

    /// One step in one transaction.
    /// - Returns: false if another program has taken it meanwhile.
    private static func take(_ step: Int, _ database: Database) throws(DatabaseError) -> Bool {
        try database.script("BEGIN")
        do throws(DatabaseError) {
            // "dld" as a number; one lock for all steps and programs.
            _ = try database.rows("SELECT pg_advisory_xact_lock(6581348)")
            let isDue = try Schema(of: database).version < step
            if isDue {
                for file in SchemaFile.files(of: step) { try database.script(SQL(file)) }
            }
            try database.script("COMMIT")
            return isDue
        } catch {
            try? database.script("ROLLBACK")
            throw error
        }
    }

    /// If roles are missing that this role may not create, the statements for somebody who may.
    private static func failure(_ error: DatabaseError, _ database: Database) throws -> any Error {
        guard error.kind == .refused, database.isOpen else { return error }
        let missing = try database.rows(
            """
            SELECT wanted FROM unnest(ARRAY['dld_producer', 'dld_operator', 'dld_node']) AS wanted
            WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted)
                AND NOT (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user)
            """
        ).compactMap { $0.text("wanted") }
        guard !missing.isEmpty else { return error }
        return Failure(
            .refused, error.state,
            "This role may not create roles, so nothing was changed. Let somebody run these statements who may.",
            statements: missing.map { "CREATE ROLE \($0) NOLOGIN;" })
    }
}
