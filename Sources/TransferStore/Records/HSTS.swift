import TransferModel

extension StoreTransaction {
    /// Stores a host in place of the one of its name.
    package func put(_ host: HSTSHost, owner: UserID) throws {
        try execute(
            """
            INSERT OR REPLACE INTO hsts_host (owner, domain, includes_subdomains, learned_at, expires_at) \
            VALUES (?, ?, ?, ?, ?)
            """,
            owner, host.domain, host.includesSubdomains, host.learned, host.expires)
    }

    package func removeHSTSHost(_ domain: String, owner: UserID) throws {
        try execute("DELETE FROM hsts_host WHERE owner = ? AND domain = ?", owner, domain)
    }

    /// Removes what has expired, of all owners.
    package func removeHSTSHosts(expiredAt now: Timestamp) throws {
        try execute("DELETE FROM hsts_host WHERE expires_at <= ?", now)
    }

    /// Those of all owners.
    package func hstsHosts() throws -> [(owner: UserID, host: HSTSHost)] {
        try rows("SELECT owner, domain, includes_subdomains, learned_at, expires_at FROM hsts_host").map { row in
            (row[0], HSTSHost(domain: row[1], includesSubdomains: row[2], learned: row[3], expires: row[4]))
        }
    }
}
