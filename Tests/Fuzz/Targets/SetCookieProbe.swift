import TransferCore
import TransferModel

/// Set-Cookie fields: whatever a server sends, it sets only cookies of its own site, within the limits, and no other
/// site gets one of them.
struct SetCookieProbe: Probe {
    var receive: @Sendable (inout CookieJar, _ field: String, CookieURL, Timestamp) -> Void

    private static let now = Timestamp(milliseconds: 1_767_225_600_000)
    private static let host = "www.example.co.uk"

    static let target = FuzzTarget(
        "set-cookie",
        words: [
            "a=b", "; Domain=", "co.uk", "example.co.uk", ".", "; Path=/", "; Secure", "; HttpOnly", "; SameSite=None",
            "; Max-Age=", "-1", "99999999999999999999", "; Expires=", "Wed, 01 Jan 2098 00:00:00 GMT", "__Host-",
            "__Secure-", "=", ";", "\t", "\n", "\u{301}", "\u{0}",
        ],
        SetCookieProbe { jar, field, url, now in _ = jar.receive(field, from: url, at: now) },
        // A public suffix is accepted as the server's domain.
        planted: SetCookieProbe { jar, field, url, now in
            if field.lowercased().contains("domain=co.uk") {
                _ = jar.put(Cookie(name: "a", value: "b", domain: "co.uk", hostOnly: false), at: now)
            }
        })

    func check(_ input: [UInt8]) throws {
        var jar = CookieJar()
        let url = CookieURL(host: Self.host, text: "https://\(Self.host)/a/b", isSecure: true)
        for line in input.split(separator: 10) { receive(&jar, fieldValue(Array(line)), url, Self.now) }
        try hold(jar.count <= Bounds.cookiesOfDomain && jar.count == jar.all.count, "\(jar.count) cookies")
        for cookie in jar.all { try check(cookie) }
        for other in ["other.co.uk", "co.uk", "example.com"] {
            let request = CookieRequest(CookieURL(host: other, text: "https://\(other)/a/b", isSecure: true))
            try hold(jar.field(for: request, at: Self.now) == nil, "\(other) is sent a cookie")
        }
        let field = jar.field(for: CookieRequest(url), at: Self.now) ?? ""
        try hold(field.utf8.count <= Bounds.cookieField, "a field of \(field.utf8.count) bytes")
        try hold(!field.utf8.contains { $0 < 32 && $0 != 9 || $0 == 127 }, "\(shown(field)) is sent")
    }

    private func check(_ cookie: Cookie) throws {
        try hold(SetCookie.isStorable(name: cookie.name, value: cookie.value), "\(shown(cookie.name)) is kept")
        try hold(CookieJar.keepsPrefix(cookie), "\(shown(cookie.name)) breaks what its prefix promises")
        try hold(
            cookie.hostOnly ? cookie.domain == Self.host : HostName.matches(Self.host, domain: cookie.domain),
            "a cookie of \(shown(cookie.domain))")
        try hold(cookie.hostOnly || !PublicSuffixes.contains(cookie.domain), "a cookie for all of \(cookie.domain)")
        try hold(cookie.path.utf8.first == UInt8(ascii: "/"), "the path \(shown(cookie.path))")
        let last = Self.now.advanced(by: SetCookie.longestLife)
        try hold(cookie.expires.map { $0 > Self.now && $0 <= last } ?? true, "it ends at \(cookie.expires as Any)")
    }
}
