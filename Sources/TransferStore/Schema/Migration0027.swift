/// Cookies of owners, and of sessions that have their own. Frozen: a change of the schema is a further migration, never an
/// edit of this text.
enum Migration0027 {
    static let identifier = "0027"

    static let sql = """
        CREATE TABLE cookie (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            session TEXT NOT NULL,
            domain TEXT NOT NULL CHECK (domain <> ''),
            path TEXT NOT NULL,
            name TEXT NOT NULL,
            host_only INTEGER NOT NULL CHECK (host_only IN (0, 1)),
            value TEXT NOT NULL,
            expires_at INTEGER,
            secure INTEGER NOT NULL CHECK (secure IN (0, 1)),
            http_only INTEGER NOT NULL CHECK (http_only IN (0, 1)),
            same_site TEXT CHECK (same_site IN ('none', 'lax', 'strict')),
            created INTEGER NOT NULL,
            PRIMARY KEY (owner, session, domain, path, name, host_only)
        ) STRICT, WITHOUT ROWID;
        """
}
