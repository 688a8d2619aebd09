/// Credentials of owners, and those of sessions, which had a table of their own. Frozen: a change of the schema is a further
/// migration, never an edit of this text.
enum Migration0028 {
    static let identifier = "0028"

    static let sql = """
        CREATE TABLE credential (
            id INTEGER PRIMARY KEY,
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            session TEXT NOT NULL,
            protocol TEXT NOT NULL,
            host TEXT NOT NULL CHECK (host <> ''),
            port INTEGER NOT NULL,
            realm TEXT,
            method TEXT,
            is_proxy INTEGER NOT NULL CHECK (is_proxy IN (0, 1)),
            username TEXT NOT NULL,
            password TEXT NOT NULL,
            persistence TEXT NOT NULL CHECK (persistence IN ('session', 'permanent')),
            is_default INTEGER NOT NULL CHECK (is_default IN (0, 1)),
            is_refused INTEGER NOT NULL CHECK (is_refused IN (0, 1))
        ) STRICT;

        CREATE UNIQUE INDEX credential_place ON credential
            (owner, session, host, port, protocol, is_proxy, ifnull(realm, 0), ifnull(method, 0), username);

        INSERT INTO credential (owner, session, protocol, host, port, realm, method, is_proxy, username, password,
            persistence, is_default, is_refused)
        SELECT owner, identifier, substr(origin, 1, instr(origin, '://') - 1),
            trim(rtrim(rtrim(substr(origin, instr(origin, '://') + 3), '0123456789'), ':'), '[]'),
            CAST(replace(origin, rtrim(origin, '0123456789'), '') AS INTEGER), NULL, method, is_proxy, username, password,
            'session', 1, 0
        FROM session_credential JOIN session ON session.id = session_credential.session;

        DROP TABLE session_credential;
        """
}
