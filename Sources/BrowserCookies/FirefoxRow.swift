import TransferModel

/// A row of `moz_cookies`.
/// Source: netwerk/cookie/CookiePersistentStorage.cpp of Firefox.
struct FirefoxRow {
    static let query =
        "SELECT host, name, value, path, expiry, isSecure, isHttpOnly, sameSite, originAttributes FROM moz_cookies ORDER BY id"

    private let row: DatabaseCopy.Row

    init(_ row: DatabaseCopy.Row) { self.row = row }

    var cookie: Result<Cookie, CookieRefusal> {
        // A cookie of a container, of a private window or of a site inside another page is not the site's own cookie.
        let attributes = row.text(8)
        guard attributes.isEmpty else {
            return .failure(CookieRefusal(why: "it belongs to a container or another site's page (\(attributes))"))
        }
        return row.value(2).map { value in
            Cookie(
                name: row.text(1), domain: row.text(0), value: value, path: row.text(3),
                expires: Timestamp(milliseconds: milliseconds), secure: row.integer(5) != 0,
                httpOnly: row.integer(6) != 0, sameSite: row.integer(7))
        }
    }

    /// In seconds in versions until 2025, and in milliseconds since then. The ranges of the two (years 1970 to 5138 in
    /// seconds, from 1973 on in milliseconds) do not overlap.
    private var milliseconds: Int64 {
        let expiry = row.integer(4)
        return expiry.magnitude < 100_000_000_000 ? expiry * 1000 : expiry
    }
}

extension Cookie {
    /// - Parameters:
    ///   - domain: with a dot at its beginning, the cookie also applies to the names below it.
    ///   - sameSite: 0 none, 1 lax, 2 strict, as in both browsers.
    init(
        name: String, domain: String, value: String, path: String, expires: Timestamp?, secure: Bool, httpOnly: Bool,
        sameSite: Int64
    ) {
        let isDotted = domain.utf8.first == UInt8(ascii: ".")
        let known: [Int64: SameSite] = [0: .none, 1: .lax, 2: .strict]
        // Without `Secure`, a `None` does not come from the server.
        let sameSite = known[sameSite].flatMap { $0 == SameSite.none && !secure ? nil : $0 }
        self.init(
            name: name, value: value, domain: (isDotted ? String(domain.dropFirst()) : domain).lowercased(), path: path,
            expires: expires, secure: secure, httpOnly: httpOnly, sameSite: sameSite, hostOnly: !isDotted)
    }
}
