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

    public static let shape = Shape("ListedCookie", Self(Cookie(name: "", value: "", domain: ""), secrets: false)) {
        row in
        row("name", \.name, Cookie.text("name"))
        row(
            "value", \.value, "With `secrets`. A byte that is not UTF-8 is shown as the character U+F700 plus the byte."
        )
        row("domain", \.domain, "In lower case; beyond ASCII as A-labels (`xn--…`). An IPv6 address has no brackets.")
        row("path", \.path, "Path of the requests that carry it.")
        row("expires", \.expires, Cookie.text("expires"))
        row("secure", \.secure, "It is sent over https only.")
        row("httpOnly", \.httpOnly, "As the server set it.")
        row("sameSite", \.sameSite, Cookie.text("sameSite"))
        row("hostOnly", \.hostOnly, "It is not sent to the names below `domain`.")
    }
}
