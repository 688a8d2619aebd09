import TransferModel

extension StoreSnapshot {
    /// Keys that a session trusts.
    package func trustedKeys(_ session: SessionKey) throws -> [TrustedKey] {
        try rows(
            """
            SELECT origin, key FROM trusted_key \
            WHERE session = (SELECT id FROM session WHERE owner = ? AND identifier = ?)
            """, session.owner, session.identifier
        ).map { TrustedKey(origin: $0[0], key: $0[1]) }
    }
}

extension StoreTransaction {
    /// All tasks of the session trust the key from now on, in addition to other keys of the same server.
    /// - Throws: `limit.reached`; `session.not_found`.
    package func trust(_ trusted: TrustedKey, in session: SessionKey, at now: Timestamp) throws {
        try addKey(
            trusted.key, to: "trusted_key", ["session", "origin"], try existingSession(session), trusted.origin,
            at: now,
            refusal: """
                The session trusts the keys of \(Bounds.trustedKeys) servers, which is the limit; say persistence `none`.
                """)
    }

    /// Stores a server's key beside its other keys, in the row that has these values.
    /// - Parameter columns: of the table's key; the first says whose it is.
    private func addKey<Owner: Bindable, each Value: Bindable>(
        _ key: String, to table: String, _ columns: [String], _ owner: Owner, _ place: repeat each Value,
        at now: Timestamp, refusal: String
    ) throws {
        let known = try text(
            "SELECT key FROM \(table) WHERE \(columns.map { "\($0) = ?" }.joined(separator: " AND "))", owner,
            repeat each place)
        try execute(
            """
            INSERT OR REPLACE INTO \(table) (\((columns + ["key", "trusted_at"]).joined(separator: ", "))) \
            VALUES (\(placeholders(columns.count + 2)))
            """, owner, repeat each place, TrustedKey.list(known, adding: key) ?? "", now)
        let count = try integer("SELECT count(*) FROM \(table) WHERE \(columns[0]) = ?", owner) ?? 0
        guard count <= Bounds.trustedKeys else { throw TransferError(.limitReached, refusal) }
    }

    /// The session is over.
    package func forgetTrust(in session: SessionKey) throws {
        try execute(
            "DELETE FROM trusted_key WHERE session = (SELECT id FROM session WHERE owner = ? AND identifier = ?)",
            session.owner, session.identifier)
    }

    /// A user trusts the server's key for good, in addition to other keys of the same server.
    /// - Throws: `limit.reached`.
    package func trust(_ server: TrustedServer, owner: UserID) throws {
        try addKey(
            server.key.key, to: "trusted_server", ["owner", "host", "port"], owner, server.host, server.port,
            at: server.trusted,
            refusal: """
                You trust the keys of \(Bounds.trustedKeys) servers for good, which is the limit; remove some with \
                trust.remove, or say persistence `session`.
                """)
    }

    /// - Parameter host: of the servers, whatever their ports; nil for all.
    /// - Returns: the number of servers.
    package func removeTrustedServers(host: String?, owner: UserID) throws -> Int {
        try execute("DELETE FROM trusted_server WHERE owner = ?1 AND host = ifnull(?2, host)", owner, host)
        return connection.changes
    }

    /// Those of all owners, by name.
    package func trustedServers() throws -> [(owner: UserID, server: TrustedServer)] {
        try rows("SELECT owner, host, port, key, trusted_at FROM trusted_server ORDER BY owner, host, port").map {
            row in
            let keys = (row[3] as String).split(separator: ";").map(String.init)
            return (row[0], TrustedServer(host: row[1], port: row[2], keys: keys, trusted: row[4]))
        }
    }
}
