import TransferModel

extension StoreTransaction {
    /// Replaces the stored credentials of an owner, or of one session.
    /// - Parameter session: the session that keeps its own credentials; empty for the owner's shared ones.
    package func setCredentials(_ credentials: [StoredCredential], owner: UserID, session: String) throws {
        isUntidy = true
        try execute("DELETE FROM credential WHERE owner = ? AND session = ?", owner.rawValue, session)
        for credential in credentials {
            let space = credential.space
            try execute(
                """
                INSERT INTO credential (owner, session, protocol, host, port, realm, method, is_proxy, username, password, \
                persistence, is_default, is_refused) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                owner.rawValue, session, space.protocol, space.host, space.port, space.realm, space.method?.rawValue,
                space.isProxy ? 1 : 0, credential.username, credential.password, credential.persistence.rawValue,
                credential.isDefault ? 1 : 0, credential.isRefused ? 1 : 0)
        }
    }

    /// The session is over.
    package func forgetCredentials(of session: SessionKey) throws {
        try setCredentials([], owner: session.owner, session: session.identifier)
    }

    /// Removes the credentials of invalidated sessions.
    package func removeCredentialsOfEndedSessions() throws {
        try execute(
            """
            DELETE FROM credential WHERE session <> '' AND NOT EXISTS (SELECT 1 FROM session \
            WHERE session.owner = credential.owner AND session.identifier = credential.session \
            AND session.state <> 'invalidated')
            """)
    }

    /// The credentials of all owners and sessions, in the order in which they were stored.
    package func credentials() throws -> [(owner: UserID, session: String, credential: StoredCredential)] {
        try rows(
            """
            SELECT owner, session, host, port, protocol, realm, method, is_proxy, username, password, persistence, \
            is_default, is_refused FROM credential ORDER BY id
            """
        ).map { row in
            let space = CredentialSpace(
                host: row[2], port: row[3], protocol: row[4], realm: row[5],
                method: try (row[6] as String?).map { try JSONColumn.word($0) }, isProxy: row[7])
            let credential = StoredCredential(
                space: space, username: row[8], password: row[9], persistence: try JSONColumn.word(row[10]),
                isDefault: row[11], isRefused: row[12])
            return (UserID(row[0] as UInt32), row[1], credential)
        }
    }
}
