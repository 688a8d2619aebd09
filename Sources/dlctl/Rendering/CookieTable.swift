import TransferModel
import TransferRPC

/// The table of `cookies list`.
enum CookieTable {
    static func render(_ cookies: [CookieView], width: Int?) -> [StyledText] {
        var table = Table(columns: [
            .init(title: "DOMAIN", isFlexible: true), .init(title: "PATH", dispensability: 2), .init(title: "NAME"),
            .init(title: "EXPIRES", dispensability: 1), .init(title: "FLAGS", dispensability: 3),
        ])
        let hasValues = cookies.contains { $0.value != nil }
        if hasValues { table.columns.append(.init(title: "VALUE")) }
        table.rows = cookies.map { cookie in
            let cells = [
                StyledText((cookie.hostOnly ? "" : ".") + Printable.text(cookie.domain), .strong),
                StyledText(Printable.text(cookie.path)), StyledText(Printable.text(cookie.name)),
                StyledText(cookie.expires.map(LocalTime.text) ?? "-"), StyledText(flags(of: cookie)),
            ]
            return hasValues ? cells + [StyledText(Printable.text(cookie.value ?? ""))] : cells
        }
        return table.render(width: width)
    }

    private static func flags(of cookie: CookieView) -> String {
        let flags = [
            cookie.secure ? "secure" : nil, cookie.httpOnly ? "httpOnly" : nil, cookie.sameSite?.rawValue,
        ]
        return flags.compactMap { $0 }.joined(separator: ",")
    }

    /// Tells whether a domain is `wanted` or a name below it. If `wanted` is nil, all domains are.
    static func isWithin(_ domain: String, _ wanted: String?) -> Bool {
        guard let wanted = wanted?.lowercased() else { return true }
        let name = wanted.hasPrefix(".") ? String(wanted.dropFirst()) : wanted
        return domain == name || domain.hasSuffix("." + name)
    }
}
