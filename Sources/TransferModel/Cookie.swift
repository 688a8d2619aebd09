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
    public enum SameSite: String, Sendable, Hashable, CaseIterable {
        case none, lax, strict
    }

    /// Empty if the server gave none.
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
    /// The cookie is for `domain` alone, not for the names below it.
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

extension Cookie: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case name, value, domain, path, expires, secure, httpOnly, sameSite, hostOnly
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        name = try fields.required(.name)
        value = try fields.required(.value)
        let domain: String = try fields.required(.domain)
        let isDotted = domain.utf8.first == UInt8(ascii: ".")
        self.domain = (isDotted ? String(domain.dropFirst()) : domain).lowercased()
        path = try fields.value(.path) ?? "/"
        expires = try fields.value(.expires)
        secure = try fields.value(.secure) ?? false
        httpOnly = try fields.value(.httpOnly) ?? false
        sameSite = try fields.value(.sameSite)
        hostOnly = try fields.value(.hostOnly) ?? !isDotted
    }
}

extension Cookie.SameSite: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(rawValue: try container.decode(String.self).lowercased()) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "say none, lax or strict.")
        }
        self = value
    }
}
