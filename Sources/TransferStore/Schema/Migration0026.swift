/// Keys that sessions trust whatever the verification says. Frozen: a change of the schema is a further migration,
/// never an edit of this text.
enum Migration0026 {
    static let identifier = "0026"

    static let sql = """
        CREATE TABLE trusted_key (
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            origin TEXT NOT NULL,
            key TEXT NOT NULL,
            trusted_at INTEGER NOT NULL,
            PRIMARY KEY (session, origin)
        ) STRICT, WITHOUT ROWID;
        """
}
