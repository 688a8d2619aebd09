/// Keys that users trust for good, whatever the verification says. Frozen: a change of the schema is a further migration,
/// never an edit of this text.
enum Migration0034 {
    static let identifier = "0034"

    static let sql = """
        CREATE TABLE trusted_server (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            host TEXT NOT NULL CHECK (host <> ''),
            port INTEGER NOT NULL,
            key TEXT NOT NULL CHECK (key <> ''),
            trusted_at INTEGER NOT NULL,
            PRIMARY KEY (owner, host, port)
        ) STRICT, WITHOUT ROWID;
        """
}
