import TransferModel

extension StoreSnapshot {
    /// Keys that a session trusts.
    package func trustedKeys(_ session: SessionKey) throws -> [TrustedKey] {
        try rows(
            """
            SELECT origin, key FROM trusted_key \
            WHERE session = (SELECT id FROM session WHERE owner = ? AND identifier = ?)
            """, session.owner.rawValue, session.identifier
        ).map { TrustedKey(origin: $0[0], key: $0[1]) }
    }
}

extension StoreTransaction {
    /// All tasks of the session trust the key from now on, in addition to other keys of the same server.
    /// - Throws: `limit.reached`; `session.not_found`.
    package func trust(_ trusted: TrustedKey, in session: SessionKey, at now: Timestamp) throws {
        let row = try existingSession(session)
        let known: String? = try rows(
            "SELECT key FROM trusted_key WHERE session = ? AND origin = ?", row, trusted.origin
        ).next().map { $0[0] }
        try execute(
            "INSERT OR REPLACE INTO trusted_key (session, origin, key, trusted_at) VALUES (?, ?, ?, ?)",
            row, trusted.origin, TrustedKey.list(known, adding: trusted.key) ?? "", now.rawValue)
        let count = try integer("SELECT count(*) FROM trusted_key WHERE session = ?", row) ?? 0
        guard count <= Bounds.trustedKeys else {
            throw TransferError(
                .limitReached,
                "The session trusts the keys of \(Bounds.trustedKeys) servers, which is the limit; say persistence `none`."
            )
        }
    }

    /// The session is over.
    package func forgetTrust(in session: SessionKey) throws {
        try execute(
            "DELETE FROM trusted_key WHERE session = (SELECT id FROM session WHERE owner = ? AND identifier = ?)",
            session.owner.rawValue, session.identifier)
    }

    /// A user trusts the server's key for good, in addition to other keys of the same server.
    /// - Throws: `limit.reached`.
    package func trust(_ server: TrustedServer, owner: UserID) throws {
        let known: String? = try rows(
            "SELECT key FROM trusted_server WHERE owner = ? AND host = ? AND port = ?", owner.rawValue, server.host,
            server.port
        ).next().map { $0[0] }
        try execute(
            "INSERT OR REPLACE INTO trusted_server (owner, host, port, key, trusted_at) VALUES (?, ?, ?, ?, ?)",
            owner.rawValue, server.host, server.port, TrustedKey.list(known, adding: server.key.key) ?? "",
            server.trusted.rawValue)
        let count = try integer("SELECT count(*) FROM trusted_server WHERE owner = ?", owner.rawValue) ?? 0
        guard count <= Bounds.trustedKeys else {
            throw TransferError(
                .limitReached,
                "You trust the keys of \(Bounds.trustedKeys) servers for good, which is the limit; remove some with trust.remove, or say persistence `session`."
            )
        }
    }

    /// - Parameter host: of the servers, whatever their ports; nil for all.
    /// - Returns: the number of servers.
    package func removeTrustedServers(host: String?, owner: UserID) throws -> Int {
        let count = try integer(
            "SELECT count(*) FROM trusted_server WHERE owner = ?1 AND host = ifnull(?2, host)", owner.rawValue, host)
        try execute(
            "DELETE FROM trusted_server WHERE owner = ?1 AND host = ifnull(?2, host)", owner.rawValue, host)
        return Int(count ?? 0)
    }

    /// Those of all owners, by name.
    package func trustedServers() throws -> [(owner: UserID, server: TrustedServer)] {
        try rows("SELECT owner, host, port, key, trusted_at FROM trusted_server ORDER BY owner, host, port").map {
            row in
            let keys = (row[3] as String).split(separator: ";").map(String.init)
            let server = TrustedServer(
                host: row[1], port: row[2], keys: keys, trusted: Timestamp(milliseconds: row[4]))
            return (UserID(row[0] as UInt32), server)
        }
    }
}
