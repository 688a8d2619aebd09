/// Which challenges a stored credential answers.
public struct CredentialSpace: Hashable, Sendable {
    /// In lower case; an IPv6 address without brackets.
    public var host: String
    public var port: Int
    public var `protocol`: String
    public var realm: String?
    /// nil for every one by which a user name and a password can be sent.
    public var method: AuthenticationMethod?
    public var isProxy: Bool

    public init(
        host: String, port: Int, protocol: String, realm: String? = nil, method: AuthenticationMethod? = nil,
        isProxy: Bool = false
    ) {
        self.host = host
        self.port = port
        self.protocol = `protocol`
        self.realm = realm
        self.method = method
        self.isProxy = isProxy
    }

    /// Exactly the space of a challenge.
    public init(_ space: ProtectionSpace) {
        self.init(
            host: space.host, port: space.port, protocol: space.protocol, realm: space.realm, method: space.method,
            isProxy: space.isProxy)
    }

    /// Scheme, name and port, as `https://example.org:443`.
    public var origin: String {
        "\(`protocol`)://\(host.contains(":") ? "[\(host)]" : host)" + (port == 0 ? "" : ":\(port)")
    }
}

extension CredentialSpace: WireObject {
    public static let shape = Shape("CredentialSpace", Self(host: "", port: 0, protocol: "https")) { row in
        row("host", \.host, "Host name or address.")
        row("port", \.port, "Its port; default: that of `protocol`.", isRequired: false)
        row(
            "protocol", \.protocol, "Scheme of the URL, or of the proxy's URL; default: `https`.",
            as: .choice(["http", "https"]), isRequired: false)
        row("realm", \.realm, "The realm that the server or proxy names; default: every realm.")
        row(
            "method", \.method, "The method by which it may be sent; default: every method.",
            as: .choice([AuthenticationMethod.httpBasic, .httpDigest, .ntlm, .negotiate].map(\.rawValue)))
        row("isProxy", \.isProxy, "True: it is for a proxy; default: false.", isRequired: false)
    }

    public init(json node: JSONNode) throws(TransferError) {
        self = try Self.shape.read(node)
        if node.member("port") == nil { port = `protocol` == "http" ? 80 : 443 }
    }
}

/// A user name and a password that a user, or one session, stores for a space. Holds a secret; never leaves the daemon.
public struct StoredCredential: Hashable, Sendable {
    public var space: CredentialSpace
    public var username: String
    public var password: String
    public var persistence: CredentialPersistence
    /// The credential of its space that is sent without asking a client.
    public var isDefault: Bool
    /// The server or proxy has refused it: it is not sent again without a client's answer.
    public var isRefused: Bool

    public init(
        space: CredentialSpace, username: String, password: String, persistence: CredentialPersistence,
        isDefault: Bool = true, isRefused: Bool = false
    ) {
        self.space = space
        self.username = username
        self.password = password
        self.persistence = persistence
        self.isDefault = isDefault
        self.isRefused = isRefused
    }
}
