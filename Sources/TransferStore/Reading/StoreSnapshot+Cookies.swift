import TransferModel

extension StoreSnapshot {
    /// The cookies of all owners, in the order in which they were set.
    package func cookies() throws -> [StoredCookie] {
        try rows(
            """
            SELECT owner, session, domain, path, name, host_only, value, expires_at, secure, http_only, same_site, created \
            FROM cookie ORDER BY created
            """
        ).map { row in
            let cookie = Cookie(
                name: row[4], value: row[6], domain: row[2], path: row[3],
                expires: (row[7] as Int64?).map { Timestamp(milliseconds: $0) }, secure: row[8], httpOnly: row[9],
                sameSite: (row[10] as String?).flatMap { Cookie.SameSite(rawValue: $0) }, hostOnly: row[5])
            return StoredCookie(owner: UserID(row[0] as UInt32), session: row[1], cookie: cookie, created: row[11])
        }
    }
}
