import TransferModel

/// A cookie as its owner sees it.
@dynamicMemberLookup
public struct CookieView: WireObject, Hashable {
    /// Without its value.
    public private(set) var cookie: Cookie
    public var value: String?

    /// - Parameter secrets: whether the view has the value.
    public init(_ cookie: Cookie, secrets: Bool) {
        self.cookie = cookie
        self.cookie.value = ""
        value = secrets ? cookie.value : nil
    }

    public subscript<Value>(dynamicMember member: KeyPath<Cookie, Value>) -> Value { cookie[keyPath: member] }

    public static let shape = Shape("ListedCookie", Self(Cookie(name: "", value: "", domain: ""), secrets: false)) {
        row in
        row("name", \.cookie.name, Cookie.text("name"))
        row(
            "value", \.value, "With `secrets`. A byte that is not UTF-8 is shown as the character U+F700 plus the byte."
        )
        row(
            "domain", \.cookie.domain,
            "In lower case; beyond ASCII as A-labels (`xn--…`). An IPv6 address has no brackets.")
        row("path", \.cookie.path, "Path of the requests that carry it.")
        row("expires", \.cookie.expires, Cookie.text("expires"))
        row("secure", \.cookie.secure, "It is sent over https only.")
        row("httpOnly", \.cookie.httpOnly, "As the server set it.")
        row("sameSite", \.cookie.sameSite, Cookie.text("sameSite"))
        row("hostOnly", \.cookie.hostOnly, "It is not sent to the names below `domain`.")
    }
}
