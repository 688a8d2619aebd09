/// Hosts that are reached over https alone. Frozen: a change of the schema is a further migration, never an edit of this text.
enum Migration0029 {
    static let identifier = "0029"

    static let sql = """
        CREATE TABLE hsts_host (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            domain TEXT NOT NULL CHECK (domain <> ''),
            includes_subdomains INTEGER NOT NULL CHECK (includes_subdomains IN (0, 1)),
            learned_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (owner, domain)
        ) STRICT, WITHOUT ROWID;
        """
}
