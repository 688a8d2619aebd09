import TransferModel

extension StoreTransaction {
    /// Stores a cookie in place of the one with the same key.
    package func put(_ stored: StoredCookie) throws {
        let cookie = stored.cookie
        try execute(
            """
            INSERT OR REPLACE INTO cookie (owner, session, domain, path, name, host_only, value, expires_at, secure, \
            http_only, same_site, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            stored.owner.rawValue, stored.session, cookie.domain, cookie.path, cookie.name, cookie.hostOnly ? 1 : 0,
            cookie.value, cookie.expires?.rawValue, cookie.secure ? 1 : 0, cookie.httpOnly ? 1 : 0,
            cookie.sameSite?.rawValue, stored.created)
    }

    /// - Parameter session: empty for the owner's shared cookies.
    package func removeCookie(_ key: Cookie.Identity, owner: UserID, session: String) throws {
        try execute(
            """
            DELETE FROM cookie WHERE owner = ? AND session = ? AND domain = ? AND path = ? AND name = ? AND host_only = ?
            """,
            owner.rawValue, session, key.domain, key.path, key.name, key.hostOnly ? 1 : 0)
    }

    /// Removes expired cookies of all owners.
    package func removeCookies(endedAt now: Timestamp) throws {
        try execute("DELETE FROM cookie WHERE expires_at <= ?", now.rawValue)
    }

    /// Removes the cookies of invalidated sessions.
    package func removeCookiesOfEndedSessions() throws {
        try execute(
            """
            DELETE FROM cookie WHERE session <> '' AND NOT EXISTS (SELECT 1 FROM session WHERE session.owner = cookie.owner \
            AND session.identifier = cookie.session AND session.state <> 'invalidated')
            """)
    }
}
