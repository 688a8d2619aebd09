import TransferModel

extension StoreTransaction {
    private static let credentialColumns = """
        owner, session, protocol, host, port, realm, method, is_proxy, username, password, persistence, is_default, \
        is_refused
        """

    /// Replaces the stored credentials of an owner, or of one session.
    /// - Parameter session: the session that keeps its own credentials; empty for the owner's shared ones.
    package func setCredentials(_ credentials: [StoredCredential], owner: UserID, session: String) throws {
        isUntidy = true
        try execute("DELETE FROM credential WHERE owner = ? AND session = ?", owner, session)
        for credential in credentials {
            let space = credential.space
            try execute(
                "INSERT INTO credential (\(Self.credentialColumns)) VALUES (\(placeholders(13)))",
                owner, session, space.protocol, space.host, space.port, space.realm, space.method?.rawValue,
                space.isProxy, credential.username, credential.password, credential.persistence.rawValue,
                credential.isDefault, credential.isRefused)
        }
    }

    /// The session is over.
    package func forgetCredentials(of session: SessionKey) throws {
        try setCredentials([], owner: session.owner, session: session.identifier)
    }

    /// Removes the credentials of invalidated sessions.
    package func removeCredentialsOfEndedSessions() throws { try removeOfEndedSessions("credential") }

    /// The credentials of all owners and sessions, in the order in which they were stored.
    package func credentials() throws -> [(owner: UserID, session: String, credential: StoredCredential)] {
        try rows("SELECT \(Self.credentialColumns) FROM credential ORDER BY id").map { row in
            let space = CredentialSpace(
                host: row[3], port: row[4], protocol: row[2], realm: row[5], method: try row.word(6), isProxy: row[7])
            let credential = StoredCredential(
                space: space, username: row[8], password: row[9], persistence: try row.word(10), isDefault: row[11],
                isRefused: row[12])
            return (row[0], row[1], credential)
        }
    }
}
