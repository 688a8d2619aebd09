/// Where the cookies of a task are kept.
public enum CookieStorageKind: String, Word {
    /// With its owner, on the disk.
    case shared
    /// With its session.
    case session
    /// With the task, through its redirects and retries.
    case task
    /// Nowhere: none is taken, none is sent.
    case none
}

/// Whose cookies are accepted.
public enum CookieAcceptPolicy: String, Word {
    case always, never
    /// Those of the site that the task's own URL names.
    case onlyFromMainDocumentDomain
}

/// A cookie as a store keeps it (RFC 6265bis section 5.7).
public struct Cookie: Hashable, Sendable {
    /// Which requests from other sites carry the cookie (RFC 6265bis section 5.6.7).
    public enum SameSite: String, Hashable, CaseIterable {
        case none, lax, strict
    }

    public var name: String
    public var value: String
    /// In lower case, without a dot at its beginning.
    public var domain: String
    public var path: String
    /// nil = until the store that holds the cookie ends; in a store on disk, until the cookie is removed.
    public var expires: Timestamp?
    public var secure: Bool
    public var httpOnly: Bool
    /// nil if the server did not say.
    public var sameSite: SameSite?
    public var hostOnly: Bool

    public init(
        name: String, value: String, domain: String, path: String = "/", expires: Timestamp? = nil,
        secure: Bool = false, httpOnly: Bool = false, sameSite: SameSite? = nil, hostOnly: Bool = true
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.path = path
        self.expires = expires
        self.secure = secure
        self.httpOnly = httpOnly
        self.sameSite = sameSite
        self.hostOnly = hostOnly
    }

    /// What identifies a cookie within a store (RFC 6265bis section 5.7, step 23).
    public struct Identity: Hashable, Sendable {
        public var name: String
        public var domain: String
        public var path: String
        public var hostOnly: Bool
    }

    public var key: Identity { Identity(name: name, domain: domain, path: path, hostOnly: hostOnly) }
}

extension Cookie: WireObject {
    public static let shape = Shape("Cookie", Self(name: "", value: "", domain: "")) { row in
        row("name", \.name, "May be empty (RFC 6265bis section 5.6).")
        row("value", \.value, "At most \(Bounds.cookie) bytes together with the name.")
        row("domain", \.domain, "Host or domain; a dot at its beginning means `hostOnly: false`.")
        row("path", \.path, "Begins with a slash; default: `/`.", isRequired: false)
        row("expires", \.expires, "Default: until it is removed.")
        row("secure", \.secure, "True: it is sent over https only; default: false.", isRequired: false)
        row(
            "httpOnly", \.httpOnly, "The attribute of that name, as the server set it; default: false.",
            isRequired: false)
        row(
            "sameSite", \.sameSite,
            "After a redirect from another site, `strict` ones are not sent, and `lax` ones only with safe methods.",
            as: SameSite.wireType)
        row("hostOnly", \.hostOnly, "True: it is not sent to names below `domain`; default: true.", isRequired: false)
    }

    public init(json node: JSONNode) throws(TransferError) {
        self = try Self.shape.read(node)
        let isDotted = domain.utf8.first == UInt8(ascii: ".")
        domain = (isDotted ? String(domain.dropFirst()) : domain).lowercased()
        if node.member("hostOnly") == nil { hostOnly = !isDotted }
    }
}

extension Cookie.SameSite: WireValue {
    public static var wireType: WireType { .choice(allCases.map(\.rawValue)) }

    /// In any case of letters, as browsers export it.
    public init(json node: JSONNode) throws(TransferError) {
        guard let value = Self(rawValue: try node.string().lowercased()) else {
            throw node.refusal("say none, lax or strict.")
        }
        self = value
    }
}
