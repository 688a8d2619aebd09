import TransferModel

/// A row of `moz_cookies`.
/// Source: netwerk/cookie/CookiePersistentStorage.cpp of Firefox.
struct FirefoxRow {
    static let query =
        "SELECT host, name, value, path, expiry, isSecure, isHttpOnly, sameSite, originAttributes FROM moz_cookies ORDER BY id"

    private let row: DatabaseCopy.Row

    init(_ row: DatabaseCopy.Row) { self.row = row }

    var cookie: Result<Cookie, CookieRefusal> {
        // Of a container, a private window, or a page around it: another cookie than the site's own.
        let attributes = row.text(8)
        guard attributes.isEmpty else {
            return .failure(CookieRefusal(why: "it belongs to a container or another site's page (\(attributes))"))
        }
        return .success(
            Cookie(
                name: row.text(1), domain: row.text(0), value: row.text(2), path: row.text(3),
                expires: Timestamp(milliseconds: milliseconds), secure: row.integer(5) != 0,
                httpOnly: row.integer(6) != 0, sameSite: row.integer(7)))
    }

    /// Seconds until 2025, milliseconds since; the years 1970 to 5138 of the one and from 1973 on of the other do not meet.
    private var milliseconds: Int64 {
        let expiry = row.integer(4)
        return expiry.magnitude < 100_000_000_000 ? expiry * 1000 : expiry
    }
}

extension Cookie {
    /// - Parameters:
    ///   - domain: a dot at its beginning makes it valid for the names below.
    ///   - sameSite: 0 none, 1 lax, 2 strict, as both browsers number them.
    init(
        name: String, domain: String, value: String, path: String, expires: Timestamp?, secure: Bool, httpOnly: Bool,
        sameSite: Int64
    ) {
        let isDotted = domain.utf8.first == UInt8(ascii: ".")
        let known: [Int64: SameSite] = [0: .none, 1: .lax, 2: .strict]
        // Without `Secure`, `None` is what a server did not say.
        let sameSite = known[sameSite].flatMap { $0 == SameSite.none && !secure ? nil : $0 }
        self.init(
            name: name, value: value, domain: (isDotted ? String(domain.dropFirst()) : domain).lowercased(), path: path,
            expires: expires, secure: secure, httpOnly: httpOnly, sameSite: sameSite, hostOnly: !isDotted)
    }
}
