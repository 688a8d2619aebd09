import TransferModel

/// A cookie as its owner sees it.
public struct CookieView: WireObject, Hashable {
    public var name: String
    /// nil unless `secrets` was set.
    public var value: String?
    public var domain: String
    public var path: String
    public var expires: Timestamp?
    public var secure: Bool
    public var httpOnly: Bool
    public var sameSite: Cookie.SameSite?
    public var hostOnly: Bool

    /// - Parameter secrets: whether the view has the value.
    public init(_ cookie: Cookie, secrets: Bool) {
        name = cookie.name
        value = secrets ? cookie.value : nil
        domain = cookie.domain
        path = cookie.path
        expires = cookie.expires
        secure = cookie.secure
        httpOnly = cookie.httpOnly
        sameSite = cookie.sameSite
        hostOnly = cookie.hostOnly
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case name, value, domain, path, expires, secure, httpOnly, sameSite, hostOnly
    }

    public static let wireName = "ListedCookie"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .value:
            .optional(
                .string,
                "With `secrets`. A byte that is not UTF-8 is shown as the character U+F700 plus the byte.")
        case .name: Cookie.field(.name)
        case .domain:
            .required(.string, "In lower case; beyond ASCII as A-labels (`xn--…`). An IPv6 address has no brackets.")
        case .path: .required(.string, "Path of the requests that carry it.")
        case .expires: Cookie.field(.expires)
        case .secure: .required(.boolean, "It is sent over https only.")
        case .httpOnly: .required(.boolean, "As the server set it.")
        case .sameSite: Cookie.field(.sameSite)
        case .hostOnly: .required(.boolean, "It is not sent to the names below `domain`.")
        }
    }
}

extension Cookie: WireObject {
    public static let wireName = "Cookie"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .name: .required(.string, "May be empty (RFC 6265bis section 5.6).")
        case .value: .required(.string, "At most \(Bounds.cookie) bytes together with the name.")
        case .domain: .required(.string, "Host or domain; a dot at its beginning means `hostOnly: false`.")
        case .path: .optional(.string, "Begins with a slash; default: `/`.")
        case .expires: .optional(.time, "Default: until it is removed.")
        case .secure: .optional(.boolean, "True: it is sent over https only; default: false.")
        case .httpOnly: .optional(.boolean, "The attribute of that name, as the server set it; default: false.")
        case .sameSite:
            .optional(
                .choice(SameSite.allCases.map(\.rawValue)),
                "After a redirect from another site, `strict` ones are not sent, and `lax` ones only with safe methods."
            )
        case .hostOnly: .optional(.boolean, "True: it is not sent to names below `domain`; default: true.")
        }
    }
}
