/// Credentials that clients gave in answers for a whole session. Frozen: a change of the schema is a further migration, never
/// an edit of this text.
enum Migration0025 {
    static let identifier = "0025"

    static let sql = """
        CREATE TABLE session_credential (
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            origin TEXT NOT NULL,
            is_proxy INTEGER NOT NULL CHECK (is_proxy IN (0, 1)),
            username TEXT NOT NULL,
            password TEXT NOT NULL,
            method TEXT,
            PRIMARY KEY (session, origin, is_proxy)
        ) STRICT, WITHOUT ROWID;
        """
}
