import TransferModel

/// A cookie with its owner and session.
package struct StoredCookie: Hashable, Sendable {
    package var owner: UserID
    /// The session that keeps its own cookies; empty for the owner's shared cookies.
    package var session: String
    package var cookie: Cookie
    /// Grows with each cookie of the owner.
    package var created: Int64

    package init(owner: UserID, session: String, cookie: Cookie, created: Int64) {
        self.owner = owner
        self.session = session
        self.cookie = cookie
        self.created = created
    }
}

extension StoreSnapshot {
    fileprivate static let cookieColumns =
        "owner, session, domain, path, name, host_only, value, expires_at, secure, http_only, same_site, created"

    /// The cookies of all owners, in the order in which they were set.
    package func cookies() throws -> [StoredCookie] {
        try rows("SELECT \(Self.cookieColumns) FROM cookie ORDER BY created").map { row in
            let cookie = Cookie(
                name: row[4], value: row[6], domain: row[2], path: row[3], expires: row[7], secure: row[8],
                httpOnly: row[9], sameSite: (row[10] as String?).flatMap { Cookie.SameSite(rawValue: $0) },
                hostOnly: row[5])
            return StoredCookie(owner: row[0], session: row[1], cookie: cookie, created: row[11])
        }
    }
}

extension StoreTransaction {
    /// Stores a cookie in place of the one with the same key.
    package func put(_ stored: StoredCookie) throws {
        let cookie = stored.cookie
        try execute(
            "INSERT OR REPLACE INTO cookie (\(Self.cookieColumns)) VALUES (\(placeholders(12)))",
            stored.owner, stored.session, cookie.domain, cookie.path, cookie.name, cookie.hostOnly, cookie.value,
            cookie.expires, cookie.secure, cookie.httpOnly, cookie.sameSite?.rawValue, stored.created)
    }

    /// - Parameter session: empty for the owner's shared cookies.
    package func removeCookie(_ key: Cookie.Identity, owner: UserID, session: String) throws {
        try execute(
            """
            DELETE FROM cookie WHERE owner = ? AND session = ? AND domain = ? AND path = ? AND name = ? AND host_only = ?
            """,
            owner, session, key.domain, key.path, key.name, key.hostOnly)
    }

    /// Removes expired cookies of all owners.
    package func removeCookies(endedAt now: Timestamp) throws {
        try execute("DELETE FROM cookie WHERE expires_at <= ?", now)
    }

    /// Removes the cookies of invalidated sessions.
    package func removeCookiesOfEndedSessions() throws { try removeOfEndedSessions("cookie") }

    func removeOfEndedSessions(_ table: String) throws {
        try execute(
            """
            DELETE FROM \(table) WHERE session <> '' AND NOT EXISTS (SELECT 1 FROM session \
            WHERE session.owner = \(table).owner AND session.identifier = \(table).session \
            AND session.state <> 'invalidated')
            """)
    }
}
